// Package trace runs a command and reports the system calls of it and of every
// process and thread that it starts.
//
// Which calls are seen is decided in the kernel by a seccomp filter (package
// filter); all others run at native speed. A call that is seen stops twice, at
// its entry and at its exit, and each time a Handler is told, which may also
// change what happens.
//
// The tracees cannot outlive the tracer: PTRACE_O_EXITKILL ends them with it,
// whatever ends it. A program among them that wants to trace another itself gets
// EPERM, as it would under strace, because a thread has one tracer at most.
//
// Attach traces processes that run already. A filter cannot be loaded into those,
// so they stop at every call, and they are let go when the trace ends.
//
// Two kinds of call escape it: those that another seccomp filter of the tracee
// refuses, because the kernel takes the strictest answer (seccomp(2)), and
// whatever is submitted through io_uring.
package trace

import "golang.org/x/sys/unix"

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

	// Selected reports whether the Handler wants to see calls of that name.
	// Calls of a foreign architecture, which have no names, are always seen.
	Selected func(name string) bool
}
