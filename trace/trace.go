// Package trace runs a command and reports the system calls of it and of every
// process and thread that it starts.
//
// Which calls are seen is decided in the kernel by a seccomp filter; all others
// run at native speed. A call that is seen stops twice, at its entry and at its
// exit, and each time a Handler is told, which may also change what happens:
// refuse the call, answer it, change its arguments and the memory they point to,
// or change its result. Package policy has handlers that refuse, package decode
// turns calls into text.
//
// A handler that wants to know which calls are made, and not what they return, says
// so (Command.Entries). Then the kernel asks about them instead, at a tenth of the
// cost, where it can: see Notification. What a Refuser leaves to the kernel costs
// nothing.
//
// The tracees cannot outlive the tracer: PTRACE_O_EXITKILL ends them with it,
// whatever ends it. What one of them starts with CLONE_UNTRACED (clone(2)) is no tracee, as the kernel then tells nobody of it: Run does
// not wait for that, and the calls that are selected fail in it with ENOSYS. The flags of clone3 are in memory, which the program can
// change until the kernel has read them, so this is not prevented. A program among the tracees that wants to trace another itself gets
// EPERM, as it would under strace, because a thread has one tracer at most.
//
// Attach traces processes that run already. A filter cannot be loaded into those,
// so they stop at every call, and they are let go when the trace ends.
//
// Several traces may run at the same time, and beside os/exec: each has a thread
// of its own and waits for that thread's children alone. While one runs, the stops
// of children, not their ends, cause no SIGCHLD in this process.
//
// A program that imports this package is also the program that becomes the command:
// Run starts it again under another argv[0], which is found out when the package is
// initialised. Packages that are initialised before see that process too.
//
// Three kinds of call escape it: those that another seccomp filter of the tracee
// refuses, because the kernel takes the strictest answer (seccomp(2)); those about which such a filter asks a listener of
// the tracee's own, which the kernel then does instead, unless a Policy refuses that; and whatever is submitted through io_uring.
package trace

import (
	"io"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/seccomp"
	"github.com/riverlytech/art/internal/syscalls"
)

// Command is what to run and what to see of it.
type Command struct {
	// Path is the file to execute; it is not looked for in PATH (see
	// exec.LookPath). Args are its arguments from argv[0] on; without any, Path is
	// argv[0]. Env is its environment, this process's if it is nil, and Dir its
	// directory, this process's if it is empty. As in os/exec, of variables that are
	// given twice the last counts, and without Env, PWD is Dir.
	Path string
	Args []string
	Env  []string
	Dir  string

	// Stdin, Stdout and Stderr are the command's standard streams, as in os/exec:
	// a file is inherited, others are copied from and to by goroutines that Run
	// waits for, and nil is /dev/null. Nothing is read before the command has been
	// executed. Descriptors of this process above 2 that are not close-on-exec are
	// inherited, at their numbers.
	Stdin          io.Reader
	Stdout, Stderr io.Writer

	// WaitDelay is how long Run waits at most, after the last process has ended, for
	// these goroutines: one may still read from Stdin, or write what was left in the
	// pipe. Then the error is exec.ErrWaitDelay, beside others. Zero is without an
	// end, but for a second once ctx has ended or the trace has failed.
	WaitDelay time.Duration

	// Calls are those that the Handler wants to see: names ("openat"), classes of
	// strace(1) ("%file"), and either with "!" in front to leave it out of what
	// stands before it. All are seen if there are none. What the Handler asks for
	// as a Selector is seen as well, and so are calls through the interface of another
	// architecture, by 32-bit programs.
	Calls []string

	// FilterByPayload says that the filter is not loaded before the command is
	// executed: the command is a sandbox, and a process that it starts loads one that
	// answers SECCOMP_RET_TRACE for these calls. Nothing is reported before that process
	// has executed another program.
	FilterByPayload bool

	// Entries says that the Handler wants to know which calls are made, and not what comes of them: of its methods Enter
	// and Flush alone are called. It may refuse or answer a call, but neither change its arguments, which is
	// the error ErrChanged, nor memory. Then the engine can be Notification.
	Entries bool

	// Engine is the one to use; Auto chooses.
	Engine Engine

	// Foreground makes this process stand for the command in job control: it
	// passes on the signals that end, stop and continue it, and stops with it.
	Foreground bool
}

// Selector is a Handler that has to see certain calls, whatever Command.Calls
// selects: a policy that refuses them.
type Selector interface {
	// Calls returns the names of these calls.
	Calls() []string
}

// selected returns the calls that cmd and the handler want to see.
func (cmd *Command) selected(handler Handler) (syscalls.Set, error) {
	set, err := syscalls.Parse(strings.Join(cmd.Calls, ","))
	if err != nil {
		return set, err
	}
	if s, ok := handler.(Selector); ok {
		set = set.Union(s.Calls())
	}
	return set, nil
}

// filter returns the filter by which ptrace sees the calls in set, if it is not the payload's.
func (cmd *Command) filter(set syscalls.Set, handler Handler) ([]unix.SockFilter, error) {
	if cmd.FilterByPayload {
		return nil, nil
	}
	return seccomp.Trace(set.Names(), refused(handler)...)
}

// argv returns the command's arguments, with argv[0].
func (cmd *Command) argv() []string {
	if len(cmd.Args) == 0 {
		return []string{cmd.Path}
	}
	return cmd.Args
}

// environ returns the command's environment.
func (cmd *Command) environ() []string {
	return (&exec.Cmd{Dir: cmd.Dir, Env: cmd.Env}).Environ()
}
