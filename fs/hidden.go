package fs

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
)

// hidden is what a host tree leaves out, with all that lies below it: by its path, whatever the host
// puts there, and by its inode, wherever the host moves it. Of some directories it leaves out all but
// a part.
type hidden struct {
	paths   map[string]bool      // below the tree's root
	in      map[string]bool      // directories of these, and of what is not shown of parts
	objects map[[2]uint64]string // device and inode, with the only path that shows it; "": none does
	pins    []int                // O_PATH descriptors of these, or their numbers would go to others
	dirs    []hiddenDir
	parts   map[string]bool // directories in the tree's root of which only a part is shown
	shown   map[string]bool // that part: files, and directories on the way to them
	only    map[string]bool // all that is shown of the whole tree; nil: everything
}

// hiddenDir is a hidden directory that was there when it was hidden.
type hiddenDir struct {
	path   string // below above, if there is one, or the tree's root; absolute outside of it
	above  *hiddenDir
	object [2]uint64
	pin    int
}

func newHidden() hidden {
	return hidden{
		paths: map[string]bool{}, in: map[string]bool{}, objects: map[[2]uint64]string{},
		parts: map[string]bool{}, shown: map[string]bool{},
	}
}

// add hides a file or a directory, which need not be there, and what SQLite keeps beside it. dir is the
// tree's root.
func (h *hidden) add(dir, file string) error {
	named, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	file = named
	if real, err := filepath.EvalSymlinks(named); err == nil {
		file = real
	}
	rel, err := filepath.Rel(dir, file)
	inside := err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
	if pin, err := unix.Open(file, unix.O_PATH|unix.O_CLOEXEC, 0); err == nil {
		h.pins = append(h.pins, pin)
		var st unix.Stat_t
		if err := unix.Fstat(pin, &st); err != nil {
			return &os.PathError{Op: "stat", Path: file, Err: err}
		}
		h.objects[[2]uint64{st.Dev, st.Ino}] = ""
		if st.Mode&unix.S_IFMT == unix.S_IFDIR {
			place := file
			if inside {
				place = rel
			}
			h.dirs = append(h.dirs, hiddenDir{path: place, object: [2]uint64{st.Dev, st.Ino}, pin: pin})
		}
	} else if !unreachable(err) {
		return &os.PathError{Op: "open", Path: file, Err: err}
	}
	// A link has its own name, under which the host may put something else.
	if at, err := filepath.EvalSymlinks(filepath.Dir(named)); err == nil {
		if link, err := filepath.Rel(dir, filepath.Join(at, filepath.Base(named))); err == nil {
			h.paths[link] = true
			h.in[filepath.Dir(link)] = true
		}
	}
	if inside {
		for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
			h.paths[rel+suffix] = true
		}
		h.in[filepath.Dir(rel)] = true
	}
	return nil
}

