package main

import (
	"fmt"
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
	{"mkdir", 6, []syscall.Errno{unix.EEXIST}, on("mkdir", func(path string) error { return unix.Mkdir(path, 0o755) })},
	{"mkfifo", 1, []syscall.Errno{unix.EEXIST}, on("mkfifo", func(path string) error { return unix.Mkfifo(path, 0o644) })},
	{"symlink", 3, []syscall.Errno{unix.EEXIST}, (*worker).symlink},
	{"link", 4, []syscall.Errno{unix.EEXIST, unix.EPERM}, onTwo("link", unix.Link)},
	// EINVAL: a directory into itself. EBUSY is not one of them: nothing is mounted here.
	{"rename", 8, []syscall.Errno{unix.EISDIR, unix.ENOTEMPTY, unix.EEXIST, unix.EINVAL}, onTwo("rename", unix.Rename)},
	{"unlink", 8, []syscall.Errno{unix.EISDIR}, on("unlink", unix.Unlink)},
	{"rmdir", 3, []syscall.Errno{unix.ENOTEMPTY, unix.EEXIST}, on("rmdir", unix.Rmdir)},
	{"write", 16, []syscall.Errno{unix.EISDIR, unix.ENXIO}, onFile("write", unix.O_RDWR, (*worker).writeSlots)},
	{"truncate", 4, []syscall.Errno{unix.EISDIR, unix.EINVAL, unix.ENXIO}, (*worker).truncate},
	{"read", 6, []syscall.Errno{unix.EISDIR, unix.ENXIO}, onFile("read", unix.O_RDONLY, (*worker).readSlots)},
	{"list", 4, nil, on("list", listsEachOnce)},
	{"stat", 6, nil, on("stat", func(path string) error { return unix.Lstat(path, new(unix.Stat_t)) })},
	{"readlink", 1, []syscall.Errno{unix.EINVAL}, on("readlink", func(path string) error {
		_, err := unix.Readlink(path, make([]byte, 100))
		return err
	})},
	{"chmod", 3, nil, (*worker).chmod},
	{"set times", 3, nil, (*worker).utimes},
	{"xattr", 2, []syscall.Errno{unix.ENODATA, unix.EPERM}, (*worker).xattr},
	{"sync", 1, []syscall.Errno{unix.EISDIR, unix.ENXIO}, onFile("sync", unix.O_RDWR, func(_ *worker, fd int) error { return unix.Fsync(fd) })},
}

// on is an operation on a path somewhere in the tree.
func on(name string, do func(path string) error) func(*worker) error {
	return func(w *worker) error { return do(w.somewhere(name)) }
}

func onTwo(name string, do func(from, to string) error) func(*worker) error {
	return func(w *worker) error { return do(w.somewhere(name), w.somewhere(name+" to")) }
}

// onFile is an operation on a regular file of the tree.
func onFile(name string, flags int, do func(w *worker, fd int) error) func(*worker) error {
	return func(w *worker) error { return w.withFile(w.somewhere(name), flags, do) }
}

// somewhere is a path in the tree, one to three names deep, which is noted with what is to be done there.
func (w *worker) somewhere(what string) string {
	path := w.at(treeName)
	for range 1 + w.rng.IntN(3) {
		path += fmt.Sprintf("/n%d", w.rng.IntN(10))
	}
	w.journal.Note("%s %s", what, w.short(path))
	return path
}

func (w *worker) short(path string) string { return strings.TrimPrefix(path, w.Dir+"/") }

// withFile opens a regular file of the tree; anything else is ENXIO. It never waits for a pipe's other end.
func (w *worker) withFile(path string, flags int, do func(w *worker, fd int) error) error {
	fd, err := unix.Open(path, flags|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("fstat of an open file: %v", err) // whatever its name has become
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return unix.ENXIO
	}
	return do(w, fd)
}

func (w *worker) create() error {
	flags := unix.O_RDWR | unix.O_CREAT
	switch w.rng.IntN(4) {
	case 0:
		flags |= unix.O_EXCL
	case 1:
		flags |= unix.O_TRUNC
	}
	return w.withFile(w.somewhere(fmt.Sprintf("create with flags %#x", flags)), flags, (*worker).writeSlots)
}

func (w *worker) symlink() error {
	target := fmt.Sprintf("n%d", w.rng.IntN(10))
	if w.rng.IntN(2) == 0 {
		target = "../" + target
	}
	return unix.Symlink(target, w.somewhere("symlink to "+target+" at"))
}

func (w *worker) truncate() error {
	slots := w.rng.Int64N(maxSlots)
	return unix.Truncate(w.somewhere(fmt.Sprintf("truncate to %d slots:", slots)), slots*slotSize)
}

func (w *worker) readSlots(fd int) error {
	if _, err := unix.Pread(fd, make([]byte, maxSlots*slotSize), 0); err != nil {
		return fmt.Errorf("read of an open file: %v", err)
	}
	return nil
}

func listsEachOnce(path string) error {
	ents, err := list(path)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, e := range ents {
		if seen[e.name] {
			return fmt.Errorf("%s lists %q twice", path, e.name)
		}
		seen[e.name] = true
	}
	return nil
}

func (w *worker) chmod() error {
	mode := uint32(0o700 | w.rng.IntN(0o100))
	return unix.Chmod(w.somewhere(fmt.Sprintf("chmod to %#o:", mode)), mode)
}

func (w *worker) utimes() error {
	at := unix.Timespec{Sec: time.Now().Unix() - w.rng.Int64N(1000), Nsec: w.rng.Int64N(1e9)}
	return unix.UtimesNanoAt(unix.AT_FDCWD, w.somewhere("set times of"), []unix.Timespec{at, at}, 0)
}

func (w *worker) xattr() error {
	name := fmt.Sprintf("user.a%d", w.rng.IntN(3))
	path := w.somewhere("attribute " + name + " of")
	switch w.rng.IntN(3) {
	case 0:
		return unix.Removexattr(path, name)
	case 1:
		_, err := unix.Getxattr(path, name, make([]byte, 100))
		return err
	}
	return unix.Setxattr(path, name, []byte(w.id()), 0)
}
