package trace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/trace"
	"github.com/riverlytech/art/trace/decode"
)

// shell is a command that runs a script, and of which calls are traced.
func shell(script string, calls ...string) *trace.Command {
	return &trace.Command{Path: "/bin/sh", Args: []string{"sh", "-c", script}, Stderr: os.Stderr, Calls: calls}
}

// engines runs a test of entries with each engine, which as has a command traced by.
func engines(t *testing.T, test func(t *testing.T, as func(*trace.Command) *trace.Command)) {
	for name, engine := range map[string]trace.Engine{"ptrace": trace.Ptrace, "notification": trace.Notification} {
		t.Run(name, func(t *testing.T) {
			test(t, func(cmd *trace.Command) *trace.Command {
				cmd.Entries, cmd.Engine = true, engine
				return cmd
			})
		})
	}
}

// run traces a shell command, of which the handler hears the calls named, and
// returns its output and exit code.
func run(t *testing.T, script, calls string, handler trace.Handler) (string, int) {
	t.Helper()
	var out bytes.Buffer
	cmd := shell(script, strings.Fields(calls)...)
	cmd.Stdout = &out
	status, err := trace.Run(t.Context(), cmd, handler)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out.String()), status.ExitStatus()
}

// hooks makes a handler of functions that do not fail.
func hooks(enter, exit func(c *decode.Call)) trace.Handler {
	with := func(f func(c *decode.Call)) func(c *decode.Call) error {
		if f == nil {
			return nil
		}
		return func(c *decode.Call) error { f(c); return nil }
	}
	return trace.Hooks{OnEnter: with(enter), OnExit: with(exit)}
}

// An entry hook changes arguments: the kernel gets the new ones.
func TestChangeArguments(t *testing.T) {
	_, code := run(t, "exit 3", "exit_group", hooks(func(c *decode.Call) { c.Args[0]++ }, nil))
	if code != 4 {
		t.Errorf("exit code %d, want 4", code)
	}
}

// An entry hook skips a call: the kernel does nothing, and the program gets the
// hook's result.
func TestSkip(t *testing.T) {
	out, _ := run(t, "umask 077; umask 011; umask", "umask", hooks(func(c *decode.Call) {
		if c.Args[0] == 0o77 {
			c.Return(0o22)
		}
	}, func(c *decode.Call) {
		if c.Args[0] == 0o77 && (c.Ret != 0o22 || c.Failed || !c.Injected) {
			t.Errorf("the exit hook sees %d, failed %v, injected %v", c.Ret, c.Failed, c.Injected)
		}
	}))
	if out != "0011" {
		t.Errorf("umask is %q, want 0011", out)
	}
	const target = "/nonexistent/art-trace-test"
	out, _ = run(t, "cd "+target+" 2>/dev/null && echo in; cd / 2>/dev/null || echo refused", "chdir", hooks(func(c *decode.Call) {
		if path, _ := decode.String(c.Mem, c.Args[0]); path == target {
			c.Return(0)
		} else {
			c.Fail(unix.EACCES)
		}
	}, nil))
	if out != "in\nrefused" {
		t.Errorf("chdir: %q", out)
	}
}

// An exit hook changes the result of a call that has run.
func TestChangeResult(t *testing.T) {
	out, _ := run(t, "echo $PPID", "getppid", hooks(nil, func(c *decode.Call) { c.Return(4242) }))
	if out != "4242" {
		t.Errorf("the parent is %q, want 4242", out)
	}
}

// In a chain, each handler sees what those before it made of the call.
func TestChain(t *testing.T) {
	var seen []string
	first := hooks(func(c *decode.Call) { c.Fail(unix.EPERM) }, nil)
	second := hooks(
		func(c *decode.Call) { seen = append(seen, "enter "+decode.ErrorName(c)) },
		func(c *decode.Call) { seen = append(seen, "exit "+decode.ErrorName(c)) },
	)
	run(t, "cd / 2>/dev/null", "chdir", trace.Chain(first, second))
	if got := strings.Join(seen, ", "); got != "enter EPERM, exit EPERM" {
		t.Errorf("the second handler saw %s", got)
	}
}

// The command gets the streams, the directory and the environment that it was given.
func TestStreams(t *testing.T) {
	testStreams(t, func(cmd *trace.Command) *trace.Command { return cmd })
	engines(t, testStreams)
}

func testStreams(t *testing.T, as func(*trace.Command) *trace.Command) {
	dir := t.TempDir()
	var out bytes.Buffer
	status, err := trace.Run(t.Context(), as(&trace.Command{
		Path: "/bin/sh", Args: []string{"sh", "-c", "cat; pwd; echo $A $PWD; echo no >&2; exit 5"},
		Dir: dir, Env: []string{"A=b"}, Stdin: strings.NewReader("in\n"), Stdout: &out, Stderr: &out,
	}), trace.Ignore{})
	if want := "in\n" + dir + "\nb " + dir + "\nno\n"; err != nil || status.ExitStatus() != 5 || out.String() != want {
		t.Errorf("%v, %d, %q, want %q", err, status.ExitStatus(), out.String(), want)
	}
	out.Reset()
	if _, err := trace.Run(t.Context(), as(&trace.Command{Path: "/bin/cat"}), trace.Ignore{}); err != nil {
		t.Errorf("without streams: %v", err)
	}
	if _, err := trace.Run(t.Context(), as(&trace.Command{Path: "/nonexistent"}), trace.Ignore{}); !errors.Is(err, trace.ErrNotExecuted) {
		t.Errorf("without a program: %v", err)
	}
	if _, err := trace.Run(t.Context(), as(&trace.Command{Path: "/bin/true", Calls: []string{"opennat"}}), trace.Ignore{}); err == nil {
		t.Error("there is a call named opennat")
	}
}

