package stub

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// rulesetAttr is struct landlock_ruleset_attr (include/uapi/linux/landlock.h).
type rulesetAttr struct{ fs, net, scoped uint64 }

// rule is a right beneath a path (struct landlock_path_beneath_attr).
type rule struct {
	right uint64
	path  string
}

// ruleset returns what Landlock is to keep from the guest, as far as its version abi knows how, and what it lets pass.
//
// From version 6 on, in Linux 6.12, that is what the guest can name without a file: abstract sockets, which belong to
// the network that it may share with the host, and signals, for which it has its own process ids anyway.
//
// From version 9 on, in Linux 7.1, it is also sockets with a path that were made outside, one that the host makes later
// too; but not those beneath the paths sockets. A ruleset that handles any right to files refuses to rename and to link
// from one directory to another, unless that is allowed, and to change mounts (landlock(7); security/landlock/fs.c,
// hook_sb_mount): a guest that mounts can therefore not have it.
func ruleset(abi int, mounts bool, sockets []string) (attr rulesetAttr, rules []rule) {
	if abi >= 6 {
		attr.scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	if abi >= 9 && !mounts {
		attr.fs = unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX | unix.LANDLOCK_ACCESS_FS_REFER
		rules = append(rules, rule{unix.LANDLOCK_ACCESS_FS_REFER, "/"})
		for _, path := range sockets {
			rules = append(rules, rule{unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX, path})
		}
	}
	return attr, rules
}

// scope keeps the guest among its own processes, for the calling thread and for what that becomes.
func (p *Payload) scope() error {
	fd, err := p.openRuleset()
	if err != nil || fd < 0 {
		return err
	}
	defer unix.Close(fd)
	if err := restrict(fd); err != nil {
		return fmt.Errorf("scope the guest: %w", err)
	}
	return nil
}

// openRuleset returns the ruleset for the guest, or -1 on a kernel that has no such thing.
func (p *Payload) openRuleset() (fd int, err error) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch errno {
	case 0:
	case unix.ENOSYS, unix.EOPNOTSUPP: // not built, not enabled
		return -1, nil
	default:
		return -1, fmt.Errorf("scope the guest: %w", errno)
	}
	attr, rules := ruleset(int(abi), p.Mounts, p.Sockets)
	if attr == (rulesetAttr{}) {
		return -1, nil
	}
	if fd, err = attr.open(rules); err != nil {
		return -1, fmt.Errorf("scope the guest: %w", err)
	}
	return fd, nil
}

// open returns a ruleset of the kernel's that has the rules.
func (attr *rulesetAttr) open(rules []rule) (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(attr)), unsafe.Sizeof(*attr), 0)
	if errno != 0 {
		return -1, errno
	}
	for _, r := range rules {
		if err := r.add(int(fd)); err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR) {
			unix.Close(int(fd))
			return -1, fmt.Errorf("%s: %w", r.path, err)
		}
	}
	return int(fd), nil
}

// restrict holds the calling thread to the ruleset. bubblewrap has set no_new_privs, without which this is refused.
func restrict(ruleset int) error {
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// add adds the rule to a ruleset. It is no error if there is no such path any more.
func (r *rule) add(ruleset int) error {
	fd, err := unix.Open(r.path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	attr := binary.NativeEndian.AppendUint64(nil, r.right)
	attr = binary.NativeEndian.AppendUint32(attr, uint32(fd)) // packed
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr[0])), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
