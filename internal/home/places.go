package home

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/hostfs"
)

// What is mounted in a home needs a mount point there, which a guest of root's cannot make: in a mount that maps ids,
// the stage's own id is nobody's. Other guests see it: an empty file, or a directory with nothing but one of a name that
// says what it is. None of it may be written, so that `rm -r` leaves it there: with a mount point, the mount of another
// session goes (fs/namespace.c, __detach_mounts).

// inUse is in each directory that is a mount point.
const inUse = ".used-by-a-session-of-art"

// maxPlaces bounds the list of mount points that is read back, in bytes.
const maxPlaces = 1 << 20

// Place makes a mount point at a path in the home, if there is nothing yet. It says whether what is there holds
// anything, which is not seen while something is mounted on it.
func (h *Home) Place(path string, directory bool) (covers bool, err error) {
	fail := func(err error) (bool, error) {
		return false, hinted(fmt.Errorf("mount on %s: %w", filepath.Join(h.Path, path), err))
	}
	parts := strings.Split(path, "/")
	for i := range parts {
		last := i == len(parts)-1
		if err := h.make(parts[:i+1], directory || !last, last); err != nil {
			return fail(err)
		}
	}
	flags := unix.O_PATH
	if directory {
		flags = unix.O_RDONLY | unix.O_DIRECTORY
	}
	f, err := hostfs.Open(h.dir, path, flags)
	if err != nil {
		return fail(err)
	}
	defer f.Close()
	if !directory {
		st, err := hostfs.Stat(f)
		switch {
		case err != nil:
			return fail(err)
		case st.Mode&unix.S_IFMT == unix.S_IFDIR:
			return fail(errors.New("there is a directory in its place"))
		case st.Mode&unix.S_IFMT == unix.S_IFLNK:
			return fail(unix.ELOOP)
		}
		return st.Size > 0, nil
	}
	names, err := f.Readdirnames(2)
	return err == nil && !slices.Equal(names, []string{inUse}), nil
}

// PlaceFile makes the directories for a file at a path in the home, and has put do the rest.
func (h *Home) PlaceFile(path string, put func() error) error {
	parts := strings.Split(path, "/")
	for i := 1; i < len(parts); i++ {
		if err := h.make(parts[:i], true, false); err != nil {
			return hinted(err)
		}
	}
	return hinted(put())
}

// hinted says what to do where something cannot be placed in a home.
func hinted(err error) error {
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) { // which of the two a link is depends on the flags
		return cli.WithHint(err, "a guest has put a link or a file there: remove it, if this home does not need it")
	}
	return withRoom(err)
}

// make makes a directory or an empty file of a path if there is nothing, and writes that down first.
func (h *Home) make(parts []string, directory, last bool) error {
	path, name := strings.Join(parts, "/"), parts[len(parts)-1]
	parent, err := hostfs.Open(h.dir, filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer parent.Close()
	if _, err := hostfs.StatAt(parent, name); !errors.Is(err, unix.ENOENT) {
		return err
	}
	if _, err := h.lock.WriteString(path + "\x00"); err != nil {
		return hostfs.Unwrap(err)
	}
	if directory {
		err = unix.Mkdirat(int(parent.Fd()), name, 0o755)
	} else {
		err = unix.Mknodat(int(parent.Fd()), name, unix.S_IFREG|0o444, 0)
	}
	switch {
	case errors.Is(err, unix.EEXIST): // by another session
		return nil
	case err != nil || !directory || !last:
		return err
	}
	d, err := hostfs.Open(parent, name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer d.Close()
	if err = unix.Mknodat(int(d.Fd()), inUse, unix.S_IFREG|0o444, 0); err == nil || errors.Is(err, unix.EEXIST) {
		err = hostfs.Chmod(d, 0o555)
	}
	return err
}

// removePlaces removes the mount points that are still as art made them. Nobody else uses the home.
func (h *Home) removePlaces() {
	text, err := io.ReadAll(io.NewSectionReader(h.lock, 0, maxPlaces))
	if err != nil || len(text) == 0 {
		return
	}
	paths := strings.Split(string(text), "\x00")
	slices.Reverse(paths) // what is in a directory was made after it
	for _, path := range paths {
		if path != "" {
			h.removePlace(path)
		}
	}
	_ = h.lock.Truncate(0) // what is not empty has become the guests' own
}

func (h *Home) removePlace(path string) {
	parent, err := hostfs.Open(h.dir, filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return
	}
	defer parent.Close()
	name := filepath.Base(path)
	st, err := hostfs.StatAt(parent, name)
	switch {
	case err != nil:
	case st.Mode&unix.S_IFMT == unix.S_IFDIR:
		h.unmark(path)
		_ = unix.Unlinkat(int(parent.Fd()), name, unix.AT_REMOVEDIR) // fails where something is in it
	case st.Mode == unix.S_IFREG|0o444 && st.Size == 0:
		_ = unix.Unlinkat(int(parent.Fd()), name, 0)
	}
}

// unmark takes away what art has put into a mount point.
func (h *Home) unmark(path string) {
	d, err := hostfs.Open(h.dir, path, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return
	}
	defer d.Close()
	if st, err := hostfs.Stat(d); err == nil && st.Mode&0o7777 == 0o555 {
		_ = hostfs.Chmod(d, 0o755)
	}
	_ = unix.Unlinkat(int(d.Fd()), inUse, 0) // where there is none, there is nothing to do
}
