package fs

import (
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// kernel makes a tree of a FileSystem as the kernel's VFS does: it walks paths by Lookup, counts
// what it owes Forget, and makes the checks that fs/namei.c and fs/open.c make before a file system
// is asked at all. It keeps no cache, so every step asks anew.
type kernel struct {
	fs     FileSystem
	caller Caller
	plus   bool // list directories with attributes
	owed   map[Ino]uint64
	files  map[Ino]int // open files
}

var _ tree = (*kernel)(nil)

func newKernel(fsys FileSystem) *kernel {
	return &kernel{
		fs: fsys, caller: Caller{UID: uint32(os.Getuid()), GID: uint32(os.Getgid())},
		owed: map[Ino]uint64{}, files: map[Ino]int{},
	}
}

// split cuts a path into the path of its directory and its last component.
func split(path string) (dir, name string) {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i], path[i+1:]
	}
	return "", path
}

func errnoOf(err error) error {
	if err == nil {
		return nil
	}
	return sqlvfs.Errno(err)
}

func (k *kernel) got(e Entry, err error) (Entry, error) {
	if err == nil {
		k.owed[e.Ino]++
	}
	return e, errnoOf(err)
}

func (k *kernel) child(parent Ino, name string) (Entry, error) {
	e, err := k.fs.Lookup(parent, name)
	if err != nil {
		return Entry{}, errnoOf(err)
	}
	if e.Ino == 0 {
		return Entry{}, syscall.ENOENT
	}
	return k.got(e, nil)
}

// walk resolves a path without following symbolic links.
func (k *kernel) walk(path string) (Entry, error) {
	e, err := k.fs.Getattr(RootIno)
	if err != nil {
		return Entry{}, errnoOf(err)
	}
	if path == "" {
		return e, nil
	}
	for _, name := range strings.Split(path, "/") {
		if !e.Attr.IsDir() {
			return Entry{}, syscall.ENOTDIR
		}
		if e, err = k.child(e.Ino, name); err != nil {
			return Entry{}, err
		}
	}
	return e, nil
}

// place resolves a path up to its last component. The entry there has number 0 if there is none.
func (k *kernel) place(path string) (dir Entry, name string, e Entry, err error) {
	parent, name := split(path)
	if dir, err = k.walk(parent); err != nil {
		return
	}
	if !dir.Attr.IsDir() {
		return dir, name, e, syscall.ENOTDIR
	}
	if e, err = k.child(dir.Ino, name); err == syscall.ENOENT {
		err = nil
	}
	return
}

// vacant is place for a name that is to be made.
func (k *kernel) vacant(path string) (Ino, string, error) {
	dir, name, e, err := k.place(path)
	if err == nil && e.Ino != 0 {
		err = syscall.EEXIST
	}
	return dir.Ino, name, err
}

func (k *kernel) lstat(path string) (Entry, error) { return k.walk(path) }

func (k *kernel) open(path string, flags int, mode uint32) (treeFile, error) {
	dir, name, e, err := k.place(path)
	if err != nil {
		return nil, err
	}
	switch kind := e.Attr.Mode & syscall.S_IFMT; {
	case e.Ino == 0 && flags&unix.O_CREAT == 0:
		return nil, syscall.ENOENT
	case e.Ino == 0:
		e, err = k.got(k.fs.Mknod(k.caller, dir.Ino, name, syscall.S_IFREG|mode, 0))
	case flags&unix.O_CREAT != 0 && flags&unix.O_EXCL != 0:
		return nil, syscall.EEXIST
	case kind == syscall.S_IFLNK:
		return nil, syscall.ELOOP
	case kind == syscall.S_IFDIR:
		return nil, syscall.EISDIR
	case flags&unix.O_TRUNC != 0:
		size := int64(0)
		_, err = k.fs.Setattr(Caller{}, e.Ino, SetAttr{Size: &size})
	}
	if err != nil {
		return nil, errnoOf(err)
	}
	k.files[e.Ino]++
	return &kernelFile{k, e.Ino}, nil
}

// kernelFile is an open file; as long as it is, its inode is not forgotten.
type kernelFile struct {
	k   *kernel
	ino Ino
}

func (f *kernelFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.k.fs.Read(f.ino, p, off)
	if err == syscall.ESTALE { // what was read in advance is asked for again
		n, err = f.k.fs.Read(f.ino, p, off)
	}
	return n, errnoOf(err)
}

func (f *kernelFile) WriteAt(p []byte, off int64) error {
	return errnoOf(f.k.fs.Write(Caller{}, f.ino, p, off))
}

func (f *kernelFile) truncate(size int64) error {
	_, err := f.k.fs.Setattr(Caller{}, f.ino, SetAttr{Size: &size})
	return errnoOf(err)
}

func (f *kernelFile) seek(off int64, hole bool) (int64, error) {
	found, err := f.k.fs.Seek(f.ino, off, hole)
	return found, errnoOf(err)
}

func (f *kernelFile) stat() (Entry, error) {
	e, err := f.k.fs.Getattr(f.ino)
	return e, errnoOf(err)
}

func (f *kernelFile) link(_ tree, path string) error {
	dir, name, err := f.k.vacant(path)
	if err != nil {
		return err
	}
	_, err = f.k.got(f.k.fs.Link(f.k.caller, f.ino, dir, name))
	return err
}

