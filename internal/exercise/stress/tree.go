package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// treeName is the directory in which everyone does everything to everything.
const treeName = "tree"

// treeOperations work on few names, so that processes meet.
var treeOperations = []operation{
	{"create", 12, []syscall.Errno{unix.EEXIST, unix.EISDIR, unix.ENXIO}, (*worker).create},
	{"mkdir", 6, []syscall.Errno{unix.EEXIST}, (*worker).mkdir},
	{"mkfifo", 1, []syscall.Errno{unix.EEXIST}, (*worker).mkfifo},
	{"symlink", 3, []syscall.Errno{unix.EEXIST}, (*worker).symlink},
	{"link", 4, []syscall.Errno{unix.EEXIST, unix.EPERM}, (*worker).link},
	// EINVAL: a directory into itself. EBUSY is not one of them: nothing is mounted here.
	{"rename", 8, []syscall.Errno{unix.EISDIR, unix.ENOTEMPTY, unix.EEXIST, unix.EINVAL}, (*worker).rename},
	{"unlink", 8, []syscall.Errno{unix.EISDIR}, (*worker).unlink},
	{"rmdir", 3, []syscall.Errno{unix.ENOTEMPTY, unix.EEXIST}, (*worker).rmdir},
	{"write", 16, []syscall.Errno{unix.EISDIR, unix.ENXIO}, (*worker).write},
	{"truncate", 4, []syscall.Errno{unix.EISDIR, unix.EINVAL, unix.ENXIO}, (*worker).truncate},
	{"read", 6, []syscall.Errno{unix.EISDIR, unix.ENXIO}, (*worker).read},
	{"list", 4, nil, (*worker).list},
	{"stat", 6, nil, (*worker).stat},
	{"readlink", 1, []syscall.Errno{unix.EINVAL}, (*worker).readlink},
	{"chmod", 3, nil, (*worker).chmod},
	{"set times", 3, nil, (*worker).utimes},
	{"xattr", 2, []syscall.Errno{unix.ENODATA, unix.EPERM}, (*worker).xattr},
	{"sync", 1, []syscall.Errno{unix.EISDIR, unix.ENXIO}, (*worker).sync},
}

// somewhere is a path in the tree, one to three names deep.
func (w *worker) somewhere() string {
	path := w.at(treeName)
	for range 1 + w.rng.IntN(3) {
		path += fmt.Sprintf("/n%d", w.rng.IntN(10))
	}
	return path
}

func (w *worker) short(path string) string { return strings.TrimPrefix(path, w.Dir+"/") }

// open opens a regular file of the tree; anything else is ENXIO. It never waits for a pipe's other end.
func (w *worker) open(path string, flags int) (int, error) {
	fd, err := unix.Open(path, flags|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("fstat of an open file: %v", err) // whatever its name has become
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		unix.Close(fd)
		return -1, unix.ENXIO
	}
	return fd, nil
}

func (w *worker) create() error {
	path := w.somewhere()
	flags := unix.O_RDWR | unix.O_CREAT
	switch w.rng.IntN(4) {
	case 0:
		flags |= unix.O_EXCL
	case 1:
		flags |= unix.O_TRUNC
	}
	w.journal.Note("create %s, flags %#x", w.short(path), flags)
	fd, err := w.open(path, flags)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return w.writeSlots(fd)
}

func (w *worker) mkdir() error {
	path := w.somewhere()
	w.journal.Note("mkdir %s", w.short(path))
	return unix.Mkdir(path, 0o755)
}

func (w *worker) mkfifo() error {
	path := w.somewhere()
	w.journal.Note("mkfifo %s", w.short(path))
	return unix.Mkfifo(path, 0o644)
}

func (w *worker) symlink() error {
	target, path := fmt.Sprintf("n%d", w.rng.IntN(10)), w.somewhere()
	if w.rng.IntN(2) == 0 {
		target = "../" + target
	}
	w.journal.Note("symlink %s to %s", w.short(path), target)
	return unix.Symlink(target, path)
}

func (w *worker) link() error {
	from, to := w.somewhere(), w.somewhere()
	w.journal.Note("link %s to %s", w.short(from), w.short(to))
	return unix.Link(from, to)
}

func (w *worker) rename() error {
	from, to := w.somewhere(), w.somewhere()
	w.journal.Note("rename %s to %s", w.short(from), w.short(to))
	return unix.Rename(from, to)
}

func (w *worker) unlink() error {
	path := w.somewhere()
	w.journal.Note("unlink %s", w.short(path))
	return unix.Unlink(path)
}

func (w *worker) rmdir() error {
	path := w.somewhere()
	w.journal.Note("rmdir %s", w.short(path))
	return unix.Rmdir(path)
}

func (w *worker) write() error {
	path := w.somewhere()
	w.journal.Note("write %s", w.short(path))
	fd, err := w.open(path, unix.O_RDWR)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return w.writeSlots(fd)
}

func (w *worker) truncate() error {
	path, slots := w.somewhere(), w.rng.Int64N(maxSlots)
	w.journal.Note("truncate %s to %d slots", w.short(path), slots)
	return unix.Truncate(path, slots*slotSize)
}

func (w *worker) read() error {
	path := w.somewhere()
	w.journal.Note("read %s", w.short(path))
	fd, err := w.open(path, unix.O_RDONLY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	buf := make([]byte, maxSlots*slotSize)
	if _, err := unix.Pread(fd, buf, 0); err != nil {
		return fmt.Errorf("read of an open file: %v", err)
	}
	return nil
}

func (w *worker) list() error {
	path := w.somewhere()
	w.journal.Note("list %s", w.short(path))
	ents, err := list(path)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, e := range ents {
		if seen[e.name] {
			return fmt.Errorf("%s lists %q twice", w.short(path), e.name)
		}
		seen[e.name] = true
	}
	return nil
}

func (w *worker) stat() error {
	path := w.somewhere()
	w.journal.Note("stat %s", w.short(path))
	var st unix.Stat_t
	return unix.Lstat(path, &st)
}

func (w *worker) readlink() error {
	path := w.somewhere()
	w.journal.Note("readlink %s", w.short(path))
	_, err := unix.Readlink(path, make([]byte, 100))
	return err
}

func (w *worker) chmod() error {
	path, mode := w.somewhere(), uint32(0o700|w.rng.IntN(0o100))
	w.journal.Note("chmod %s to %#o", w.short(path), mode)
	return unix.Chmod(path, mode)
}

func (w *worker) utimes() error {
	path := w.somewhere()
	w.journal.Note("set times of %s", w.short(path))
	at := unix.Timespec{Sec: time.Now().Unix() - w.rng.Int64N(1000), Nsec: w.rng.Int64N(1e9)}
	return unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{at, at}, 0)
}

func (w *worker) xattr() error {
	path, name := w.somewhere(), fmt.Sprintf("user.a%d", w.rng.IntN(3))
	w.journal.Note("attribute %s of %s", name, w.short(path))
	switch w.rng.IntN(3) {
	case 0:
		return unix.Removexattr(path, name)
	case 1:
		_, err := unix.Getxattr(path, name, make([]byte, 100))
		return err
	}
	return unix.Setxattr(path, name, []byte(w.id()), 0)
}

func (w *worker) sync() error {
	path := w.somewhere()
	w.journal.Note("sync %s", w.short(path))
	fd, err := w.open(path, os.O_RDWR)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Fsync(fd)
}
