package fs

import (
	"io"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// Read implements FileSystem.
func (o *Overlay) Read(ino Ino, p []byte, off int64) (int, error) {
	n, _, err := o.read(ino, p, off, true)
	return n, err
}

// TryRead implements FileSystem.
func (o *Overlay) TryRead(ino Ino, p []byte, off int64) (int, bool) {
	n, ok, err := o.read(ino, p, off, false)
	return n, ok && err == nil
}

func (o *Overlay) read(ino Ino, p []byte, off int64, wait bool) (n int, ok bool, err error) {
	o.store.Lock()
	defer o.store.Unlock()
	x, err := o.get(ino)
	if err != nil {
		return 0, true, err
	}
	o.accessed(x)
	if x.in == nil {
		return o.readBase(x, p, off, wait)
	}
	// A row of the database is sooner read than another thread is woken, even if it comes from the disk
	// now and then.
	if !wait && (x.showsThrough() || int64(len(p)) > o.store.ChunkSize()) {
		return 0, false, nil
	}
	x.holds++
	o.store.Unlock()
	err = o.withBase(x, func() (err error) {
		n, err = o.store.ReadAt(x.in, p, off, originReader{o, x})
		return err
	})
	o.store.Lock()
	x.holds--
	if err == io.EOF {
		err = nil
	}
	return n, true, err
}

// showsThrough tells whether some of a file's content may be the origin's. Lock held.
func (n *node) showsThrough() bool {
	return n.in == nil || n.in.Origin != nil && n.in.Origin.Limit > 0
}

// readBase reads an untouched file. Lock held; it is let go of while the host is asked.
func (o *Overlay) readBase(n *node, p []byte, off int64, wait bool) (read int, ok bool, err error) {
	f, err := o.openBase(n, n.fp)
	if (err != nil || !sameObject(n.fp, f.Fingerprint)) && n.repath() {
		if err == nil {
			o.closeBase(f, true)
		}
		return o.readBase(n, p, off, wait)
	}
	switch err {
	case nil:
	case syscall.ENOENT, syscall.ENOTDIR, syscall.ELOOP, syscall.EINVAL:
		return 0, true, syscall.ESTALE // there is no such file any more
	default:
		return 0, true, err
	}
	if err := o.sees(n, f); err != nil {
		o.closeBase(f, true)
		return 0, true, err
	}
	n.holds++
	o.store.Unlock()
	ok = true
	if wait {
		if read, err = f.ReadAt(p, off); err == io.EOF {
			err = nil
		}
	} else {
		read, ok = f.TryReadAt(p, off)
	}
	o.store.Lock()
	n.holds--
	if ok {
		n.content = f.Fingerprint
	}
	o.closeBase(f, ok && off == 0 && int64(read) >= f.Size)
	return read, ok, err
}

// sees makes sure that what is about to be read of an untouched node is what the kernel takes it for,
// or corrects the kernel. Programs open files without our hearing of it, so the host may have changed the
// file, or put another one in its place, since the kernel was told what it is.
// Lock held.
func (o *Overlay) sees(n *node, f *opened) error {
	if n.fp == f.Fingerprint {
		return nil
	}
	if n.in != nil || n.gone || !sameObject(n.fp, f.Fingerprint) && n.content != (sqlvfs.Fingerprint{}) {
		return syscall.ESTALE // the kernel may have parts of another file, which must not be mixed
	}
	o.update(n, f.attr, f.Fingerprint)
	// At the end of what the kernel takes for the file it will then ask for the size again
	// (fuse_cache_read_iter in fs/fuse/file.c).
	o.cache.InvalidateAttr(n.ino)
	return nil
}

// Write implements FileSystem.
func (o *Overlay) Write(c Caller, ino Ino, p []byte, off int64) error {
	n, err := o.writable(c, ino)
	if err != nil {
		return err
	}
	defer o.written(n)
	return o.withBase(n, func() error { return o.store.WriteAt(n.in, p, off, originReader{o, n}, sqlvfs.Now()) })
}

// writable prepares a file for a change of its content, and holds it for that.
func (o *Overlay) writable(c Caller, ino Ino) (*node, error) {
	o.store.Lock()
	defer o.store.Unlock()
	if err := o.store.Ready(); err != nil {
		return nil, err
	}
	n, err := o.get(ino)
	if err != nil {
		return nil, err
	}
	if err := o.copyUp(n); err != nil {
		return nil, err
	}
	if err := o.follow(n); err != nil {
		return nil, err
	}
	if err := o.killPrivileges(n.in, o.privileged(c)); err != nil {
		return nil, err
	}
	n.holds++
	return n, nil
}

// written ends a change of a file's content.
func (o *Overlay) written(n *node) {
	o.store.Lock()
	defer o.store.Unlock()
	o.keeper.note(n)
	n.holds--
	o.drop(n)
}

// Allocate implements FileSystem.
func (o *Overlay) Allocate(c Caller, ino Ino, mode uint32, off, length int64) error {
	const known = unix.FALLOC_FL_KEEP_SIZE | unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_ZERO_RANGE
	if mode&^known != 0 {
		return syscall.EOPNOTSUPP
	}
	n, err := o.writable(c, ino)
	if err != nil {
		return err
	}
	defer o.written(n)
	if err := o.withBase(n, func() error { return o.allocate(n, mode, off, length) }); err != nil {
		return err
	}
	// Whatever it did or did not change, the times say that it may have (file_modified in fs/inode.c).
	o.store.Lock()
	defer o.store.Unlock()
	o.modified(n, sqlvfs.Now())
	return nil
}

func (o *Overlay) allocate(n *node, mode uint32, off, length int64) error {
	if mode&(unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_ZERO_RANGE) != 0 {
		return o.store.Zero(n.in, off, length, mode&unix.FALLOC_FL_KEEP_SIZE != 0, originReader{o, n}, sqlvfs.Now())
	}
	// Space cannot be set aside in a database; but if there is too little now, that is known now.
	st, err := o.Statfs()
	if err != nil {
		return err
	}
	if uint64(length)/uint64(st.BlockSize) > st.BlocksAvailable {
		return syscall.ENOSPC
	}
	if mode&unix.FALLOC_FL_KEEP_SIZE != 0 {
		return nil
	}
	return o.store.Extend(n.in, off+length, originReader{o, n}, sqlvfs.Now())
}

// originReader is the origin's content for a file of the delta.
type originReader struct {
	o *Overlay
	n *node // held by the caller
}

// ReadAt reads from the origin and makes sure that it is still the version that was copied up, and
// still there: the next session could not read it otherwise.
func (r originReader) ReadAt(p []byte, off int64) (int, error) {
	o, n := r.o, r.n
	o.store.Lock()
	defer o.store.Unlock()
	origin := n.in.Origin
	if origin == nil {
		return 0, sqlvfs.ErrNoBase // cut off meanwhile
	}
	f, err := o.openBase(n, origin.Fingerprint)
	switch {
	case err == sqlvfs.ErrNoBase || err == syscall.EACCES:
		return 0, err
	case err != nil:
		return 0, sqlvfs.ErrBaseChanged
	case f.Fingerprint != origin.Fingerprint:
		o.closeBase(f, true)
		return 0, sqlvfs.ErrBaseChanged
	}
	o.store.Unlock()
	read, err := f.ReadAt(p, off)
	_, fp, serr := f.stat()
	o.store.Lock()
	o.closeBase(f, false)
	if serr == nil && fp != origin.Fingerprint {
		return 0, sqlvfs.ErrBaseChanged
	}
	return read, err
}

// sameContent compares what a change of content changes. The change time alone also moves when the
// file is renamed or deleted on the host, which an open file may survive.
func sameContent(a, b sqlvfs.Fingerprint) bool {
	return a.Size == b.Size && a.Mtime == b.Mtime
}

// sameObject tells whether two fingerprints are of one object, if of different versions.
func sameObject(a, b sqlvfs.Fingerprint) bool { return a.Dev == b.Dev && a.Ino == b.Ino }
