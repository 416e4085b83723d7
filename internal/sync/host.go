package sync

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
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
	db  dbFiles
}

// openHost opens the workspace. Symbolic links on the way to it are the caller's and are followed.
func openHost(dir string) (*host, error) {
	f, err := os.OpenFile(dir, unix.O_DIRECTORY|unix.O_RDONLY, 0)
	if err == nil {
		return &host{dir: f}, nil
	}
	err = fmt.Errorf("workspace %s: %w", dir, unwrap(err))
	if errors.Is(err, unix.ENOENT) {
		err = cli.WithHint(err, "make the directory first: mkdir "+dir)
	}
	return nil, err
}

func (h *host) close() { h.dir.Close() }

// tree says which directory the workspace is.
func (h *host) tree(name string) (sqlvfs.Tree, error) {
	t, err := sqlvfs.TreeOf(int(h.dir.Fd()), name)
	if err != nil {
		err = fmt.Errorf("workspace %s: %w", h.dir.Name(), err)
	}
	return t, err
}

// open opens a path below the workspace. The kernel refuses to leave the tree and to follow any
// symbolic link on the way (openat2(2), RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS), so neither a
// hostile name nor a directory that is exchanged for a link while we work leads outside.
func (h *host) open(rel string, flags int) (*os.File, error) { return openBeneath(h.dir, rel, flags) }

// openBeneath opens a path below a directory in this way.
func openBeneath(d *os.File, rel string, flags int) (*os.File, error) {
	fd, err := openat2(int(d.Fd()), rel, &unix.OpenHow{
		Flags:   uint64(flags | unix.O_CLOEXEC | unix.O_NOFOLLOW),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), rel), nil
}

// openat2 repeats the call when a rename elsewhere in the system disturbs the check that the path
// stays below (openat2(2), EAGAIN).
func openat2(dir int, name string, how *unix.OpenHow) (int, error) {
	for {
		fd, err := unix.Openat2(dir, name, how)
		if err != unix.EAGAIN && err != unix.EINTR {
			return fd, err
		}
	}
}

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
	st, err := fstat(f)
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
	return entries(d.f)
}

// stat returns the attributes of an entry, or none when there is no such entry.
func (d dir) stat(name string) (st unix.Stat_t, err error) {
	if d.f != nil {
		st, err = statAt(d.f, name)
	}
	if err == unix.ENOENT {
		return unix.Stat_t{}, nil
	}
	return st, err
}

// hasDatabase tells whether an entry is one of the database's files.
func (d dir) hasDatabase(name string, st *unix.Stat_t) bool {
	return d.f != nil && d.host.db.has(objectOf(&d.st), name, st)
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
	st, err := fstat(f)
	if err == nil && kind(st.Mode) != unix.S_IFREG {
		err = errChanging
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// readlink returns a symbolic link's target.
func (h *host) readlink(rel string) (string, error) {
	d, name, err := h.openParent(rel)
	if err != nil {
		return "", err
	}
	defer d.Close()
	return readlinkAt(d, name)
}

// stat returns the attributes of a path; a symbolic link's own.
func (h *host) stat(rel string) (unix.Stat_t, error) {
	f, err := h.open(rel, unix.O_PATH)
	if err != nil {
		return unix.Stat_t{}, err
	}
	defer f.Close()
	return fstat(f)
}

// entries returns the names in an open directory, sorted, so that two runs say the same.
func entries(d *os.File) ([]string, error) {
	names, err := d.Readdirnames(-1)
	slices.Sort(names)
	return names, unwrap(err)
}

func fstat(f *os.File) (st unix.Stat_t, err error) {
	err = unix.Fstat(int(f.Fd()), &st)
	return st, err
}

// statAt returns the attributes of a directory's entry; a symbolic link's own.
func statAt(d *os.File, name string) (st unix.Stat_t, err error) {
	err = unix.Fstatat(int(d.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return st, err
}

// readlinkAt returns a symbolic link's target.
func readlinkAt(d *os.File, name string) (string, error) {
	// The kernel takes no target of PATH_MAX bytes or more (symlink(2), ENAMETOOLONG).
	var buf [unix.PathMax]byte
	n, err := unix.Readlinkat(int(d.Fd()), name, buf[:])
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// chmod sets the mode of an open object, which may have been opened with O_PATH: fchmod(2) does
// not take those, but the link in /proc leads to the very same object (proc(5), /proc/pid/fd).
func chmod(f *os.File, mode uint32) error {
	return unix.Chmod(procPath(f), mode)
}

// setTimes sets access and modification time of an open object, in the same way.
func setTimes(f *os.File, a *sqlvfs.Attr) error {
	return unix.UtimesNanoAt(unix.AT_FDCWD, procPath(f), times(a), 0)
}

func procPath(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }

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

// attrOf converts a host object's attributes to what the database keeps of it.
func attrOf(st *unix.Stat_t) sqlvfs.Attr {
	a := sqlvfs.Attr{
		Mode: st.Mode, UID: st.Uid, GID: st.Gid,
		Atime: timespec(st.Atim), Mtime: timespec(st.Mtim), Ctime: timespec(st.Ctim),
	}
	if !a.IsDir() {
		a.Size = st.Size
	}
	return a
}

func timespec(t unix.Timespec) sqlvfs.Timespec {
	return sqlvfs.Timespec{Sec: t.Sec, Nsec: int32(t.Nsec)}
}

func fingerprintOf(st *unix.Stat_t) sqlvfs.Fingerprint {
	return sqlvfs.Fingerprint{
		Dev: st.Dev, Ino: st.Ino, Size: st.Size, Mtime: timespec(st.Mtim), Ctime: timespec(st.Ctim),
	}
}

// dbFiles are the files of the database that is open, wherever they are.
type dbFiles struct {
	file, dir object
	name      string // base name of the file
}

// findDatabase notes which files are the database's. The file may not exist (yet).
func findDatabase(file string) (dbFiles, error) {
	var st unix.Stat_t
	f := dbFiles{name: path.Base(file)}
	switch err := unix.Stat(file, &st); {
	case err == nil:
		f.file = objectOf(&st)
	case err != unix.ENOENT:
		return f, err
	}
	if err := unix.Stat(path.Dir(file), &st); err != nil {
		return f, err
	}
	f.dir = objectOf(&st)
	return f, nil
}

// has tells whether an entry of the directory dir is one of the database's files. SQLite makes and
// removes its companions as it pleases, so they are known by their names.
func (f *dbFiles) has(dir object, name string, st *unix.Stat_t) bool {
	if st != nil && f.file != (object{}) && objectOf(st) == f.file {
		return true
	}
	if dir != f.dir {
		return false
	}
	suffix, ok := strings.CutPrefix(name, f.name)
	return ok && slices.Contains([]string{"", "-wal", "-shm", "-journal"}, suffix)
}

// join adds a name to a path below the workspace.
func join(rel, name string) string {
	if rel == "." {
		return name
	}
	return rel + "/" + name
}

// unwrap takes the path and the system call's name off an error: our own text names the path.
func unwrap(err error) error {
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
