// Package libexec is how one program of this project finds, starts and talks to
// another: the helpers' places, the check that both are of one version, and the
// passing of descriptors.
package libexec

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/version"
)

// Dir is the directory of the helpers set at build time, or "".
var Dir string

const dirVariable = "ART_LIBEXEC_DIR"

// ArtVariable is the environment variable that tells art-sync which art has become it, where that has to start sessions.
const ArtVariable = "ART_ITSELF"

// CallerVariable is the environment variable that tells a helper its caller's
// version.
const CallerVariable = "ART_CALLER_VERSION"

// Find returns the path of the helper name. It looks into $ART_LIBEXEC_DIR, the
// directory of the running executable, ../libexec/art of that, and Dir, in this
// order.
func Find(name string) (string, error) {
	dirs, err := directories()
	if err != nil {
		return "", fmt.Errorf("find %s: %w", name, err)
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		switch err := executable(path); {
		case err == nil:
			return path, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("find %s: %w", name, err)
		}
	}
	return "", cli.WithHint(
		fmt.Errorf("find %s: not in %s", name, strings.Join(dirs, ", ")),
		"install it beside art, or set "+dirVariable+" to the directory that holds it")
}

func directories() ([]string, error) {
	var dirs []string
	if dir := os.Getenv(dirVariable); dir != "" {
		dirs = append(dirs, dir)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	// A link in a bin directory stands for the program that it points to.
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	beside := filepath.Dir(self)
	dirs = append(dirs, beside, filepath.Join(beside, "..", "libexec", "art"))
	if Dir != "" {
		dirs = append(dirs, Dir)
	}
	return dirs, nil
}

func executable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return fmt.Errorf("%s is no executable file", path)
	}
	return nil
}

// privateKey begins the names of variables with keys of secrets (dotenv.PrivateKey): art itself opens these.
const privateKey = "DOTENV_PRIVATE_KEY"

// Command returns the helper name ready to start with args. Its environment is
// the caller's, but for keys, and the caller's version, which the helper compares with its own
// (CheckCaller).
func Command(name string, args ...string) (*exec.Cmd, error) {
	path, err := Find(name)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, args...)
	cmd.Env = slices.DeleteFunc(Environ(), func(kv string) bool { return strings.HasPrefix(kv, privateKey) })
	return cmd, nil
}

// Environ returns the environment that a helper is started with: the caller's,
// and the caller's version.
func Environ() []string {
	env := CallerEnv()
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, CallerVariable+"=") {
			env = append(env, kv)
		}
	}
	return env
}

// CallerEnv returns the caller's version alone, for a helper that needs nothing
// else of the environment.
func CallerEnv() []string { return []string{CallerVariable + "=" + version.Version} }

// CheckCaller returns an error if the program prog, which is the running one,
// was started by a program of another version; they share unversioned protocols.
// Every helper calls it first. Started by anything else it returns nil.
func CheckCaller(prog string) error {
	caller := os.Getenv(CallerVariable)
	os.Unsetenv(CallerVariable)
	if caller == "" {
		return nil
	}
	if caller != version.Version {
		return cli.WithHint(
			fmt.Errorf("start: %s is version %s, its caller is version %s", prog, version.Version, caller),
			"install art and its helpers from one build")
	}
	return nil
}
