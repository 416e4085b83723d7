package fs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/sqlvfs"
)

// Host is a directory tree of the host that is only ever read. Paths are relative to its root,
// clean, and "." is the root itself. No symbolic link is ever followed on the way, so nothing
// outside the tree can be reached, whatever the host or a database does to the paths.
//
// What takes a path may be called at once by several goroutines, until Close. Its errors are syscall.Errno: ENOENT for what
// is not there or hidden, ELOOP where a symbolic link is on the way, and what else the host says.
type Host struct {
	root   int         // O_PATH descriptor
	dev    uint64      // of the root
	ino    uint64      // of the root
	tree   sqlvfs.Tree // which directory the root is; it has no name
	dir    string
	hidden hidden
	uid    int   // of this process
	groups []int // same

	replaced map[string]bool // paths that have something else than what is to be shown
}

// OpenHost opens a tree. What is named in hide, all that lies below it, and everything that SQLite
// keeps beside it are left out of the tree, under these names and under any other. The error is an *os.PathError, also for
// something to hide of which it cannot be told what it is.
func OpenHost(dir string, hide ...string) (*Host, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	h := &Host{root: fd, dir: dir, hidden: newHidden()}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		h.Close()
		return nil, &os.PathError{Op: "stat", Path: dir, Err: err}
	}
	h.dev, h.ino = st.Dev, st.Ino
	if h.tree, err = sqlvfs.TreeOf(fd, ""); err != nil {
		h.Close()
		return nil, &os.PathError{Op: "stat", Path: dir, Err: err}
	}
	if h.groups, err = os.Getgroups(); err != nil {
		h.Close()
		return nil, err
	}
	h.uid, h.groups = os.Geteuid(), append(h.groups, os.Getegid())
	for _, file := range hide {
		if err := h.hidden.add(dir, file); err != nil {
			h.Close()
			return nil, err
		}
	}
	return h, nil
}

// ShowOnly leaves everything but the files out of those directories in the tree's root that hold one of
// them. Their paths are relative to the root. It is to be called before the tree is used.
func (h *Host) ShowOnly(files ...string) error { return h.hidden.showOnly(h.root, files) }

// Only leaves everything but those paths out of the tree, whatever the host puts beside them. Of each, all directories
// above it are among them. It is to be called before the tree is used.
func (h *Host) Only(paths map[string]bool) { h.hidden.only = paths }

// Replaced says at which paths the tree has something else than what is to be shown. These, and all below them, can only be listed: other
// calls have the error ESTALE. It is to be called before the tree is used.
func (h *Host) Replaced(paths map[string]bool) { h.replaced = paths }

// stale tells whether a path has something else than what is to be shown.
func (h *Host) stale(path string) bool {
	for ; len(h.replaced) > 0 && path != "."; path = dirOf(path) {
		if h.replaced[path] {
			return true
		}
	}
	return false
}

// Is says whether the tree's root is the directory with that device and inode.
func (h *Host) Is(dev, ino uint64) bool { return h.dev == dev && h.ino == ino }

// Dir is the absolute path of the tree's root.
func (h *Host) Dir() string { return h.dir }

// Close closes the tree. Files that were opened from it stay open.
func (h *Host) Close() error {
	h.hidden.close()
	return unix.Close(h.root)
}

// readable tells by an object's attributes whether this process may read it.
func (h *Host) readable(a *sqlvfs.Attr) bool {
	switch {
	case h.uid == 0 || uint32(h.uid) == a.UID:
		return true
	case slices.Contains(h.groups, int(a.GID)):
		return a.Mode&0o040 != 0
	}
	return a.Mode&0o004 != 0
}

// open opens a path below the root. What is hidden is not there, nor is what lies below it: an origin
// may be there, from before it was hidden.
func (h *Host) open(path string, flags int) (int, error) {
	switch {
	case h.hidden.path(path):
		return -1, syscall.ENOENT
	case h.stale(path):
		return -1, syscall.ESTALE
	}
	at, owned, moved, whole := h.root, false, h.hidden.moved(h.root), path
	for {
		rest := ""
		if cut := cut(path, moved); cut > 0 {
			path, rest = path[:cut], path[cut+1:]
		}
		last := unix.O_PATH
		if rest == "" {
			last = flags | unix.O_NOFOLLOW
		}
		fd, err := hostfs.OpenAt(at, path, last, hostfs.Beneath)
		if owned {
			unix.Close(at)
		}
		if err == nil && moved {
			err = h.hidden.check(fd, strings.TrimSuffix(strings.TrimSuffix(whole, rest), "/"))
		}
		if err != nil || rest == "" {
			return fd, err
		}
		at, owned, path = fd, true, rest
	}
}

// cut is where a path is divided to be walked in pieces; 0: it is not. A single call takes less than
// PATH_MAX bytes. With each, every directory on the way is to be looked at.
func cut(path string, each bool) int {
	switch {
	case each:
		return max(strings.IndexByte(path, '/'), 0)
	case len(path) >= unix.PathMax:
		return strings.LastIndexByte(path[:unix.PathMax-1], '/')
	}
	return 0
}

