package trace_test

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/seccomp"
	"github.com/riverlytech/art/internal/trace"
	"github.com/riverlytech/art/internal/trace/decode"
)

func init() { runtime.LockOSThread() } // the launcher needs the first thread

func TestMain(m *testing.M) {
	if os.Args[0] == trace.LauncherName {
		trace.Launch(os.Args)
	}
	os.Exit(m.Run())
}

// run traces a shell command, of which the handler hears the calls named, and
// returns its output and exit code.
func run(t *testing.T, script, calls string, handler trace.Handler) (string, int) {
	t.Helper()
	out, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(calls)
	prog, err := seccomp.Trace(names)
	if err != nil {
		t.Fatal(err)
	}
	status, err := trace.Run(&trace.Command{
		Path: sh, Args: []string{"sh", "-c", "exec >" + out.Name() + "; " + script}, Env: os.Environ(),
		Filter: prog,
		Selected: func(name string) bool {
			for _, n := range names {
				if n == name {
					return true
				}
			}
			return false
		},
	}, handler)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text)), status.ExitStatus()
}

// hooks is a handler of two functions.
type hooks struct {
	trace.Ignore
	enter, exit func(c *decode.Call)
}

func (h hooks) Enter(c *decode.Call) error {
	if h.enter != nil {
		h.enter(c)
	}
	return nil
}

func (h hooks) Exit(c *decode.Call) error {
	if h.exit != nil {
		h.exit(c)
	}
	return nil
}

// An entry hook changes arguments: the kernel gets the new ones.
func TestChangeArguments(t *testing.T) {
	_, code := run(t, "exit 3", "exit_group", hooks{enter: func(c *decode.Call) { c.Args[0]++ }})
	if code != 4 {
		t.Errorf("exit code %d, want 4", code)
	}
}

// An entry hook skips a call: the kernel does nothing, and the program gets the
// hook's result.
func TestSkip(t *testing.T) {
	out, _ := run(t, "umask 077; umask 011; umask", "umask", hooks{enter: func(c *decode.Call) {
		if c.Args[0] == 0o77 {
			c.Return(0o22)
		}
	}, exit: func(c *decode.Call) {
		if c.Args[0] == 0o77 && (c.Ret != 0o22 || c.Failed || !c.Injected) {
			t.Errorf("the exit hook sees %d, failed %v, injected %v", c.Ret, c.Failed, c.Injected)
		}
	}})
	if out != "0011" {
		t.Errorf("umask is %q, want 0011", out)
	}
	const target = "/nonexistent/art-trace-test"
	out, _ = run(t, "cd "+target+" 2>/dev/null && echo in; cd / 2>/dev/null || echo refused", "chdir", hooks{enter: func(c *decode.Call) {
		if path, _ := decode.String(c.Mem, c.Args[0]); path == target {
			c.Return(0)
		} else {
			c.Fail(unix.EACCES)
		}
	}})
	if out != "in\nrefused" {
		t.Errorf("chdir: %q", out)
	}
}

// An exit hook changes the result of a call that has run.
func TestChangeResult(t *testing.T) {
	out, _ := run(t, "echo $PPID", "getppid", hooks{exit: func(c *decode.Call) { c.Return(4242) }})
	if out != "4242" {
		t.Errorf("the parent is %q, want 4242", out)
	}
}

// In a chain, each handler sees what those before it made of the call.
func TestChain(t *testing.T) {
	var seen []string
	first := hooks{enter: func(c *decode.Call) { c.Fail(unix.EPERM) }}
	second := hooks{
		enter: func(c *decode.Call) { seen = append(seen, "enter "+decode.ErrorName(c)) },
		exit:  func(c *decode.Call) { seen = append(seen, "exit "+decode.ErrorName(c)) },
	}
	run(t, "cd / 2>/dev/null", "chdir", trace.Chain(first, second))
	if got := strings.Join(seen, ", "); got != "enter EPERM, exit EPERM" {
		t.Errorf("the second handler saw %s", got)
	}
}
