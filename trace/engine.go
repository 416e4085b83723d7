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

	// Notification has the kernel ask about a call and wait for the answer (seccomp_unotify(2)), which takes a tenth of the time. There
	// are entries alone, and what is decided about a call by its memory holds for no longer than until the kernel reads
	// that memory again. It needs Linux 5.19, and 6.6 to be fast. The command and what it starts have one listener at
	// most, so there is none for programs among them that want one (they get EBUSY), and Run's error says so where somebody
	// listens to this process.
	//
	// As with Ptrace, nothing outlives the tracer: a second process of it, the command's parent, sees to that.
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
