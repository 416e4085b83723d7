package trace_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/trace"
	"github.com/riverlytech/art/trace/decode"
)

// witness counts what it is told beside entries.
type witness struct {
	trace.Hooks
	other int
}

func (w *witness) Exit(*decode.Call) error                        { w.other++; return nil }
func (w *witness) Signal(int, *decode.Siginfo) error              { w.other++; return nil }
func (w *witness) Ended(int, unix.WaitStatus, *decode.Call) error { w.other++; return nil }
func (w *witness) Superseded(int, int) error                      { w.other++; return nil }

// A trace of entries tells of the calls of the command and of all that it starts, from the one that executes it on, and of
// nothing else.
func TestEntries(t *testing.T) {
	engines(t, func(t *testing.T, as func(*trace.Command) *trace.Command) {
		var seen []string
		pids := map[int]bool{}
		w := &witness{Hooks: trace.Hooks{OnEnter: func(c *decode.Call) error {
			path, _ := decode.String(c.Mem, c.Args[0])
			seen = append(seen, fmt.Sprintf("%s %s %v", c.Name, path, c.First))
			pids[c.Pid] = true
			return nil
		}}}
		cmd := as(shell("cd /usr; (cd /tmp; kill -URG $$); cd /; exec /bin/true", "chdir"))
		status, err := trace.Run(t.Context(), cmd, w)
		want := []string{"chdir /usr false", "chdir /tmp false", "chdir / false"}
		if err != nil || status != 0 || !slices.Equal(seen, want) || len(pids) != 2 || w.other != 0 {
			t.Errorf("%v, %v, %d processes, %d other events, %q", err, status, len(pids), w.other, seen)
		}
		seen = nil
		cmd = as(shell("exec /bin/true", "execve"))
		if _, err := trace.Run(t.Context(), cmd, w); err != nil || !slices.Equal(seen, []string{"execve /bin/sh true", "execve /bin/true false"}) {
			t.Errorf("%v, %q", err, seen)
		}
	})
}

// A script without an interpreter is the shell's, and executed at the second try.
func TestEntriesScript(t *testing.T) {
	script := t.TempDir() + "/script"
	if err := os.WriteFile(script, []byte("cd /; exit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	engines(t, func(t *testing.T, as func(*trace.Command) *trace.Command) {
		var seen []string
		status, err := trace.Run(t.Context(), as(&trace.Command{Path: script, Calls: []string{"execve", "chdir"}}), hooks(func(c *decode.Call) {
			seen = append(seen, fmt.Sprint(c.Name, c.First))
		}, nil))
		if err != nil || status.ExitStatus() != 3 || strings.Join(seen, " ") != "execvetrue execvetrue chdirfalse" {
			t.Errorf("%v, %d, %q", err, status.ExitStatus(), seen)
		}
	})
}

// An entry hook refuses and answers calls in a trace of entries, too, and what it cannot do is an error.
func TestEntriesDecide(t *testing.T) {
	engines(t, func(t *testing.T, as func(*trace.Command) *trace.Command) {
		var out bytes.Buffer
		cmd := as(shell("umask 077; umask 011; umask; cd / 2>/dev/null || echo refused", "umask", "chdir"))
		cmd.Stdout = &out
		_, err := trace.Run(t.Context(), cmd, hooks(func(c *decode.Call) {
			switch {
			case c.Name == "chdir":
				c.Fail(unix.EACCES)
			case c.Args[0] == 0o77:
				c.Return(0o22)
			}
		}, nil))
		if err != nil || out.String() != "0011\nrefused\n" {
			t.Errorf("%v, %q", err, out.String())
		}
		if _, err = trace.Run(t.Context(), as(shell("exit 3", "exit_group")), hooks(func(c *decode.Call) { c.Args[0]++ }, nil)); !errors.Is(err, trace.ErrChanged) {
			t.Errorf("arguments were changed: %v", err)
		}
	})
}

// What needs stops is not asked of the other engine.
func TestEngineThatCannot(t *testing.T) {
	for _, cmd := range []*trace.Command{
		{Path: "/bin/true", Engine: trace.Notification},
		{Path: "/bin/true", Engine: trace.Notification, Entries: true, FilterByPayload: true},
	} {
		if _, err := trace.Run(t.Context(), cmd, trace.Ignore{}); err == nil {
			t.Errorf("%+v: no error", cmd)
		}
	}
}

// A command starts also when all calls of what becomes it wait for the listener, whenever Go's scheduler makes some.
func TestEntriesStart(t *testing.T) {
	var traces sync.WaitGroup
	for range 6 {
		traces.Go(func() {
			for range 40 {
				cmd := &trace.Command{Path: "/bin/true", Entries: true, Engine: trace.Notification}
				if status, err := trace.Run(t.Context(), cmd, trace.Ignore{}); err != nil || status != 0 {
					t.Errorf("%v, %v", err, status)
					return
				}
			}
		})
	}
	traces.Wait()
}

// A trace that needs a processor more than there is gives it back.
func TestProcessors(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	most := 0
	cmd := &trace.Command{Path: "/bin/true", Calls: []string{"execve"}, Entries: true, Engine: trace.Notification}
	_, err := trace.Run(t.Context(), cmd, hooks(func(*decode.Call) { most = runtime.GOMAXPROCS(0) }, nil))
	if after := runtime.GOMAXPROCS(0); err != nil || most != 2 || after != 1 {
		t.Errorf("%v; GOMAXPROCS was %d and is %d", err, most, after)
	}
}