// showOnly shows, of a directory in the tree's root that holds some of the files, nothing but these,
// which need not be there. What is hidden otherwise stays so. root is the tree's.
func (h *hidden) showOnly(root int, files []string) error {
	for _, file := range files {
		top, _, below := strings.Cut(file, "/")
		if !below || !filepath.IsLocal(file) || filepath.Clean(file) != file {
			return &os.PathError{Op: "show", Path: file, Err: syscall.EINVAL}
		}
		h.parts[top], h.shown[file] = true, true
		for i := range len(file) {
			if file[i] != '/' || h.shown[file[:i]] {
				continue
			}
			h.shown[file[:i]], h.in[file[:i]] = true, true
			if err := h.pinShown(root, file[:i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// unreachable tells whether an error says that there is nothing, or nothing that this process gets at: any other may
// be of the moment, and what could not be pinned would show.
func unreachable(err error) bool {
	return oneOf(err, unix.ENOENT, unix.ENOTDIR, unix.EACCES, unix.ELOOP)
}

// oneOf tells whether an error is one of those.
func oneOf(err error, list ...syscall.Errno) bool {
	errno, ok := errors.AsType[syscall.Errno](err)
	return ok && slices.Contains(list, errno)
}

// pinShown has a directory of which only a part is shown show nothing where the host may
// move it. One that comes later is known by its path.
func (h *hidden) pinShown(root int, path string) error {
	var above *hiddenDir
	name := path
	if cut := strings.LastIndexByte(path, '/'); cut >= 0 {
		i := slices.IndexFunc(h.dirs, func(d hiddenDir) bool { return h.objects[d.object] == path[:cut] })
		if i < 0 {
			return nil // what is above is not there, or hidden as a whole
		}
		parent := h.dirs[i]
		above, root, name = &parent, parent.pin, path[cut+1:]
	}
	pin, err := unix.Openat(root, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if unreachable(err) {
		return nil
	}
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	h.pins = append(h.pins, pin)
	var st unix.Stat_t
	if err := unix.Fstat(pin, &st); err != nil {
		return &os.PathError{Op: "stat", Path: path, Err: err}
	}
	object := [2]uint64{st.Dev, st.Ino}
	if _, hidden := h.objects[object]; !hidden {
		h.objects[object] = path
		h.dirs = append(h.dirs, hiddenDir{path: name, above: above, object: object, pin: pin})
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
	if h.apart(path) || h.left(path) {
		return true
	}
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

// left tells whether a path is left out of a tree of which only some paths are shown.
func (h *hidden) left(path string) bool { return h.only != nil && path != "." && !h.only[path] }

// apart tells whether a path lies in a directory of which only a part is shown, and not in that.
func (h *hidden) apart(path string) bool {
	top, _, below := strings.Cut(path, "/")
	return below && h.parts[top] && !h.shown[path]
}

// entry tells whether a path is hidden in a directory that is not.
func (h *hidden) entry(path string) bool { return h.paths[path] || h.apart(path) || h.left(path) }

// part tells whether only a part is shown of a directory.
func (h *hidden) part(path string) bool { return h.shown[path] && h.in[path] }

// moved tells whether a hidden directory is no longer found where it was: then it may be anywhere, and
// what lies below it is not known by its path. A directory has one place only. root is the tree's.
func (h *hidden) moved(root int) bool {
	return slices.ContainsFunc(h.dirs, func(d hiddenDir) bool { return !d.isAt(root) && !d.isGone() })
}

// isAt tells whether the directory is where it was. The way there is as of every path, or it could be
// elsewhere, and a link in its place.
func (d *hiddenDir) isAt(root int) bool {
	var st unix.Stat_t
	if d.above != nil {
		root = d.above.pin
	}
	if !strings.Contains(d.path, "/") { // one call, as each lookup in the base waits for it
		err := unix.Fstatat(root, d.path, &st, unix.AT_SYMLINK_NOFOLLOW)
		return err == nil && d.object == [2]uint64{st.Dev, st.Ino}
	}
	fd, err := hostfs.OpenAt(root, d.path, unix.O_PATH|unix.O_NOFOLLOW, hostfs.NoSymlinks)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return unix.Fstat(fd, &st) == nil && d.object == [2]uint64{st.Dev, st.Ino}
}

// isGone tells whether the directory has been removed.
func (d *hiddenDir) isGone() bool {
	var st unix.Stat_t
	return unix.Fstat(d.pin, &st) == nil && st.Nlink == 0
}

// object tells whether an inode is hidden under a name in a directory.
func (h *hidden) object(dev, ino uint64, dir, name string) bool {
	at, ok := h.objects[[2]uint64{dev, ino}]
	return ok && (at == "" || at != join(dir, name))
}

// check returns an error if what is open as fd is hidden under its path, and closes it.
func (h *hidden) check(fd int, path string) error {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	if err == nil && h.object(st.Dev, st.Ino, ".", path) {
		err = syscall.ENOENT
	}
	if err != nil {
		unix.Close(fd)
	}
	return err
}
