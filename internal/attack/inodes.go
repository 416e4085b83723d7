package attack

import (
	"os"

	"golang.org/x/sys/unix"
)

// What is changed here is only set to what it is already: the kernel asks for the same right.
var inodes = []Attempt{
	{Name: "change the mode of the sandbox's program", Needs: Host, try: func(*Target) error { return chmod(self) }},
	{Name: "change the times of the sandbox's program", Needs: Host, try: func(*Target) error { return touch(self) }},
	{Name: "leave an attribute on the sandbox's program", Needs: Host, try: func(*Target) error { return mark(self) }},
	{Name: "change the mode of the first process's program", Needs: Host, try: func(*Target) error { return chmod("/proc/1/exe") }},
}

func init() { area("inodes of the host", inodes) }

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

// mark gives a file an attribute, for a moment.
func mark(path string) error {
	const name = "user.art-attack"
	if err := unix.Setxattr(path, name, nil, unix.XATTR_CREATE); err != nil {
		return err
	}
	return os.NewSyscallError("removexattr", unix.Removexattr(path, name))
}
