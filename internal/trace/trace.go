// Package trace runs a command and reports the system calls of it and of every
// process and thread that it starts.
//
// Which calls are seen is decided in the kernel by a seccomp filter (package
// filter); all others run at native speed. A call that is seen stops twice, at
// its entry and at its exit, and each time an Observer is told.
//
// What an Observer reads from the tracee's memory can be changed by another
// thread of the tracee between the report and the kernel's own reading of it: a
// trace is a record of what was done, not a means of deciding what may be done.
//
// Two kinds of call escape it: those that another seccomp filter of the tracee
// refuses, because the kernel takes the strictest answer (seccomp(2)), and
// whatever is submitted through io_uring.
package trace

import (
	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/trace/decode"
)

// Observer is told what the tracees do, in the order in which it happened within
// each thread, from one thread of the tracer. While a method runs, the thread
// that it is about stands still. An error ends the trace and every tracee.
type Observer interface {
	// Enter reports a call that is about to run.
	Enter(c *decode.Call) error
	// Exit reports that the call passed to Enter has returned.
	Exit(c *decode.Call) error
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
}

// Command is what to run and what to see of it.
type Command struct {
	// Path is the file to execute, Args its arguments from argv[0] on, and Env
	// its environment. Standard streams and all descriptors that are not
	// close-on-exec are inherited, at their numbers.
	Path string
	Args []string
	Env  []string

	// Filter selects the calls. It is loaded right before the command is
	// executed; when it is nil, some process that the command starts will load
	// one, and nothing is reported before that process has executed another
	// program.
	Filter []unix.SockFilter

	// Selected reports whether the Observer wants to see calls of that name.
	// Calls of a foreign architecture, which have no names, are always seen.
	Selected func(name string) bool
}
