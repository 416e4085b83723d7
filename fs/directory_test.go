package fs

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
)

// tree is what a program can do to a tree of files. Paths are relative to the root, whose own path
// is ""; symbolic links are never followed. Errors are syscall.Errno.
type tree interface {
	lstat(path string) (Entry, error)
	readlink(path string) (string, error)
	open(path string, flags int, mode uint32) (treeFile, error)
	// tmpfile makes a file without a name for a directory.
	tmpfile(dir string, mode uint32) (treeFile, error)
	mknod(path string, mode uint32) error
	mkdir(path string, mode uint32) error
	symlink(target, path string) error
	link(from, to string) error
	unlink(path string) error
	rmdir(path string) error
	rename(from, to string) error
	renameWith(from, to string, flags uint32) error
	setattr(path string, set SetAttr) error
	// readdir lists a directory, "." and ".." included, in portions of about n entries; after each
	// it calls pause with all that has come so far. Entries need not carry attributes.
	readdir(path string, n int, pause func([]DirEntry)) ([]DirEntry, error)
	sync() error
}

// treeFile is an open file of a tree.
type treeFile interface {
	ReadAt(p []byte, off int64) (int, error)
	WriteAt(p []byte, off int64) error
	truncate(size int64) error
	seek(off int64, hole bool) (int64, error)
	stat() (Entry, error)
	// link gives the file a name in the tree that it is of.
	link(t tree, path string) error
	Release()
}

// directory is a tree that the kernel itself serves.
type directory string

var _ tree = directory("")

func (d directory) at(path string) string { return filepath.Join(string(d), path) }

func statEntry(st *unix.Stat_t, err error) (Entry, error) {
	if err != nil {
		return Entry{}, err
	}
	return Entry{Ino: Ino(st.Ino), Attr: hostfs.Attr(st)}, nil
}

func (d directory) lstat(path string) (Entry, error) {
	var st unix.Stat_t
	err := unix.Lstat(d.at(path), &st)
	return statEntry(&st, err)
}

func (d directory) readlink(path string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlink(d.at(path), buf)
	return string(buf[:max(n, 0)]), err
}

func (d directory) open(path string, flags int, mode uint32) (treeFile, error) {
	fd, err := unix.Open(d.at(path), flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	return descriptor(fd), err
}

func (d directory) tmpfile(dir string, mode uint32) (treeFile, error) {
	fd, err := unix.Open(d.at(dir), unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, mode)
	return descriptor(fd), err
}

func (d directory) mknod(path string, mode uint32) error { return unix.Mknod(d.at(path), mode, 0) }
func (d directory) mkdir(path string, mode uint32) error { return unix.Mkdir(d.at(path), mode) }
func (d directory) symlink(target, path string) error    { return unix.Symlink(target, d.at(path)) }
func (d directory) link(from, to string) error           { return unix.Link(d.at(from), d.at(to)) }
func (d directory) unlink(path string) error             { return unix.Unlink(d.at(path)) }
func (d directory) rmdir(path string) error              { return unix.Rmdir(d.at(path)) }
func (d directory) rename(from, to string) error         { return unix.Rename(d.at(from), d.at(to)) }

func (d directory) renameWith(from, to string, flags uint32) error {
	return unix.Renameat2(unix.AT_FDCWD, d.at(from), unix.AT_FDCWD, d.at(to), uint(flags))
}

func (d directory) setattr(path string, set SetAttr) error {
	path = d.at(path)
	if set.Mode != nil {
		return unix.Chmod(path, *set.Mode)
	}
	if set.UID != nil {
		return unix.Lchown(path, int(*set.UID), int(*set.GID))
	}
	return unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{
		{Sec: set.Atime.Sec, Nsec: int64(set.Atime.Nsec)},
		{Sec: set.Mtime.Sec, Nsec: int64(set.Mtime.Nsec)},
	}, unix.AT_SYMLINK_NOFOLLOW)
}

func (d directory) readdir(path string, n int, pause func([]DirEntry)) ([]DirEntry, error) {
	fd, err := unix.Open(d.at(path), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	const largest = 280 // bytes of an entry
	buf := make([]byte, n*largest)
	var all []DirEntry
	for {
		size, err := unix.Getdents(fd, buf)
		if err != nil || size == 0 {
			return all, err
		}
		// struct linux_dirent64 of getdents(2): ino 8, off 8, reclen 2, type 1, name.
		for b := buf[:size]; len(b) > 0; {
			reclen := binary.NativeEndian.Uint16(b[16:])
			name, _, _ := strings.Cut(string(b[19:reclen]), "\x00")
			all = append(all, DirEntry{Name: name, Ino: Ino(binary.NativeEndian.Uint64(b)), Mode: uint32(b[18]) << 12})
			b = b[reclen:]
		}
		pause(all)
	}
}

func (d directory) sync() error {
	f, err := os.Open(string(d))
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// descriptor is an open file of the kernel's.
type descriptor int

var _ treeFile = descriptor(0)

func (d descriptor) ReadAt(p []byte, off int64) (int, error) { return unix.Pread(int(d), p, off) }

func (d descriptor) WriteAt(p []byte, off int64) error {
	for len(p) > 0 {
		n, err := unix.Pwrite(int(d), p, off)
		if err != nil && err != syscall.EINTR {
			return err
		}
		p, off = p[max(n, 0):], off+int64(max(n, 0))
	}
	return nil
}

func (d descriptor) truncate(size int64) error { return unix.Ftruncate(int(d), size) }

func (d descriptor) seek(off int64, hole bool) (int64, error) {
	whence := unix.SEEK_DATA
	if hole {
		whence = unix.SEEK_HOLE
	}
	return unix.Seek(int(d), off, whence)
}

func (d descriptor) link(t tree, path string) error {
	to := t.(interface{ at(string) string }).at(path)
	return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", d), unix.AT_FDCWD, to, unix.AT_SYMLINK_FOLLOW)
}

func (d descriptor) Release() { unix.Close(int(d)) }

func (d descriptor) stat() (Entry, error) {
	var st unix.Stat_t
	err := unix.Fstat(int(d), &st)
	return statEntry(&st, err)
}