// Strings are put in the place of others, longer ones too, and the program's registers and
// memory are untouched afterwards.
func TestSetString(t *testing.T) {
	target := t.TempDir() + "/" + strings.Repeat("long", 50)
	if err := os.WriteFile(target, []byte("from elsewhere"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"exec cat /short", "exec python3 -c 'print(open(\"/short\").read())'", "read a </short; echo $a"} {
		out, code := run(t, program, "openat open", hooks(func(c *decode.Call) {
			n := 1
			if c.Name == "open" {
				n = 0
			}
			if path, _ := decode.String(c.Mem, c.Args[n]); path != "/short" {
				return
			}
			if err := c.SetString(n, target); err != nil {
				t.Errorf("set string: %v", err)
			}
		}, nil))
		if out != "from elsewhere" {
			t.Errorf("%s: %q, %d", program, out, code)
		}
	}
}

// When the context ends, all processes of the trace have ended, also those without
// the first one.
func TestContext(t *testing.T) {
	testContext(t, func(cmd *trace.Command) *trace.Command { return cmd })
	engines(t, testContext)
}

func testContext(t *testing.T, as func(*trace.Command) *trace.Command) {
	for _, script := range []string{"sleep 1000", "sleep 1000 & exit 0", "while :; do :; done", "(while :; do :; done) & exit 0"} {
		ctx, cancel := context.WithCancel(t.Context())
		started := make(chan struct{})
		go func() {
			<-started
			time.Sleep(50 * time.Millisecond)
			cancel()
		}()
		pids := map[int]bool{}
		begun := time.Now()
		_, err := trace.Run(ctx, as(shell(script, "execve", "getpid")), hooks(func(c *decode.Call) {
			if len(pids) == 0 {
				close(started)
			}
			pids[c.Pid] = true
		}, nil))
		if !errors.Is(err, context.Canceled) || time.Since(begun) > 10*time.Second {
			t.Errorf("%s: %v after %v", script, err, time.Since(begun))
		}
		for pid := range pids {
			stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			if _, state, ok := strings.Cut(string(stat), ") "); ok && state[0] != 'Z' { // its own parent has ended
				t.Errorf("%s: process %d: %s", script, pid, stat)
			}
		}
	}
}

// The end of a trace of a running process by its context leaves the process alone.
func TestAttachContext(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", "while sleep 0.01; do :; done")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := trace.Attach(ctx, cmd.Process.Pid, []string{"wait4"}, hooks(nil, func(*decode.Call) { cancel() })); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(unix.Signal(0)); err != nil {
		t.Error("the process has ended")
	}
	cmd.Process.Kill()
	if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Error(err)
	}
}

// Traces leave the children of others alone, and signals of their ends as they were.
func TestBesideOthers(t *testing.T) {
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, unix.SIGCHLD)
	defer signal.Stop(ends)
	errs := make(chan error)
	for range 4 {
		go func() {
			for range 10 {
				if err := exec.Command("sh", "-c", "true & true & wait; exit 0").Run(); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
		go func() {
			for range 3 {
				calls := 0
				status, err := trace.Run(context.Background(), shell("(exit 1) & (exit 2) & wait; exit 7", "exit_group"),
					hooks(func(*decode.Call) { calls++ }, nil))
				if err == nil && (status.ExitStatus() != 7 || calls != 3) {
					err = errors.New("not all was traced")
				}
				if err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range 8 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	for len(ends) > 0 {
		<-ends
	}
	if err := exec.Command("true").Run(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ends:
	case <-time.After(10 * time.Second):
		t.Error("the end of a child causes no signal any more")
	}
}

// A handler that leaves its goroutine ends the trace.
func TestGoexit(t *testing.T) {
	engines(t, func(t *testing.T, as func(*trace.Command) *trace.Command) {
		done := make(chan error)
		go func() {
			_, err := trace.Run(context.Background(), as(shell("sleep 1000", "execve")), hooks(func(*decode.Call) { runtime.Goexit() }, nil))
			done <- err
		}()
		if err := <-done; err == nil {
			t.Error("no error")
		}
	})
}

// An error of the handler ends the trace and every process.
func TestError(t *testing.T) {
	wrong := errors.New("wrong")
	ended := func(t *testing.T, err error, pid int) {
		if !errors.Is(err, wrong) || !errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			t.Errorf("%v; process %d", err, pid)
		}
	}
	pid := 0
	_, err := trace.Run(t.Context(), shell("sleep 1000", "execve"), trace.Hooks{OnExit: func(c *decode.Call) error { pid = c.Pid; return wrong }})
	ended(t, err, pid)
	engines(t, func(t *testing.T, as func(*trace.Command) *trace.Command) {
		pid := 0
		_, err := trace.Run(t.Context(), as(shell("sleep 1000", "execve")), trace.Hooks{OnEnter: func(c *decode.Call) error { pid = c.Pid; return wrong }})
		ended(t, err, pid)
	})
}

// A call that waits when the handler ends the trace does not fail and let the program go on.
func TestErrorInCall(t *testing.T) {
	wrong := errors.New("wrong")
	engines(t, func(t *testing.T, as func(*trace.Command) *trace.Command) {
		for range 20 {
			failed := t.TempDir() + "/failed"
			_, err := trace.Run(t.Context(), as(shell("cd / || : >"+failed, "chdir")), trace.Hooks{OnEnter: func(*decode.Call) error { return wrong }})
			if _, gone := os.Stat(failed); !errors.Is(err, wrong) || gone == nil {
				t.Fatalf("%v; the command went on: %v", err, gone == nil)
			}
		}
	})
}
