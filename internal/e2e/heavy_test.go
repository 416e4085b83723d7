package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestHeavy runs the stories of real work. They need the network (npm), Go's
// own source tree and this one.
func TestHeavy(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short")
	}
	for _, tool := range []string{"npm", "node", "python3", "make", "tar"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("%s is not installed: run internal/packaging/deps test", tool)
		}
	}
	deadline, _ := t.Deadline()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/heavy",
		Deadline:            deadline,
		Setup:               setupHeavy,
		Cmds:                heavyCommands,
		Condition:           condition,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// fromCaller are the variables that a host behind a proxy needs to reach npm's
// registry: without them in the session, the test would be of the network.
var fromCaller = []string{
	"http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
	"npm_config_registry", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE",
}

func setupHeavy(env *testscript.Env) error {
	if err := setup(env); err != nil {
		return err
	}
	env.Setenv("GUESTPATH", "/usr/local/bin:/usr/bin:/bin")
	var pass []string
	for _, name := range fromCaller {
		if value, ok := os.LookupEnv(name); ok {
			env.Setenv(name, value)
			pass = append(pass, "-e", name)
		}
	}
	env.Setenv("PASS_ENV", strings.Join(pass, " "))

	goroot, err := goRoot()
	if err != nil {
		return err
	}
	env.Setenv("GOTREE", goroot)
	ws := filepath.Join(env.WorkDir, "ws")
	if err := bindReadOnly(ws, goroot, "/opt/go"); err != nil {
		return err
	}
	return command("env", "HOME="+env.Getenv("HOME"), "art", "trust", ws)
}

var heavyCommands = func() map[string]func(*testscript.TestScript, bool, []string) {
	all := maps.Clone(commands)
	all["sources"], all["named"] = cmdSources, cmdNamed
	return all
}()

// sources DIR
//
// puts into the directory src, art's own tree with its dependencies vendored,
// and go-src.tar, Go's own source tree.
func cmdSources(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: sources dir")
	}
	dir := ts.MkAbs(args[0])
	goroot, err := goRoot()
	ts.Check(err)
	ts.Check(sourceTree(filepath.Join(dir, "src")))
	ts.Check(command("tar", "-cf", filepath.Join(dir, "go-src.tar"), "-C", goroot, "src"))
}

// goRoot is where Go is installed. The compiled tests, run where no go command
// is in PATH, are told by ART_TEST_GOROOT.
func goRoot() (string, error) {
	if dir := os.Getenv("ART_TEST_GOROOT"); dir != "" {
		return dir, nil
	}
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("asking go for its root: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// sourceTree makes dir a clone of this repository with its dependencies
// vendored, so that it builds without the network. ART_TEST_SRC names one made
// before, for users that cannot read the checkout.
func sourceTree(dir string) error {
	if made := os.Getenv("ART_TEST_SRC"); made != "" {
		return command("cp", "-a", "--no-preserve=ownership", made, dir)
	}
	if err := command("git", "clone", "-q", "--no-hardlinks", repo, dir); err != nil {
		return err
	}
	return command("go", "-C", dir, "mod", "vendor")
}

func bindReadOnly(workspace, host, guest string) error {
	type bind struct {
		Host     string `json:"host"`
		Guest    string `json:"guest"`
		Readonly bool   `json:"readonly"`
	}
	text, err := json.Marshal(map[string][]bind{"binds": {{host, guest, true}}})
	if err != nil {
		return err
	}
	dir := filepath.Join(workspace, ".art", "config")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "binds.json"), text, 0o644)
}

func command(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
