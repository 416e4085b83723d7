package trace_test

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/trace"
	"github.com/riverlytech/art/trace/decode"
)

// refuser has the kernel refuse calls, and lets what it is told of go on.
type refuser struct {
	trace.Hooks
	refused []trace.Refusal
}

func (r *refuser) Refused() []trace.Refusal { return r.refused }

// What the kernel refuses by itself fails, and no handler hears of it, whatever is selected; but calls that the launcher
// needs are left to handlers. In a chain it is the same.
func TestRefuser(t *testing.T) {
	refuses := func(t *testing.T, as func(*trace.Command) *trace.Command, among func(...trace.Handler) trace.Handler) {
		var seen []string
		handler := &refuser{
			trace.Hooks{OnEnter: func(c *decode.Call) error { seen = append(seen, c.Name); return nil }},
			[]trace.Refusal{{Call: "chdir", Errno: unix.EROFS}, {Call: "execve", Errno: unix.EPERM}, {Errno: unix.ENOSYS}},
		}
		var out strings.Builder // dash asks for the mask before it sets it
		cmd := as(shell("cd / 2>&1; umask 022; exec /bin/true", "chdir", "umask", "execve"))
		cmd.Stdout = &out
		status, err := trace.Run(t.Context(), cmd, among(handler))
		if err != nil || status != 0 || !strings.Contains(out.String(), "can't cd to /") || strings.Join(seen, " ") != "execve umask umask umask execve" {
			t.Errorf("%v, %v, %q, %q", err, status, out.String(), seen)
		}
	}
	test := func(t *testing.T, as func(*trace.Command) *trace.Command) {
		refuses(t, as, trace.Chain)
		refuses(t, as, func(handlers ...trace.Handler) trace.Handler { return trace.Chain(append(handlers, trace.Ignore{})...) })
	}
	t.Run("whole", func(t *testing.T) { test(t, func(cmd *trace.Command) *trace.Command { return cmd }) })
	engines(t, test)
}

type decider struct{ trace.Ignore }

func (decider) DecidesByMemory() bool { return true }

// Who decides by memory is not told by the engine that lets the kernel read it again.
func TestMemoryDecider(t *testing.T) {
	for _, handler := range []trace.Handler{decider{}, trace.Chain(trace.Ignore{}, decider{})} {
		cmd := &trace.Command{Path: "/bin/true", Entries: true, Engine: trace.Notification}
		if _, err := trace.Run(t.Context(), cmd, handler); err == nil {
			t.Error("notification was used")
		}
		cmd.Engine = trace.Auto
		if status, err := trace.Run(t.Context(), cmd, handler); err != nil || status != 0 {
			t.Errorf("%v, %v", err, status)
		}
	}
}
