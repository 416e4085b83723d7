// Package scope keeps a guest among its own, by Landlock (landlock(7)), as far as the kernel knows how.
//
// The kernel tells guests apart by the domain that a process inherits: it is made once, by the thread of art's that starts
// all programs of the guest, the first one and those that join it later. Were each to make one for itself, they could
// neither signal nor trace each other.
package scope

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

// Ruleset is a ruleset of the kernel's: its descriptor, or -1 if there is nothing to be enforced.
type Ruleset int

// names returns what version abi of Landlock can keep from a guest of that it can name without a file, from version 6 on,
// in Linux 6.12: abstract sockets, which belong to the network that it may share with the host, and signals, for which it
// has its own process ids anyway.
func names(abi int) (attr rulesetAttr) {
	if abi >= 6 {
		attr.scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return attr
}

// files returns what version abi can keep from a guest of that which has a path, from version 9 on, in Linux 7.1, and what
// it lets pass: sockets that were made outside, one that the host makes later too; but not those beneath the paths
// sockets. A ruleset that handles any right to files refuses to rename and to link from one directory to another, unless
// that is allowed, and to change mounts (landlock(7); security/landlock/fs.c, hook_sb_mount): a guest that mounts can
// therefore not have it, nor can the stage.
func files(abi int, mounts bool, sockets []string) (attr rulesetAttr, rules []rule) {
	if abi >= 9 && !mounts {
		attr.fs = unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX | unix.LANDLOCK_ACCESS_FS_REFER
		rules = append(rules, rule{unix.LANDLOCK_ACCESS_FS_REFER, "/"})
		for _, path := range sockets {
			rules = append(rules, rule{unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX, path})
		}
	}
	return attr, rules
}

// Thread keeps the calling thread, and what it starts, to the names of a domain of its own. There is no way back, and for
// no program of it to other rights (no_new_privs), without which it takes a capability.
func Thread() error {
	abi, err := version()
	attr := names(abi)
	if err != nil || attr == (rulesetAttr{}) {
		return err
	}
	set, err := attr.open(nil)
	if err == nil {
		defer set.Close()
		if err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err == nil {
			err = set.Restrict()
		}
	}
	if err != nil {
		return fmt.Errorf("scope the guest: %w", err)
	}
	return nil
}

// Files returns the ruleset for what the guest can name by a path.
func Files(mounts bool, sockets []string) (Ruleset, error) {
	abi, err := version()
	attr, rules := files(abi, mounts, sockets)
	if err != nil || attr == (rulesetAttr{}) {
		return -1, err
	}
	set, err := attr.open(rules)
	if err != nil {
		return -1, fmt.Errorf("scope the guest: %w", err)
	}
	return set, nil
}

// version returns that of Landlock, which is 0 on a kernel that has no such thing.
func version() (int, error) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch errno {
	case 0:
		return int(abi), nil
	case unix.ENOSYS, unix.EOPNOTSUPP: // not built, not enabled
		return 0, nil
	}
	return 0, fmt.Errorf("scope the guest: %w", errno)
}

// open returns a ruleset of the kernel's that has the rules.
func (attr *rulesetAttr) open(rules []rule) (Ruleset, error) {
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
	return Ruleset(fd), nil
}

// Restrict holds the calling thread to the ruleset. It must have no_new_privs.
func (set Ruleset) Restrict() error {
	if set < 0 {
		return nil
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(set), 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// Close closes it.
func (set Ruleset) Close() {
	if set >= 0 {
		unix.Close(int(set))
	}
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
