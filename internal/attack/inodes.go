package attack

import (
	"encoding/binary"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// What is changed here is only set to what it is already: the kernel asks for the same right.
func inodes() []Attempt {
	return area("inodes of the host", []Attempt{
		{Name: "change the mode of the sandbox's program", Needs: Host, try: func(*Target) error { return chmod(self) }},
		{Name: "change the times of the sandbox's program", Needs: Host, try: func(*Target) error { return touch(self) }},
		{Name: "leave an attribute on the sandbox's program", Needs: Host, try: func(*Target) error { return mark(self) }},
		{Name: "change the mode of the first process's program", Needs: Host, try: func(*Target) error { return chmod("/proc/1/exe") }},

		{Name: "change the mode of a device", Needs: Root, try: func(*Target) error { return any(devices, chmod) }},
		{Name: "change the times of a device", Needs: Root, try: func(*Target) error { return any(devices, touch) }},
		{Name: "set the owner of a device", Needs: Root, try: func(*Target) error { return any(devices, chown) }},
		{Name: "put an access list on a device", Needs: Host, try: func(*Target) error { return any(devices, acl) }},
		{Name: "change the mode of a standard stream", Needs: Root, try: stream(chmod)},
		{Name: "change the times of a standard stream", Needs: Root, try: stream(touch)},
		{Name: "change the mode of a file in /proc", Needs: Root, try: func(*Target) error { return any(inProc(), chmod) }},
		{Name: "change the owner of a file in /proc", Needs: Root, try: func(*Target) error { return any(inProc(), chown) }},
		// Where root allows namespaces, processes' own directories can be written, and have these.
		{Name: "change the mode of the network's files in /proc", Needs: Root, Option: namespaces, try: func(*Target) error {
			return any(glob("/proc/self/net/*"), chmod)
		}},
		{Name: "change the times of the network's files in /proc", Needs: Root, Option: namespaces, try: func(*Target) error {
			return any(glob("/proc/self/net/*"), touch)
		}},
		{Name: "change the mode of a directory in /proc", Needs: Root, try: func(*Target) error {
			return any([]string{"/proc/bus", "/proc/driver", "/proc/fs", "/proc/irq", "/proc/tty"}, chmod)
		}},
		{Name: "change the mode of a file in /sys", Needs: Root, try: func(*Target) error {
			return any(glob("/sys/kernel/*", "/sys/module/*/parameters/*"), chmod)
		}},
	})
}

// devices are what every process may use.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}

// inProc returns what in /proc is no process's.
func inProc() []string {
	return slices.DeleteFunc(glob("/proc/[a-z]*"), func(path string) bool {
		info, err := os.Lstat(path)
		return err != nil || info.Mode()&os.ModeSymlink != 0
	})
}

// stream succeeds with what a session was given as its standard input, where that is a device.
func stream(try func(path string) error) func(*Target) error {
	return func(*Target) error {
		const path = "/proc/self/fd/0"
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if info.Mode()&os.ModeCharDevice == 0 {
			return errNothing
		}
		return try(path)
	}
}

// chmod gives a file the mode that it has.
func chmod(path string) error {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return err
	}
	return unix.Chmod(path, st.Mode&0o7777)
}

// touch gives a file the times that it has.
func touch(path string) error {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return err
	}
	return unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{st.Atim, st.Mtim}, 0)
}

// chown gives a file the owner that it has.
func chown(path string) error {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return err
	}
	return unix.Chown(path, int(st.Uid), int(st.Gid))
}

// acl gives a file an access control list that says what its mode does, and which the kernel therefore keeps
// as that (acl(5); include/uapi/linux/posix_acl_xattr.h).
func acl(path string) error {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return err
	}
	list := binary.LittleEndian.AppendUint32(nil, 2)                                       // its version
	for _, entry := range []struct{ tag, shift uint16 }{{0x01, 6}, {0x04, 3}, {0x20, 0}} { // owner, group, others
		list = binary.LittleEndian.AppendUint16(list, entry.tag)
		list = binary.LittleEndian.AppendUint16(list, uint16(st.Mode)>>entry.shift&7)
		list = binary.LittleEndian.AppendUint32(list, ^uint32(0))
	}
	return unix.Setxattr(path, "system.posix_acl_access", list, 0)
}

// mark gives a file an attribute, for a moment.
func mark(path string) error {
	const name = "user.art-attack"
	if err := unix.Setxattr(path, name, nil, unix.XATTR_CREATE); err != nil {
		return err
	}
	return os.NewSyscallError("removexattr", unix.Removexattr(path, name))
}
