package trace

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/seccomp"
)

// Refuser is a Handler that lets the kernel refuse certain calls by itself, which costs nothing. Nobody is told of those: a Refuser
// is to tell nobody either when it is asked about such a call all the same, which is up to the tracer: the first filter that there
// is may be the payload's, and the process that becomes the command needs some calls for that.
type Refuser interface {
	// Refused returns these calls. Of several refusals of a call the first counts that is for it.
	Refused() []Refusal
}

// Refusal is a call that is to fail.
type Refusal struct {
	// Call is its name. It is empty for all calls through another architecture's interface, but those that end a thread
	// or return from a signal.
	Call  string
	Errno unix.Errno
	// OfFamily says that the refusal is for sockets of Family alone (AF_INET): Call is socket or socketpair.
	OfFamily bool
	Family   int
}

// MemoryDecider is a Handler that says whether it decides about calls by what their arguments point to or by what a
// descriptor is. Notification is not used for one that does: a call that goes on is read again by the kernel, and
// another thread may have changed its memory by then (SECCOMP_USER_NOTIF_FLAG_CONTINUE in seccomp_unotify(2)).
type MemoryDecider interface {
	DecidesByMemory() bool
}

// launcherCalls are those that the process which becomes the command may make under the filter.
var launcherCalls = []string{
	"execve", "execveat", "write", "prlimit64", "mmap", "munmap", "mprotect", "madvise", "futex", "nanosleep", "sched_yield", "getpid", "gettid", "tgkill",
	"rt_sigaction", "rt_sigprocmask", "sigaltstack", "close", "fcntl", "epoll_pwait",
}

// refused returns what the kernel is to refuse for a handler.
func refused(handler Handler) (all []seccomp.Refusal) {
	r, ok := handler.(Refuser)
	if !ok {
		return nil
	}
	for _, one := range r.Refused() {
		if !slices.Contains(launcherCalls, one.Call) {
			all = append(all, seccomp.Refusal(one))
		}
	}
	return all
}
