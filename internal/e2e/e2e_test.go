// Package e2e tests the programs as people use them: every promise of the
// command line is a script under testdata.
//
//	testdata/script   stories that run everywhere
//	testdata/alone    those beside which no other session may run
//	testdata/heavy    long ones on real work; left out by -short
//
// What a script can say beside testscript's own commands is in commands_test.go.
package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// bin is the directory of the programs under test.
var bin string

// repo is the checkout this package lies in. Where the compiled tests run somewhere else, as internal/packaging/passes
// has them do, it is the clone of it that ART_TEST_SRC names, in which nothing is built; empty if there is none.
var (
	repo    string
	isClone bool
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	if root, err := filepath.Abs("../.."); err == nil && exists(filepath.Join(root, "go.mod")) {
		repo = root
	} else {
		repo, isClone = os.Getenv("ART_TEST_SRC"), true
	}
	if err := checkHost(); err != nil {
		return 1, err
	}
	// The caller's own settings would change what is tested.
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "ART_") && !strings.HasPrefix(name, "ART_TEST_") {
			os.Unsetenv(name)
		}
	}
	bin = os.Getenv("ART_TEST_BIN")
	if bin == "" {
		tmp, err := os.MkdirTemp("", "art-e2e")
		if err != nil {
			return 1, err
		}
		defer os.RemoveAll(tmp)
		if err := build(tmp); err != nil {
			return 1, err
		}
		bin = tmp
	}
	os.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return m.Run(), nil
}

// checkHost names the first thing missing: a test that cannot run is a failure.
func checkHost() error {
	for _, tool := range []string{"bwrap", "fusermount3", "git", "sqlite3"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%s is not installed: run internal/packaging/deps test", tool)
		}
	}
	if !exists("/dev/fuse") {
		return errors.New("/dev/fuse is missing: run modprobe fuse")
	}
	return nil
}

// build builds the programs into dir. Their build-time helper directory does
// not exist, so that an installed art cannot take part in the tests.
func build(dir string) error {
	const module = "github.com/riverlytech/art"
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags", "-X "+module+"/internal/version.Version=e2e -X "+module+"/libexec.Dir=/nonexistent",
		"-o", dir+"/", "./cmd/...")
	cmd.Dir = repo
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the programs: %w\n%s", err, out)
	}
	return nil
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

func TestScripts(t *testing.T) { runScripts(t, "testdata/script/*.txtar") }

// Every session has a copy of the host's mounts, which keeps a file system alive that the host unmounts
// meanwhile. These scripts wait for the end of one, so no other may run beside them.
func TestScriptsAlone(t *testing.T) {
	files, err := filepath.Glob("testdata/alone/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no scripts: %v", err)
	}
	for _, file := range files {
		// The scripts of one Run run side by side, and it ends with the last of them.
		t.Run(filepath.Base(file), func(t *testing.T) { runScripts(t, file) })
	}
}

func runScripts(t *testing.T, pattern string) {
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	deadline, _ := t.Deadline() // what hangs is ended in time to tell what it was
	testscript.Run(t, testscript.Params{
		Files:               files,
		Deadline:            deadline,
		Setup:               setup,
		Cmds:                commands,
		Condition:           condition,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// setup gives a script a home, a runtime directory and a temporary directory
// of its own, so that whatever is left behind afterwards is art's.
func setup(env *testscript.Env) error {
	for _, dir := range []string{"home", "run"} {
		if err := os.MkdirAll(filepath.Join(env.WorkDir, dir), 0o700); err != nil {
			return err
		}
	}
	env.Defer(func() {
		if t, ok := env.T().(interface{ Failed() bool }); ok && t.Failed() {
			env.T().Log(saidBesides(env.WorkDir))
		}
		unmountBelow(env.WorkDir)
	})
	env.Setenv("BIN", bin)
	env.Setenv("REPO", repo)
	env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
	env.Setenv("XDG_RUNTIME_DIR", filepath.Join(env.WorkDir, "run"))
	env.Setenv("UID", fmt.Sprint(guestID(os.Getuid())))
	env.Setenv("GID", fmt.Sprint(guestID(os.Getgid())))
	env.Setenv("LANG", "C.UTF-8")
	env.Setenv("TERM", "dumb")
	env.Setenv("GORACE", os.Getenv("GORACE"))
	for _, name := range []string{"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"} {
		env.Setenv(name, "/dev/null")
	}
	return nil
}

// guestID is the uid or gid that a caller's id has in the guest.
func guestID(id int) int {
	if os.Getuid() == 0 {
		return 1000
	}
	return id
}

// condition offers [root], true where the tests run as root: what binds an
// ordinary user (a read-only file) does not bind root. [groups] is true where the
// kernel's control groups can limit a guest, [fusermount] where fusermount3 alone can mount FUSE.
func condition(cond string) (bool, error) {
	switch cond {
	case "root":
		return os.Getuid() == 0, nil
	case "groups":
		return groups(), nil
	case "fusermount": // mounts FUSE: not the session, in its user namespace
		return os.Getuid() != 0 && unix.Access("/dev/fuse", unix.R_OK|unix.W_OK) != nil, nil
	case "systemd": // a manager can run in namespaces of its own, with a group of the kernel's unified hierarchy
		return systemd(), nil
	case "uring": // the kernel can pass FUSE requests over io_uring, if a parameter says so
		_, err := os.Stat("/sys/module/fuse/parameters/enable_uring")
		return err == nil, nil
	case "rings": // it says so
		value, _ := os.ReadFile("/sys/module/fuse/parameters/enable_uring")
		return string(value) == "Y\n", nil
	}
	return false, fmt.Errorf("unknown condition %q", cond)
}