// openQuietly opens a path for reading without moving its access time, as far as that is allowed: on
// what belongs to the caller (O_NOATIME in open(2)).
func (h *Host) openQuietly(path string, flags int) (int, error) {
	fd, err := h.open(path, flags|unix.O_NOATIME)
	if errors.Is(err, unix.EPERM) {
		return h.open(path, flags)
	}
	return fd, err
}

// parent opens the directory that holds a path's last component, unless the path is hidden. done must be
// called afterwards.
func (h *Host) parent(path string) (fd int, name string, done func(), err error) {
	switch {
	case h.hidden.path(path):
		return -1, "", nil, syscall.ENOENT
	case h.stale(path):
		return -1, "", nil, syscall.ESTALE
	}
	cut := strings.LastIndexByte(path, '/')
	if cut < 0 {
		return h.root, path, func() {}, nil
	}
	fd, err = h.open(path[:cut], unix.O_PATH|unix.O_DIRECTORY)
	if oneOf(err, unix.ENOTDIR, unix.ELOOP) {
		err = unix.ENOENT // something else is there now than the directory
	}
	return fd, path[cut+1:], func() { unix.Close(fd) }, err
}

// Lstat returns an object's attributes and fingerprint.
func (h *Host) Lstat(path string) (sqlvfs.Attr, sqlvfs.Fingerprint, error) {
	fd, name, done, err := h.parent(path)
	if err != nil {
		return sqlvfs.Attr{}, sqlvfs.Fingerprint{}, err
	}
	defer done()
	dir := "."
	if len(name) < len(path) {
		dir = path[:len(path)-len(name)-1]
	}
	return h.lstatAt(fd, dir, name)
}

