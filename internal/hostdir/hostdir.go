// Package hostdir works in a directory of the host that others may change meanwhile, by names that nobody vouches for:
// no symbolic link is followed, and nothing outside is reached.
package hostdir

import (
	"errors"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// Open opens a path below a directory. The kernel refuses to leave the tree and to follow any symbolic link on the
// way (openat2(2), RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS), so neither a hostile name nor a directory that is
// exchanged for a link while we work leads outside.
func Open(d *os.File, rel string, flags int) (*os.File, error) {
	for {
		fd, err := unix.Openat2(int(d.Fd()), rel, &unix.OpenHow{
			Flags:   uint64(flags | unix.O_CLOEXEC | unix.O_NOFOLLOW),
			Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
		})
		switch err {
		case nil:
			return os.NewFile(uintptr(fd), rel), nil
		case unix.EAGAIN, unix.EINTR: // a rename elsewhere in the system disturbs the check that the path stays below
		default:
			return nil, err
		}
	}
}

// Create makes a file that is not there yet.
func Create(d *os.File, name string, mode uint32) (*os.File, error) {
	fd, err := unix.Openat(int(d.Fd()), name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// Names returns the names in an open directory, sorted, so that two runs say the same; with an error, those that could
// be read.
func Names(d *os.File) ([]string, error) {
	names, err := d.Readdirnames(-1)
	slices.Sort(names)
	return names, Unwrap(err)
}

// Stat returns the attributes of an open object.
func Stat(f *os.File) (st unix.Stat_t, err error) {
	err = unix.Fstat(int(f.Fd()), &st)
	return st, err
}

// StatAt returns the attributes of a directory's entry; a symbolic link's own.
func StatAt(d *os.File, name string) (st unix.Stat_t, err error) {
	err = unix.Fstatat(int(d.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return st, err
}

// Readlink returns a symbolic link's target.
func Readlink(d *os.File, name string) (string, error) {
	// The kernel takes no target of PATH_MAX bytes or more (symlink(2), ENAMETOOLONG).
	var buf [unix.PathMax]byte
	n, err := unix.Readlinkat(int(d.Fd()), name, buf[:])
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// Chmod sets the mode of an open object, which may have been opened with O_PATH: fchmod(2) does not take those.
func Chmod(f *os.File, mode uint32) error { return unix.Chmod(Path(f), mode) }

// Path leads to an open object itself (proc(5), /proc/pid/fd).
func Path(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }

// Unwrap takes the path and the system call's name off an error: the caller's own text names the path.
func Unwrap(err error) error {
	var pe *os.PathError
	var se *os.SyscallError
	switch {
	case errors.As(err, &pe):
		return pe.Err
	case errors.As(err, &se):
		return se.Err
	}
	return err
}

// SetTimes sets access and modification time of an open object, which may have been opened with O_PATH.
func SetTimes(f *os.File, times []unix.Timespec) error {
	return unix.UtimesNanoAt(unix.AT_FDCWD, Path(f), times, 0)
}

// KindName says what an object with a mode is.
func KindName(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return "directory"
	case unix.S_IFREG:
		return "file"
	case unix.S_IFLNK:
		return "symbolic link"
	case unix.S_IFSOCK:
		return "socket"
	case unix.S_IFIFO:
		return "named pipe"
	case unix.S_IFBLK, unix.S_IFCHR:
		return "device"
	}
	return "thing of an unknown kind"
}
