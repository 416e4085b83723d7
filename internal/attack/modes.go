package attack

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// modes are ways to leave a program on the host that runs with the caller's rights, whoever starts
// it. In overlay mode they change nothing but the database.
func modes() []Attempt {
	return area("modes of files in the workspace", []Attempt{
		{Name: "leave a program with the caller's rights", Only: Direct, try: onFile(func(path string) error {
			return unix.Chmod(path, unix.S_ISUID|0o700)
		})},
		{Name: "leave one with the rights of the caller's group", Only: Direct, try: onFile(func(path string) error {
			return unix.Chmod(path, unix.S_ISGID|0o710)
		})},
		{Name: "leave one through a descriptor", Only: Direct, try: onOpenFile(func(fd int) error {
			return unix.Fchmod(fd, unix.S_ISUID|0o700)
		})},
		{Name: "leave one by fchmodat2", Needs: Host, Only: Direct, try: onName(func(p *byte) error {
			return call(unix.SYS_FCHMODAT2, currentDir, uintptr(unsafe.Pointer(p)), unix.S_ISUID|0o700, unix.AT_SYMLINK_NOFOLLOW)
		})},
		{Name: "leave one with garbage in the mode", Only: Direct, try: onName(func(p *byte) error {
			return call(unix.SYS_FCHMODAT, currentDir, uintptr(unsafe.Pointer(p)), 0xdead<<32|unix.S_ISUID|0o700)
		})},
		{Name: "make a program with the caller's rights", Only: Direct, try: byOpening(unix.O_CREAT | unix.O_EXCL | unix.O_WRONLY)},
		{Name: "leave one in a writable mount", Needs: Host, try: inWritableMount},
		{Name: "make one by openat2", Needs: Host, Only: Direct, try: byOpenat2},
		{Name: "make one without a name", Needs: Host, Only: Direct, try: func(*Target) error {
			fd, err := unix.Open(".", unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, unix.S_ISUID|0o700)
			if err != nil {
				return err
			}
			return setUserID(fd)
		}},
		{Name: "make one as a device is made", Only: Direct, try: byMknod},
		{Name: "make one by io_uring", Needs: Host, Option: "io_uring", Only: Direct, try: ringOpen},
		{Name: "give a program capabilities", Needs: Root, Only: Direct, try: onFile(giveCapability)},
		{Name: "give one capabilities as root of a namespace", Needs: Host, Option: namespaces, Only: Direct, try: func(t *Target) error {
			return t.sub("capability", asRoot(unix.CLONE_NEWUSER))
		}},
		{Name: "have the kernel copy one for an overlay", Needs: Root, Option: namespaces, Only: Direct, try: func(t *Target) error {
			return t.sub("overlay", asRoot(unix.CLONE_NEWUSER|unix.CLONE_NEWNS))
		}},
		{Name: "leave a file that nobody can remove", Needs: Host, Only: Direct, try: onOpenFile(makeImmutable)},
		{Name: "leave one by file_setattr", Needs: Host, Only: Direct, try: onName(setImmutable)},
		{Name: "leave a directory that gives its group away", Only: Direct, try: func(*Target) error {
			path := own(".")
			if err := os.Mkdir(path, 0o700); err != nil {
				return err
			}
			defer os.Remove(path)
			return unix.Chmod(path, unix.S_ISGID|0o700)
		}},
	})
}

// writableMounts returns the directories that are of a file system of the host's, and may be
// written: the workspace in direct mode, and what the user's settings mount so.
func writableMounts() []string {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	var dirs []string
	for line := range strings.Lines(string(text)) {
		mount, fileSystem, _ := strings.Cut(line, " - ")
		fields := strings.Fields(mount)
		kind, _, _ := strings.Cut(fileSystem, " ")
		if len(fields) > 4 && !strings.HasPrefix(kind, "fuse") && kind != "tmpfs" && unix.Access(fields[4], unix.W_OK) == nil {
			dirs = append(dirs, fields[4])
		}
	}
	return dirs
}

// onFile makes a file in the workspace to try something with.
func onFile(try func(path string) error) func(*Target) error {
	return func(*Target) error {
		path := own(".")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			return err
		}
		defer os.Remove(path)
		return try(path)
	}
}

// onOpenFile is onFile with the file open.
func onOpenFile(try func(fd int) error) func(*Target) error {
	return onFile(func(path string) error {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return try(fd)
	})
}

