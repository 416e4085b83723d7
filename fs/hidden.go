package fs

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// hidden is what a host tree leaves out, with all that lies below it: by its path, whatever the host
// puts there, and by its inode, wherever the host moves it.
type hidden struct {
	paths     map[string]bool    // below the tree's root
	in        map[string]bool    // directories of these
	objects   map[[2]uint64]bool // device and inode
	pins      []int              // O_PATH descriptors of these, or their numbers would go to others
	directory bool               // one of them is a directory
}

func newHidden() hidden {
	return hidden{paths: map[string]bool{}, in: map[string]bool{}, objects: map[[2]uint64]bool{}}
}

// add hides a file or a directory, which need not be there, and what SQLite keeps beside it. dir is the
// tree's root.
func (h *hidden) add(dir, file string) error {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	file, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	if pin, err := unix.Open(file, unix.O_PATH|unix.O_CLOEXEC, 0); err == nil {
		h.pins = append(h.pins, pin)
		var st unix.Stat_t
		if err := unix.Fstat(pin, &st); err != nil {
			return &os.PathError{Op: "stat", Path: file, Err: err}
		}
		h.objects[[2]uint64{st.Dev, st.Ino}] = true
		h.directory = h.directory || st.Mode&unix.S_IFMT == unix.S_IFDIR
	}
	if rel, err := filepath.Rel(dir, file); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
		for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
			h.paths[rel+suffix] = true
		}
		h.in[filepath.Dir(rel)] = true
	}
	return nil
}

func (h *hidden) close() {
	for _, pin := range h.pins {
		unix.Close(pin)
	}
}

// path tells whether a path is hidden, or lies below what is.
func (h *hidden) path(path string) bool {
	if len(h.paths) == 0 {
		return false
	}
	for i := range len(path) {
		if path[i] == '/' && h.paths[path[:i]] {
			return true
		}
	}
	return h.paths[path] || h.paths["."]
}

// object tells whether an inode is hidden.
func (h *hidden) object(dev, ino uint64) bool { return h.objects[[2]uint64{dev, ino}] }

// check returns an error if what is open as fd is hidden, and closes it.
func (h *hidden) check(fd int) error {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	if err == nil && h.object(st.Dev, st.Ino) {
		err = syscall.ENOENT
	}
	if err != nil {
		unix.Close(fd)
	}
	return err
}
