package trace

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/trace/decode"
)

// Handler is told what the tracees do, in the order in which it happened within
// each thread, from one goroutine. While a method runs, the thread
// that it is about stands still. An error ends the trace and every tracee.
//
// Enter and Exit may also decide. A call that Enter leaves alone runs as it is.
// Enter may change c.Args, which the kernel then reads, put other strings in the place
// of those that they point to with c.SetString, or make the kernel skip the call
// with c.Return or c.Fail; Exit may change the result with the same two. When the call
// returns, its registers are again what the program has put there.
// Such a decision is worth as much as what it is made of: registers are the
// kernel's own copy, but the memory that they point to, such as a path, can be
// changed by another thread after a handler has read it. Deciding on registers
// can enforce something; deciding on memory is logging.
type Handler interface {
	// Enter reports a call that is about to run.
	Enter(c *decode.Call) error
	// Exit reports that the call passed to Enter has returned. It is called for
	// skipped calls too.
	Exit(c *decode.Call) error
	// Flush is called after the thread that Enter or Exit was about goes on. What can wait
	// until then, such as writing down the result, runs beside the thread.
	Flush() error
	// Signal reports a signal that is about to be delivered to thread pid.
	Signal(pid int, info *decode.Siginfo) error
	// Stopped reports a group stop of thread pid by sig.
	Stopped(pid int, sig unix.Signal) error
	// Superseded reports that thread by execs and becomes thread pid, the
	// first of its process, which is gone (execve(2)).
	Superseded(pid, by int) error
	// Ended reports the end of thread pid, and the call, if any, that it will
	// not return from.
	Ended(pid int, status unix.WaitStatus, during *decode.Call) error
	// Detached reports that thread pid goes on untraced, and the call, if any,
	// that it is in.
	Detached(pid int, during *decode.Call) error
}

// Ignore is a Handler that does nothing, to be embedded by those that want to
// hear of some events only.
type Ignore struct{}

var _ Handler = Ignore{}

// Enter implements Handler.
func (Ignore) Enter(*decode.Call) error { return nil }

// Exit implements Handler.
func (Ignore) Exit(*decode.Call) error { return nil }

// Flush implements Handler.
func (Ignore) Flush() error { return nil }

// Signal implements Handler.
func (Ignore) Signal(int, *decode.Siginfo) error { return nil }

// Stopped implements Handler.
func (Ignore) Stopped(int, unix.Signal) error { return nil }

// Superseded implements Handler.
func (Ignore) Superseded(int, int) error { return nil }

// Ended implements Handler.
func (Ignore) Ended(int, unix.WaitStatus, *decode.Call) error { return nil }

// Detached implements Handler.
func (Ignore) Detached(int, *decode.Call) error { return nil }

// Hooks is a Handler of two functions, either of which may be nil.
type Hooks struct {
	Ignore
	OnEnter, OnExit func(c *decode.Call) error
}

var _ Handler = Hooks{}

// Enter implements Handler.
func (h Hooks) Enter(c *decode.Call) error {
	if h.OnEnter == nil {
		return nil
	}
	return h.OnEnter(c)
}

// Exit implements Handler.
func (h Hooks) Exit(c *decode.Call) error {
	if h.OnExit == nil {
		return nil
	}
	return h.OnExit(c)
}

// Chain makes one handler of several. Each is told of every event, in the order
// given, and sees a call as those before it have left it: a logger behind a
// policy writes down what really happened. Of what one of them has the kernel refuse, as
// a Refuser, none is told.
func Chain(handlers ...Handler) Handler {
	if len(handlers) == 1 {
		return handlers[0]
	}
	return chain(handlers)
}

type chain []Handler

// Calls implements Selector.
func (all chain) Calls() []string {
	var calls []string
	for _, h := range all {
		if s, ok := h.(Selector); ok {
			calls = append(calls, s.Calls()...)
		}
	}
	return calls
}

// Refused implements Refuser.
func (all chain) Refused() (refused []Refusal) {
	for _, h := range all {
		if r, ok := h.(Refuser); ok {
			refused = append(refused, r.Refused()...)
		}
	}
	return refused
}

// DecidesByMemory implements MemoryDecider.
func (all chain) DecidesByMemory() bool {
	return slices.ContainsFunc(all, func(h Handler) bool {
		d, ok := h.(MemoryDecider)
		return ok && d.DecidesByMemory()
	})
}

func (all chain) each(tell func(Handler) error) error {
	for _, h := range all {
		if err := tell(h); err != nil {
			return err
		}
	}
	return nil
}

func (all chain) Enter(c *decode.Call) error {
	return all.each(func(h Handler) error { return h.Enter(c) })
}

func (all chain) Exit(c *decode.Call) error {
	return all.each(func(h Handler) error { return h.Exit(c) })
}

func (all chain) Flush() error { return all.each(Handler.Flush) }

func (all chain) Signal(pid int, info *decode.Siginfo) error {
	return all.each(func(h Handler) error { return h.Signal(pid, info) })
}

func (all chain) Stopped(pid int, sig unix.Signal) error {
	return all.each(func(h Handler) error { return h.Stopped(pid, sig) })
}

func (all chain) Superseded(pid, by int) error {
	return all.each(func(h Handler) error { return h.Superseded(pid, by) })
}

func (all chain) Ended(pid int, status unix.WaitStatus, during *decode.Call) error {
	return all.each(func(h Handler) error { return h.Ended(pid, status, during) })
}

func (all chain) Detached(pid int, during *decode.Call) error {
	return all.each(func(h Handler) error { return h.Detached(pid, during) })
}