// lstatAt returns the attributes of a name in a directory, which is open as fd.
func (h *Host) lstatAt(fd int, dir, name string) (sqlvfs.Attr, sqlvfs.Fingerprint, error) {
	var st unix.Stat_t
	var err error
	if name == "." {
		err = unix.Fstat(fd, &st)
	} else {
		err = unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err == nil && h.hidden.object(st.Dev, st.Ino, dir, name) {
		err = syscall.ENOENT
	}
	if err != nil {
		return sqlvfs.Attr{}, sqlvfs.Fingerprint{}, err
	}
	return hostfs.Attr(&st), hostfs.Fingerprint(&st), nil
}

// Readlink returns a symbolic link's target.
func (h *Host) Readlink(path string) (string, error) {
	fd, name, done, err := h.parent(path)
	if err != nil {
		return "", err
	}
	defer done()
	return hostfs.ReadlinkAt(fd, name)
}

// Xattrs returns an object's extended attributes that an overlay shows; nil if there are none.
func (h *Host) Xattrs(path string) (map[string][]byte, error) {
	fd, err := h.open(path, unix.O_PATH)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return hostfs.Xattrs(fd, func(name string) bool { return checkXattr(name) == nil })
}

// details are what a copy-up needs of an object beside its attributes.
type details struct {
	xattrs map[string][]byte // nil: none
	birth  sqlvfs.Timespec   // when it was made
	born   bool              // which the host tells
}

func (h *Host) details(path string) (d details, err error) {
	fd, err := h.open(path, unix.O_PATH)
	if err != nil {
		return d, err
	}
	defer unix.Close(fd)
	d.birth, d.born = hostfs.Birth(fd)
	d.xattrs, err = hostfs.Xattrs(fd, func(name string) bool { return checkXattr(name) == nil })
	return d, err
}

// Open opens a regular file for reading. Anything else gives syscall.ELOOP or syscall.EINVAL, and what
// is hidden syscall.EACCES: only a row of the delta can lead there.
func (h *Host) Open(path string) (*HostFile, error) {
	if h.hidden.path(path) {
		return nil, syscall.EACCES
	}
	// O_NONBLOCK: what was a file a moment ago may be a fifo now.
	fd, err := h.openQuietly(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return nil, err
	}
	f := &HostFile{fd: fd}
	f.refs.Store(1)
	attr, fp, err := f.stat()
	if err == nil && !attr.IsRegular() {
		err = syscall.EINVAL
	}
	if err == nil && h.hidden.object(fp.Dev, fp.Ino, ".", path) {
		err = syscall.EACCES
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	f.attr, f.Fingerprint = attr, fp
	return f, nil
}

// HostFile is an open regular file of a host tree. Its methods may be called by several goroutines at once.
type HostFile struct {
	fd                 int
	refs               atomic.Int32
	attr               sqlvfs.Attr // when it was opened
	sqlvfs.Fingerprint             // same
}

func (f *HostFile) stat() (sqlvfs.Attr, sqlvfs.Fingerprint, error) {
	var st unix.Stat_t
	if err := unix.Fstat(f.fd, &st); err != nil {
		return sqlvfs.Attr{}, sqlvfs.Fingerprint{}, err
	}
	return hostfs.Attr(&st), hostfs.Fingerprint(&st), nil
}

// sparse tells whether the file has holes (lseek(2), SEEK_HOLE: the end counts as one).
func (f *HostFile) sparse() bool {
	hole, err := unix.Seek(f.fd, 0, unix.SEEK_HOLE)
	return err == nil && hole < f.Size
}

// ReadAt implements io.ReaderAt.
func (f *HostFile) ReadAt(p []byte, off int64) (int, error) {
	for done := 0; done < len(p); {
		n, err := unix.Pread(f.fd, p[done:], off+int64(done))
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return done, err
		case n == 0:
			return done, io.EOF
		default:
			done += n
		}
	}
	return len(p), nil
}

// TryReadAt reads what is in the page cache; ok is false when that is not all there was to read when the
// file was opened.
func (f *HostFile) TryReadAt(p []byte, off int64) (n int, ok bool) {
	n, err := unix.Preadv2(f.fd, [][]byte{p}, off, unix.RWF_NOWAIT)
	return max(n, 0), err == nil && (n == len(p) || off+int64(n) >= f.Size)
}

// acquire returns the file for one more user, who is to close it too.
func (f *HostFile) acquire() *HostFile {
	f.refs.Add(1)
	return f
}

// Close closes the file, if no other user has it.
func (f *HostFile) Close() error {
	if f.refs.Add(-1) > 0 {
		return nil
	}
	return unix.Close(f.fd)
}

// HostDir is an open directory of a host tree.
type HostDir struct {
	h     *Host
	fd    int
	refs  atomic.Int32
	path  string
	hides bool // some entries

	listable bool       // not only open for lookups
	reading  sync.Mutex // held while it is read: it has one position
}

// OpenDir opens a directory for reading its entries.
func (h *Host) OpenDir(path string) (*HostDir, error) {
	fd, err := h.openQuietly(path, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	d := h.newDir(fd, path)
	d.listable = true
	return d, nil
}

// openForLookups opens a directory whose entries are only looked up, for which it need not be readable.
func (h *Host) openForLookups(path string) (*HostDir, error) {
	fd, err := h.open(path, unix.O_PATH|unix.O_DIRECTORY)
	if oneOf(err, unix.ENOTDIR, unix.ELOOP) {
		err = unix.ENOENT // something else is there now than the directory
	}
	if err != nil {
		return nil, err
	}
	return h.newDir(fd, path), nil
}

func (h *Host) newDir(fd int, path string) *HostDir {
	d := &HostDir{h: h, fd: fd, path: path, hides: h.hidden.only != nil || h.hidden.in[path]}
	d.refs.Store(1)
	return d
}

// Dirent is a name in a host directory, with the inode number and type bits of what it names.
type Dirent struct {
	Name string
	Ino  uint64
	Type uint32
}

// direntBuffers are for getdents(2): a new one for each directory would be most of what a walk of a
// tree leaves to the garbage collector.
var direntBuffers = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

// ReadAll returns all entries but "." and "..", in the host's order, from the beginning each time.
func (d *HostDir) ReadAll() ([]Dirent, error) {
	d.reading.Lock()
	defer d.reading.Unlock()
	if _, err := unix.Seek(d.fd, 0, io.SeekStart); err != nil {
		return nil, err
	}
	var list []Dirent
	pooled := direntBuffers.Get().(*[]byte)
	defer direntBuffers.Put(pooled)
	buf := *pooled
	for {
		n, err := unix.Getdents(d.fd, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n <= 0 {
			return list, err
		}
		// struct linux_dirent64 of getdents(2): ino 8, off 8, reclen 2, type 1, name.
		for b := buf[:n]; len(b) > 19; {
			reclen := int(binary.NativeEndian.Uint16(b[16:]))
			name := b[19:reclen]
			if i := bytes.IndexByte(name, 0); i >= 0 {
				name = name[:i]
			}
			e := Dirent{string(name), binary.NativeEndian.Uint64(b), uint32(b[18]) << 12}
			b = b[reclen:]
			if e.Name == "." || e.Name == ".." || d.hides && d.h.hidden.entry(join(d.path, e.Name)) ||
				d.h.hidden.object(d.h.dev, e.Ino, d.path, e.Name) {
				continue
			}
			list = append(list, e)
		}
	}
}

// Lstat returns an entry's attributes and fingerprint.
func (d *HostDir) Lstat(name string) (sqlvfs.Attr, sqlvfs.Fingerprint, error) {
	if d.hides && d.h.hidden.entry(join(d.path, name)) {
		return sqlvfs.Attr{}, sqlvfs.Fingerprint{}, syscall.ENOENT
	}
	if d.h.stale(join(d.path, name)) {
		return sqlvfs.Attr{}, sqlvfs.Fingerprint{}, syscall.ESTALE
	}
	return d.h.lstatAt(d.fd, d.path, name)
}

// acquire returns the directory for one more user, who is to close it too.
func (d *HostDir) acquire() *HostDir {
	d.refs.Add(1)
	return d
}

// Close closes the directory, if no other user has it.
func (d *HostDir) Close() error {
	if d.refs.Add(-1) > 0 {
		return nil
	}
	return unix.Close(d.fd)
}

// join appends a name to a path of a host tree.
func join(path, name string) string {
	if path == "." {
		return name
	}
	return path + "/" + name
}
