package git

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
)

// hostDir is the host's git directory (package hostfs).
type hostDir struct {
	dir      *os.File
	own      string // of a linked worktree, below dir
	uid, gid int    // of what is made in it; -1: the caller's
	mode     uint32
}

// newHost takes an open git directory. Where root pulls, what is made in it gets its owner.
func newHost(dir *os.File) (*hostDir, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &st); err != nil {
		return nil, err
	}
	h := &hostDir{dir: dir, uid: -1, gid: -1, mode: st.Mode & 0o2777}
	if os.Geteuid() == 0 {
		h.uid, h.gid = int(st.Uid), int(st.Gid)
	}
	return h, nil
}

func (h *hostDir) open(at string, flags int) (*os.File, error) {
	f, err := hostfs.Open(h.dir, in(h.own, at), flags)
	if errors.Is(err, unix.ENOTDIR) {
		err = fs.ErrNotExist
	}
	return f, err
}

// openFile opens a regular file for reading.
func (h *hostDir) openFile(at string) (*os.File, unix.Stat_t, error) {
	var st unix.Stat_t
	f, err := h.open(at, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return nil, st, err
	}
	if err = unix.Fstat(int(f.Fd()), &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = fs.ErrNotExist
	}
	if err != nil {
		f.Close()
		return nil, st, err
	}
	return f, st, nil
}

// read returns a file's content, which must not be larger than limit.
func (h *hostDir) read(at string, limit int64) ([]byte, error) {
	f, st, err := h.openFile(at)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st.Size > limit {
		return nil, errLarge
	}
	return io.ReadAll(io.LimitReader(f, limit))
}

// changed returns a file's change time.
func (h *hostDir) changed(at string) (time.Time, error) {
	f, st, err := h.openFile(at)
	if err != nil {
		return time.Time{}, err
	}
	f.Close()
	return time.Unix(st.Ctim.Sec, st.Ctim.Nsec), nil
}

// list returns a directory's entries; none where there is no directory.
func (h *hostDir) list(at string) ([]Entry, error) {
	d, err := h.open(at, unix.O_RDONLY|unix.O_DIRECTORY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	list, err := d.ReadDir(-1)
	entries := make([]Entry, len(list))
	for i, e := range list {
		entries[i] = Entry{e.Name(), e.IsDir()}
	}
	return entries, err
}

func (h *hostDir) exists(at string) bool {
	f, err := h.open(at, unix.O_PATH)
	if err == nil {
		f.Close()
	}
	return err == nil
}

// parent opens the directory that holds a path, and makes it first if it is not there.
func (h *hostDir) parent(at string) (*os.File, error) {
	dir := path.Dir(in(h.own, at))
	d, err := h.open(dir, unix.O_PATH|unix.O_DIRECTORY)
	if !errors.Is(err, fs.ErrNotExist) || dir == "." {
		return d, err
	}
	up, err := h.parent(dir)
	if err != nil {
		return nil, err
	}
	defer up.Close()
	if err := unix.Mkdirat(int(up.Fd()), path.Base(dir), h.mode); err != nil && err != unix.EEXIST {
		return nil, err
	}
	made, err := h.open(dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	if err := h.give(made, h.mode); err != nil {
		made.Close()
		return nil, err
	}
	return made, nil
}

// create makes a file that is not there yet.
func (h *hostDir) create(at string, mode uint32) (*os.File, error) {
	d, err := h.parent(at)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	f, err := hostfs.Create(d, path.Base(at), mode)
	if err != nil {
		return nil, err
	}
	if err := h.give(f, mode&h.mode); err != nil {
		f.Close()
		h.remove(at)
		return nil, err
	}
	return f, nil
}

// give gives what was made the owner and the mode that the git directory's have, whatever our umask.
func (h *hostDir) give(f *os.File, mode uint32) error {
	if h.uid >= 0 {
		if err := f.Chown(h.uid, h.gid); err != nil {
			return err
		}
	}
	return unix.Fchmod(int(f.Fd()), mode)
}

// rename renames a file within the git directory.
func (h *hostDir) rename(from, to string) error {
	a, err := h.parent(from)
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := h.parent(to)
	if err != nil {
		return err
	}
	defer b.Close()
	return unix.Renameat(int(a.Fd()), path.Base(from), int(b.Fd()), path.Base(to))
}

// remove removes a file, or an empty directory. What is not there is no error.
func (h *hostDir) remove(at string) error {
	d, err := h.open(path.Dir(in(h.own, at)), unix.O_PATH|unix.O_DIRECTORY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	err = unix.Unlinkat(int(d.Fd()), path.Base(at), 0)
	if errors.Is(err, unix.EISDIR) {
		err = unix.Unlinkat(int(d.Fd()), path.Base(at), unix.AT_REMOVEDIR)
	}
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

// tmpPrefix begins the names of files that are to be renamed.
const tmpPrefix = "tmp_art_"

// replace writes a file anew: under another name first, and in one step.
func (h *hostDir) replace(at string, data []byte) error {
	tmp := path.Join(path.Dir(in(h.own, at)), tmpPrefix+rand.Text())
	f, err := h.create(tmp, 0o666)
	if err != nil {
		return err
	}
	if err := written(f, data); err != nil {
		h.remove(tmp)
		return err
	}
	h.removeEmpty(at, 0) // git leaves such directories behind
	err = h.rename(tmp, at)
	if err != nil {
		h.remove(tmp)
	}
	return err
}

// written writes data to a file, makes it durable and closes it.
func written(f *os.File, data []byte) error {
	_, err := f.Write(data)
	if err == nil {
		err = fsync(f)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}
