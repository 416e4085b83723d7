package stub

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// rulesetAttr is struct landlock_ruleset_attr (include/uapi/linux/landlock.h).
type rulesetAttr struct{ fs, net, scoped uint64 }

// scope keeps what the guest can name without a file among its own processes:
// abstract sockets, which belong to the network that it may share with the host,
// and signals, for which it has its own process ids anyway (landlock(7), IPC
// scoping). Before Linux 6.12 there is no such thing; then it does nothing.
//
// It holds for the calling thread and for what that becomes.
func scope() error {
	attr := rulesetAttr{scoped: unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	switch errno {
	case 0:
	case unix.ENOSYS, unix.EOPNOTSUPP, unix.E2BIG, unix.EINVAL: // not built, not enabled, not known yet
		return nil
	default:
		return fmt.Errorf("scope the guest: %w", errno)
	}
	defer unix.Close(int(fd))
	// bubblewrap has set no_new_privs, without which this is refused.
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("scope the guest: %w", errno)
	}
	return nil
}
