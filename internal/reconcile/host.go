package reconcile

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/identity"
	"github.com/riverlytech/art/internal/reconcile/selection"
	"github.com/riverlytech/art/sqlvfs"
)

// maxPath bounds the length of a path below the workspace, in bytes. A tree can be deeper, but no
// program can name what is there by its path (PATH_MAX), and the time and the memory that a tree of
// directories in directories takes grow with the square of its depth.
const maxPath = unix.PathMax - 1

var errTooLong = errors.New("path is too long")

// host is the workspace on the host. Paths are relative to it, clean, and "." is itself.
type host struct {
	dir *os.File
	db  identity.Files
}

// openHost opens the workspace. Symbolic links on the way to it are the caller's and are followed.
func openHost(dir string) (*host, error) {
	f, err := os.OpenFile(dir, unix.O_DIRECTORY|unix.O_RDONLY, 0)
	if err == nil {
		return &host{dir: f}, nil
	}
	err = fmt.Errorf("workspace %s: %w", dir, hostfs.Unwrap(err))
	if errors.Is(err, unix.ENOENT) {
		err = cli.WithHint(err, "make the directory first: mkdir "+dir)
	}
	return nil, err
}

func (h *host) close() { h.dir.Close() }

// tree says which directory the workspace is.
func (h *host) tree(name string) (sqlvfs.Tree, error) {
	t, err := sqlvfs.TreeOf(int(h.dir.Fd()), name)
	return t, h.failed(err)
}

// failed says of an error, if there is one, that it is of the workspace.
func (h *host) failed(err error) error { return about("workspace "+h.dir.Name(), err) }

// open opens a path below the workspace (package hostfs).
func (h *host) open(rel string, flags int) (*os.File, error) { return hostfs.Open(h.dir, rel, flags) }

// openDir opens a directory for reading its entries and for work on them.
func (h *host) openDir(rel string) (*os.File, error) {
	return h.open(rel, unix.O_RDONLY|unix.O_DIRECTORY)
}

// dir is a directory of the host that is read. One that is not there has no entries.
type dir struct {
	host *host
	f    *os.File
	st   unix.Stat_t
}

func (h *host) read(rel string) (dir, error) {
	f, err := h.openDir(rel)
	if err != nil {
		return dir{}, err
	}
	st, err := hostfs.Stat(f)
	if err != nil {
		f.Close()
		return dir{}, err
	}
	return dir{h, f, st}, nil
}

// names returns the names of the entries, sorted; with an error, those that could be read.
func (d dir) names() ([]string, error) {
	if d.f == nil {
		return nil, nil
	}
	return hostfs.Names(d.f)
}

// stat returns the attributes of an entry, or none when there is no such entry.
func (d dir) stat(name string) (st unix.Stat_t, err error) {
	if d.f != nil {
		st, err = hostfs.StatAt(d.f, name)
	}
	if errors.Is(err, unix.ENOENT) {
		return unix.Stat_t{}, nil
	}
	return st, err
}

// hasDatabase reports whether an entry is one of the database's files.
func (d dir) hasDatabase(name string, st *unix.Stat_t) bool {
	return d.f != nil && d.host.db.Has(&d.st, name, st)
}

func (d dir) close() {
	if d.f != nil {
		d.f.Close()
	}
}

// openParent opens the directory that holds a path, and returns the path's last name.
func (h *host) openParent(rel string) (*os.File, string, error) {
	d, err := h.open(path.Dir(rel), unix.O_PATH|unix.O_DIRECTORY)
	return d, path.Base(rel), err
}

// openFile opens a regular file for reading.
func (h *host) openFile(rel string) (*os.File, error) { return h.openRegular(rel, unix.O_RDONLY) }

func (h *host) openRegular(rel string, flags int) (*os.File, error) {
	// O_NONBLOCK: should a fifo be there meanwhile, opening it must not wait.
	f, err := h.open(rel, flags|unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	st, err := hostfs.Stat(f)
	if err == nil && kind(st.Mode) != unix.S_IFREG {
		err = errChanging
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// patterns is where patterns come from that leave paths of the workspace out.
func (h *host) patterns(opt *Options) selection.Patterns {
	return selection.Patterns{Exclude: opt.Exclude, NoIgnored: opt.NoIgnored, Workspace: h.dir.Name(), Open: h.openFile}
}

// readlink returns a symbolic link's target.
func (h *host) readlink(rel string) (string, error) {
	d, name, err := h.openParent(rel)
	if err != nil {
		return "", err
	}
	defer d.Close()
	return hostfs.Readlink(d, name)
}

// has tells whether there is something at a path, as far as can be told.
func (h *host) has(rel string) bool {
	_, err := h.stat(rel)
	return !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR)
}

// stat returns the attributes of a path; a symbolic link's own.
func (h *host) stat(rel string) (unix.Stat_t, error) {
	f, err := h.open(rel, unix.O_PATH)
	if err != nil {
		return unix.Stat_t{}, err
	}
	defer f.Close()
	return hostfs.Stat(f)
}

// setTimes sets access and modification time of an open object, which may have been opened with O_PATH.
func setTimes(f *os.File, a *sqlvfs.Attr) error {
	return unix.UtimesNanoAt(unix.AT_FDCWD, hostfs.Path(f), times(a), 0)
}

func times(a *sqlvfs.Attr) []unix.Timespec {
	return []unix.Timespec{
		{Sec: a.Atime.Sec, Nsec: int64(a.Atime.Nsec)},
		{Sec: a.Mtime.Sec, Nsec: int64(a.Mtime.Nsec)},
	}
}

// object tells one file of the host from another.
type object struct{ dev, ino uint64 }

func objectOf(st *unix.Stat_t) object { return object{st.Dev, st.Ino} }

func kind(mode uint32) uint32 { return mode & unix.S_IFMT }

// attrOf is what the database keeps of a host object's attributes.
func attrOf(st *unix.Stat_t) sqlvfs.Attr {
	a := hostfs.Attr(st)
	if a.Nlink, a.Rdev = 0, 0; a.IsDir() {
		a.Size = 0
	}
	return a
}

// parent returns the directory that a path is in, and its name there. path.Dir would read the whole of a deep path.
func parent(rel string) (dir, name string) {
	i := strings.LastIndexByte(rel, '/')
	if i < 0 {
		return ".", rel
	}
	return rel[:i], rel[i+1:]
}

// join adds a name to a path below the workspace.
func join(rel, name string) string {
	if rel == "." {
		return name
	}
	return rel + "/" + name
}
