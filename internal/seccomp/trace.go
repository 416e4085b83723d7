package seccomp

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/syscalls"
)

// Trace returns a filter for the architecture that this program was built for, which
// selects, inside the kernel, the calls that a tracer sees.
//
// It answers SECCOMP_RET_TRACE for the calls that are named and SECCOMP_RET_ALLOW for
// all others, which therefore run at native speed. The kernel hands a chosen call to the
// ptrace tracer that set PTRACE_O_TRACESECCOMP; a process with the filter but without
// such a tracer gets ENOSYS (seccomp(2)). So nothing selected runs unseen, but where a
// filter that is loaded later asks a listener about it: SECCOMP_RET_USER_NOTIF outranks
// SECCOMP_RET_TRACE. Package policy refuses to load such a one.
//
// execve and execveat are always selected: they are how the tracer knows where
// the command begins. Every call made through another architecture's interface
// (a 32-bit program) is selected too, because its numbers mean something else:
// the tracer reports such calls instead of misreading or missing them.
//
// A name that the architecture does not have is an error.
//
// Calls that are refused are so whether or not they are named. Of several refusals of a call, the first counts that is for it.
func Trace(calls []string, refused ...Refusal) ([]unix.SockFilter, error) {
	return traceProgram(syscalls.Native, unix.SECCOMP_RET_TRACE, calls, refused)
}

// Observe is Trace for a Listener: its filter answers SECCOMP_RET_USER_NOTIF for the same calls. Where nobody listens any more they
// fail with ENOSYS.
func Observe(calls []string, refused ...Refusal) ([]unix.SockFilter, error) {
	return traceProgram(syscalls.Native, unix.SECCOMP_RET_USER_NOTIF, calls, refused)
}

func traceProgram(arch *syscalls.Arch, trace uint32, calls []string, refused refusals) ([]unix.SockFilter, error) {
	const allow = unix.SECCOMP_RET_ALLOW
	selected := map[int]bool{}
	var actions []uint32
	for _, name := range append([]string{"execve", "execveat"}, calls...) {
		nr, ok := arch.Number(name)
		if !ok {
			return nil, fmt.Errorf("select system calls: %s has no call named %q", arch.GOARCH, name)
		}
		selected[nr] = true
		actions = answer(actions, nr, trace, allow)
	}
	p := begin(arch, refused.foreign(trace), refused.numbers(arch.Audit, trace))
	for _, name := range refused.calls() {
		nr, ok := arch.Number(name)
		if !ok {
			return nil, fmt.Errorf("refuse system calls: %s has no call named %q", arch.GOARCH, name)
		}
		otherwise := uint32(allow)
		if selected[nr] {
			otherwise = trace
		}
		p, actions = (&rule{calls: []string{name}}).add(arch, refused.body(name, otherwise), p, actions, allow)
	}
	if len(selected) == len(arch.Names()) && len(refused) == 0 {
		return append(p, ret(trace)...), nil // numbers without a name too
	}
	return search(p, spans(actions, allow)), nil
}