func (f *kernelFile) Release() {
	if f.k.files[f.ino]--; f.k.files[f.ino] == 0 {
		delete(f.k.files, f.ino)
	}
}

func (k *kernel) sync() error { return errnoOf(k.fs.Sync()) }

func (k *kernel) tmpfile(path string, mode uint32) (treeFile, error) {
	dir, err := k.walk(path)
	if err != nil {
		return nil, err
	}
	e, err := k.got(k.fs.Tmpfile(k.caller, dir.Ino, mode))
	if err != nil {
		return nil, err
	}
	k.files[e.Ino]++
	return &kernelFile{k, e.Ino}, nil
}

func (k *kernel) mknod(path string, mode uint32) error {
	dir, name, err := k.vacant(path)
	if err != nil {
		return err
	}
	_, err = k.got(k.fs.Mknod(k.caller, dir, name, mode, 0))
	return err
}

func (k *kernel) mkdir(path string, mode uint32) error {
	dir, name, err := k.vacant(path)
	if err != nil {
		return err
	}
	_, err = k.got(k.fs.Mkdir(k.caller, dir, name, mode))
	return err
}

func (k *kernel) symlink(target, path string) error {
	dir, name, err := k.vacant(path)
	if err != nil {
		return err
	}
	_, err = k.got(k.fs.Symlink(k.caller, dir, name, target))
	return err
}

func (k *kernel) link(old, path string) error {
	src, err := k.walk(old)
	if err != nil {
		return err
	}
	dir, name, err := k.vacant(path)
	if err != nil {
		return err
	}
	if src.Attr.IsDir() {
		return syscall.EPERM
	}
	_, err = k.got(k.fs.Link(k.caller, src.Ino, dir, name))
	return err
}

func (k *kernel) unlink(path string) error {
	dir, name, e, err := k.place(path)
	switch {
	case err != nil:
		return err
	case e.Ino == 0:
		return syscall.ENOENT
	case e.Attr.IsDir():
		return syscall.EISDIR
	}
	return errnoOf(k.fs.Unlink(k.caller, dir.Ino, name))
}

func (k *kernel) rmdir(path string) error {
	dir, name, e, err := k.place(path)
	switch {
	case err != nil:
		return err
	case e.Ino == 0:
		return syscall.ENOENT
	case !e.Attr.IsDir():
		return syscall.ENOTDIR
	}
	return errnoOf(k.fs.Rmdir(k.caller, dir.Ino, name))
}

func (k *kernel) rename(from, to string) error { return k.renameWith(from, to, 0) }

func (k *kernel) renameWith(from, to string, flags uint32) error {
	fromDir, fromName, src, err := k.place(from)
	if err != nil {
		return err
	}
	toDir, toName, dst, err := k.place(to)
	switch {
	case err != nil:
		return err
	case src.Ino == 0:
		return syscall.ENOENT
	case flags == unix.RENAME_NOREPLACE && dst.Ino != 0:
		return syscall.EEXIST
	case flags == unix.RENAME_EXCHANGE && dst.Ino == 0:
		return syscall.ENOENT
	case strings.HasPrefix(to, from+"/"):
		return syscall.EINVAL
	case strings.HasPrefix(from, to+"/") && flags == unix.RENAME_EXCHANGE:
		return syscall.EINVAL
	case strings.HasPrefix(from, to+"/"):
		return syscall.ENOTEMPTY
	case dst.Ino == src.Ino:
		return nil
	case flags == unix.RENAME_EXCHANGE:
	case dst.Ino != 0 && src.Attr.IsDir() && !dst.Attr.IsDir():
		return syscall.ENOTDIR
	case dst.Ino != 0 && !src.Attr.IsDir() && dst.Attr.IsDir():
		return syscall.EISDIR
	}
	return errnoOf(k.fs.Rename(k.caller, fromDir.Ino, fromName, toDir.Ino, toName, flags))
}

func (k *kernel) setattr(path string, set SetAttr) error {
	e, err := k.walk(path)
	if err != nil {
		return err
	}
	_, err = k.fs.Setattr(Caller{}, e.Ino, set)
	return errnoOf(err)
}

func (k *kernel) readlink(path string) (string, error) {
	e, err := k.walk(path)
	if err != nil {
		return "", err
	}
	target, err := k.fs.Readlink(e.Ino)
	return target, errnoOf(err)
}

func (k *kernel) readdir(path string, n int, pause func([]DirEntry)) ([]DirEntry, error) {
	e, err := k.walk(path)
	if err != nil {
		return nil, err
	}
	if !e.Attr.IsDir() {
		return nil, syscall.ENOTDIR
	}
	var all []DirEntry
	offset := uint64(0)
	for {
		room := n
		err := k.fs.ReadDir(e.Ino, offset, k.plus, func(e DirEntry) bool {
			if room == 0 {
				return false
			}
			room--
			offset = e.Offset
			if k.plus && e.Entry.Ino != 0 {
				k.owed[e.Entry.Ino]++
			}
			all = append(all, e)
			return true
		})
		if err != nil {
			return all, errnoOf(err)
		}
		pause(all)
		if room == n {
			return all, nil
		}
	}
}

// forget gives back everything that is owed, but for the inodes of open files.
func (k *kernel) forget() {
	for ino, n := range k.owed {
		if k.files[ino] == 0 {
			k.fs.Forget(ino, n)
			delete(k.owed, ino)
		}
	}
}
