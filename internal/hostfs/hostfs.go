// Package hostfs is how art reads and changes files of the host that others, a guest among them, may change meanwhile, by
// names that nobody vouches for. It is the one place that calls openat2(2), and that turns what the kernel says of a file
// into a [inode.Attr], a [inode.Fingerprint] and extended attributes.
//
// [OpenAt] works on descriptors, for whoever holds many; [Open] and the others on an *os.File, which may have been opened
// with O_PATH. Errors name no path, since the caller's own text does. Everything may be called by several goroutines at once.
package hostfs

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// How a path is walked (openat2(2)). With each of them no symbolic link is followed, so neither a hostile name nor a
// directory that is exchanged for a link meanwhile leads elsewhere. A link at the end is an error, ELOOP, but with
// O_PATH and O_NOFOLLOW: these open the link itself.
const (
	// Beneath refuses to leave the directory, with EXDEV.
	Beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS
	// InRoot takes the directory for the root.
	InRoot = unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_SYMLINKS
	// NoSymlinks lets absolute paths and ".." lead out of the directory.
	NoSymlinks = unix.RESOLVE_NO_SYMLINKS
)

// OpenAt opens a path by the rules in resolve; 0: as open(2). A file that it makes (O_CREAT) is readable and writable
// by its owner only.
//
// It tries again when a signal came (EINTR), and when the kernel could not make sure that ".." stays below the
// directory, since something was renamed meanwhile, or, with O_NONBLOCK, another process has yet to give back its lease
// on the file (EAGAIN; fcntl(2), F_SETLEASE: that takes 45 seconds at most).
func OpenAt(dir int, path string, flags int, resolve uint64) (int, error) {
	how := unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Resolve: resolve}
	if flags&unix.O_CREAT != 0 {
		how.Mode = 0o600
	}
	for tries := 0; ; tries++ {
		fd, err := unix.Openat2(dir, path, &how)
		if err != unix.EINTR && err != unix.EAGAIN {
			return fd, err
		}
		if tries >= 16 {
			time.Sleep(time.Millisecond)
		}
	}
}

// Open opens a path below a directory by the rules of [Beneath].
func Open(d *os.File, rel string, flags int) (*os.File, error) {
	fd, err := OpenAt(int(d.Fd()), rel, flags|unix.O_NOFOLLOW, Beneath)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), rel), nil
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

// Readlink returns a symbolic link's target.
func Readlink(d *os.File, name string) (string, error) { return ReadlinkAt(int(d.Fd()), name) }

// ReadlinkAt is Readlink in a directory that is open as a descriptor.
func ReadlinkAt(dir int, name string) (string, error) {
	// The kernel takes no target of PATH_MAX bytes or more (symlink(2), ENAMETOOLONG).
	var buf [unix.PathMax]byte
	n, err := unix.Readlinkat(dir, name, buf[:])
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// Chmod sets the mode of an open object, which may have been opened with O_PATH: fchmod(2) does not take those.
func Chmod(f *os.File, mode uint32) error { return unix.Chmod(Path(f), mode) }

// Path leads to an open object itself.
func Path(f *os.File) string { return ProcPath(int(f.Fd())) }

// ProcPath leads to what is open as a descriptor, even where that is a symbolic link (proc_pid_fd(5)).
func ProcPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

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
