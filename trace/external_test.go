package trace_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// outside is the test of a module that imports this package, beside other users of
// os/exec.
const outside = `package outside

import (
	"context"
	"os/exec"
	"testing"

	"github.com/riverlytech/art/trace"
	"github.com/riverlytech/art/trace/decode"
	"github.com/riverlytech/art/trace/policy"
)

func TestOthers(t *testing.T) {
	t.Parallel()
	for range 50 {
		if err := exec.Command("sh", "-c", "true & wait; exit 0").Run(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTrace(t *testing.T) {
	for range 4 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			rules := &policy.Policy{}
			if err := rules.Refuse("chdir=EACCES"); err != nil {
				t.Fatal(err)
			}
			for range 5 {
				var refused []string
				status, err := trace.Run(context.Background(), &trace.Command{
					Path: "/bin/sh", Args: []string{"sh", "-c", "cd / 2>/dev/null || exit 3"}, Calls: []string{"chdir"},
				}, trace.Chain(rules, trace.Hooks{OnExit: func(c *decode.Call) error {
					refused = append(refused, c.Name+" "+decode.ErrorName(c))
					return nil
				}}))
				if err != nil || status.ExitStatus() != 3 || len(refused) != 1 || refused[0] != "chdir EACCES" {
					t.Errorf("%v, %d, %v", err, status.ExitStatus(), refused)
				}
			}
		})
	}
}
`

// A module outside of this one uses the package, with nothing but its import.
func TestExternalModule(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	gomod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	gosum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	_, requirements, _ := strings.Cut(string(gomod), "\n")
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod": "module example.org/outside\n" + requirements +
			"\nrequire github.com/riverlytech/art v0.0.0\n\nreplace github.com/riverlytech/art => " + root + "\n",
		"go.sum":          string(gosum),
		"outside_test.go": outside,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "test", "-count", "3", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