// onName is onFile with the name as a call takes it, beside currentDir.
func onName(try func(name *byte) error) func(*Target) error {
	return onFile(func(path string) error {
		name, err := unix.BytePtrFromString(path)
		if err != nil {
			return err
		}
		return try(name)
	})
}

// currentDir is AT_FDCWD.
const currentDir = ^uintptr(99)

// byOpening makes a file that has the mode that open(2) was given.
func byOpening(flags int) func(*Target) error {
	return func(*Target) error {
		path := own(".")
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, unix.S_ISUID|0o700)
		if err != nil {
			return err
		}
		defer os.Remove(path)
		return setUserID(fd)
	}
}

// setUserID succeeds if the file is a program with its owner's rights, and closes it.
func setUserID(fd int) error {
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	return found(st.Mode&unix.S_ISUID != 0)
}

// giveCapability lets whoever executes the file change the owners of all files.
func giveCapability(path string) error {
	value := make([]byte, 20) // struct vfs_cap_data of revision 2
	binary.LittleEndian.PutUint32(value, 0x02000001)
	binary.LittleEndian.PutUint32(value[4:], 1<<unix.CAP_CHOWN)
	if err := unix.Setxattr(path, "security.capability", value, 0); err != nil {
		return fmt.Errorf("set its capabilities: %w", err)
	}
	return nil
}

// copyUp has overlayfs copy a set-user-ID program of the system into the workspace, which is
// writable there, without a call that sets its mode.
func copyUp() error {
	top, err := filepath.Abs(own("."))
	if err != nil {
		return err
	}
	for _, dir := range []string{"upper", "work", "merged"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o700); err != nil {
			return err
		}
	}
	defer os.RemoveAll(top)
	merged := filepath.Join(top, "merged")
	options := fmt.Sprintf("lowerdir=/usr/bin,upperdir=%[1]s/upper,workdir=%[1]s/work,userxattr", top)
	if err := unix.Mount("overlay", merged, "overlay", 0, options); err != nil {
		return err
	}
	defer unix.Unmount(merged, unix.MNT_DETACH)
	return any([]string{"su", "mount", "passwd"}, func(name string) error {
		if err := unix.UtimesNano(filepath.Join(merged, name), nil); err != nil {
			return err
		}
		info, err := os.Stat(filepath.Join(top, "upper", name))
		if err != nil {
			return err
		}
		return found(info.Mode()&os.ModeSetuid != 0)
	})
}

// makeImmutable makes a file one that nobody changes, and takes that back.
func makeImmutable(fd int) error {
	flags, err := unix.IoctlGetInt(fd, unix.FS_IOC_GETFLAGS)
	if err != nil {
		return err
	}
	if err := unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, flags|unix.STATX_ATTR_IMMUTABLE); err != nil {
		return err
	}
	return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, flags)
}

// setImmutable is makeImmutable by file_setattr(2).
func setImmutable(p *byte) error {
	set := func(flags uint64) error {
		attr := [3]uint64{flags} // struct file_attr
		return call(unix.SYS_FILE_SETATTR, currentDir, uintptr(unsafe.Pointer(p)), uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	}
	if err := set(0x8); err != nil { // FS_XFLAG_IMMUTABLE
		return err
	}
	return set(0)
}

// inWritableMount leaves a program with its owner's rights in one of the mounts that are written.
func inWritableMount(*Target) error {
	return any(writableMounts(), func(dir string) error {
		path := own(dir)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			return err
		}
		defer os.Remove(path)
		return unix.Chmod(path, unix.S_ISUID|0o700)
	})
}

// byOpenat2 makes such a program with a mode that is in memory.
func byOpenat2(*Target) error {
	path := own(".")
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags: unix.O_CREAT | unix.O_EXCL | unix.O_WRONLY | unix.O_CLOEXEC, Mode: unix.S_ISUID | 0o700})
	if err != nil {
		return err
	}
	defer os.Remove(path)
	return setUserID(fd)
}

// byMknod makes such a program by mknod(2).
func byMknod(*Target) error {
	path := own(".")
	if err := unix.Mknod(path, unix.S_IFREG|unix.S_ISUID|0o700, 0); err != nil {
		return err
	}
	defer os.Remove(path)
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return setUserID(fd)
}
