package trace

import (
	"errors"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/trace/decode"
)

// Engine is how the kernel tells of calls.
type Engine int

const (
	// Auto is Notification where that does what is asked for and the kernel has it, else Ptrace.
	Auto Engine = iota

	// Ptrace stops a thread at the entry and the exit of a call (ptrace(2)), and can do all that there is.
	Ptrace

	// Notification has the kernel ask about a call and wait for the answer (seccomp_unotify(2)), which takes a tenth of
	// the time. It needs Linux 5.19, and 6.6 to be fast. While such a trace runs, runtime.GOMAXPROCS is 2 at least.
	//
	// There are entries alone. What is decided by memory is not enforced, as with Ptrace: the kernel reads the memory again
	// when the call goes on, and another thread may have changed it. A Handler that is a MemoryDecider has the trace made
	// by Ptrace for that reason.
	//
	// Nothing outlives the tracer, as with Ptrace: the command is the child of a second process of it, which sees to that. A command
	// that kills this process is killed by the tracer, with what is below it then; Run does not wait for others.
	//
	// The command and what it starts have one listener. A program among them that wants to listen gets EBUSY, and
	// where somebody listens to this process, there is none to be had: Auto uses Ptrace. Debuggers work among them, which
	// Ptrace keeps from it.
	//
	// A signal that arrives before a call has been received interrupts it. The call is made again, or fails with EINTR
	// if the signal's handler was installed without SA_RESTART; one that has been received waits for its answer.
	Notification
)

// engine returns the one to begin with.
func (cmd *Command) engine(handler Handler) (Engine, error) {
	d, ok := handler.(MemoryDecider)
	can := cmd.Entries && !cmd.FilterByPayload && !(ok && d.DecidesByMemory())
	switch {
	case cmd.Engine == Notification && !can:
		return 0, cli.WithHint(errors.New("trace: user notification cannot do what is asked for"),
			"it tells of entries alone, decides by registers alone, and does not when the command loads the filter itself")
	case cmd.Engine == Ptrace || !can:
		return Ptrace, nil
	}
	return Notification, nil
}

// entries passes on to another handler what a trace of entries has.
type entries struct {
	Ignore
	to Handler
}

var _ Handler = entries{}

// Enter implements Handler.
func (e entries) Enter(c *decode.Call) error {
	args := c.Args
	c.EntryOnly = true
	if err := e.to.Enter(c); err != nil {
		return err
	}
	if c.Args != args {
		return ErrChanged
	}
	return nil
}

// Flush implements Handler.
func (e entries) Flush() error { return e.to.Flush() }
