package seccomp

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/syscalls"
)

// Without returns a filter that refuses the named calls, and all of another architecture, and allows the rest. It is for programs of
// art's own, which have no use for them; those that an architecture does not have it need not refuse.
func Without(calls ...string) []unix.SockFilter {
	refused := uint32(unix.SECCOMP_RET_ERRNO | unix.EPERM)
	var actions []uint32
	for _, name := range calls {
		if nr, ok := syscalls.Native.Number(name); ok {
			actions = answer(actions, nr, refused, unix.SECCOMP_RET_ALLOW)
		}
	}
	p := begin(syscalls.Native, ret(unix.SECCOMP_RET_KILL_PROCESS), ret(refused))
	return search(p, spans(actions, unix.SECCOMP_RET_ALLOW))
}

// InstallForAll loads a filter into all threads of this process, for good.
func InstallForAll(program []unix.SockFilter) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// The other threads get it with the filter (seccomp(2), SECCOMP_FILTER_FLAG_TSYNC).
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("set no_new_privs", err)
	}
	_, err := set(program, unix.SECCOMP_FILTER_FLAG_TSYNC)
	return os.NewSyscallError("load seccomp filter", err)
}
