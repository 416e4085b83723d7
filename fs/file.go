package fs

import (
	"errors"
	"io"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
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

func (o *Overlay) read(ino Ino, p []byte, off int64, wait bool) (read int, ok bool, err error) {
	for {
		read, ok, err = o.readOnce(ino, p, off, wait)
		if !errors.Is(err, sqlvfs.ErrWentBack) {
			return read, ok, err
		}
	}
}

func (o *Overlay) readOnce(ino Ino, p []byte, off int64, wait bool) (read int, ok bool, err error) {
	var n *node
	var in *sqlvfs.Inode
	var f *HostFile
	err = o.view(func(t *tx) (err error) {
		if n, err = t.get(ino); err != nil {
			return err
		}
		t.accessed(n)
		if n.in == nil {
			if f, err = t.openUntouched(n); err == nil && !t.mayRead(n, f, wait) {
				f.Close()
				return syscall.ESTALE
			}
			return err
		}
		// A row of the database is sooner read than another thread is woken, even if it comes from the disk
		// now and then; and so is what was read ahead.
		in, ok = n.in, wait || !n.needsOrigin() && (int64(len(p)) <= o.store.ChunkSize() || t.db.IsAhead(n.in, off, int64(len(p))))
		return nil
	})
	switch {
	case err != nil:
		return 0, true, err
	case f != nil:
		return o.readBase(n, f, p, off, wait)
	case !ok:
		return 0, false, nil
	}
	err = o.withOrigin(n, func() (err error) {
		read, err = o.store.ReadAt(in, p, off, originReader{o, n, in})
		return err
	})
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return read, true, err
}

// needsOrigin tells whether some of a file's content may be the origin's.
func (n *node) needsOrigin() bool {
	return n.in == nil || n.in.Origin != nil && n.in.Origin.Limit > 0
}

// openUntouched opens an untouched node's file in the base, in the version that the kernel takes it for.
func (t *tx) openUntouched(n *node) (*HostFile, error) {
	f, err := t.openBase(n, n.base.fp)
	if errors.Is(err, errAsk) {
		return nil, err
	}
	if (err != nil || !hostfs.SameObject(n.base.fp, f.Fingerprint)) && n.repath() {
		if err == nil {
			f.Close()
		}
		return t.openUntouched(n)
	}
	switch {
	case err == nil:
	case oneOf(err, syscall.ENOENT, syscall.ENOTDIR, syscall.ELOOP, syscall.EINVAL):
		return nil, t.replaced(n) // there is no such file any more
	default:
		return nil, err
	}
	if err := t.checkVersion(n, f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// readBase reads an untouched file, which is open, and closes it.
func (o *Overlay) readBase(n *node, f *HostFile, p []byte, off int64, wait bool) (read int, ok bool, err error) {
	defer f.Close()
	if ok = wait; wait {
		if read, err = f.ReadAt(p, off); errors.Is(err, io.EOF) {
			err = nil
		}
	} else {
		read, ok = f.TryReadAt(p, off)
	}
	o.view(func(t *tx) error {
		if ok && off == 0 && int64(read) >= f.Size && n.base.file == f {
			t.closeFile(n)
		}
		return nil
	})
	return read, ok, err
}

// checkVersion makes sure that what is about to be read of an untouched node is what the kernel takes it for, or corrects
// the kernel. Programs open files without our hearing of it, so the host may have changed the file, or put another one in
// its place, since the kernel was told what it is.
func (t *tx) checkVersion(n *node, f *HostFile) error {
	if n.base.fp == f.Fingerprint {
		return nil
	}
	if n.in != nil || n.base.gone || !hostfs.SameObject(n.base.fp, f.Fingerprint) && n.base.content != (sqlvfs.Fingerprint{}) {
		return t.replaced(n) // the kernel may have parts of another file, which must not be mixed
	}
	t.refreshNode(n, f.attr, f.Fingerprint)
	if f.Size+1 >= n.base.size {
		// At the end of what the kernel takes for the file it will then ask for the size again
		// (fuse_cache_read_iter in fs/fuse/file.c). A shorter one it learns from where the content ends.
		t.cache.InvalidateAttr(n.ino)
	}
	return nil
}

// replaced is the error of reading an untouched node whose name in the base is another object's, or nobody's. Until the kernel
// knows, whoever opens that name gets this node: so it is told at once, and not when an event comes.
func (t *tx) replaced(n *node) error {
	if p := n.base.parent; n.in == nil && p != nil && p.base.dentries[n.base.name] == n {
		t.pending.entry(p, n.base.name, staleness{content: true})
	}
	return syscall.ESTALE
}

// Write implements FileSystem.
func (o *Overlay) Write(c Caller, ino Ino, p []byte, off int64) error {
	return o.update(c.By, func(t *tx) error {
		n, err := t.writable(c, ino)
		if err != nil {
			return err
		}
		return t.write(n, p, off, off)
	})
}

// Append implements FileSystem. The kernel goes by the size that it has last asked for (generic_write_checks in fs/read_write.c),
// also if it has heard since that this is another one: what the host has added would be overwritten. What has a place of its own
// (RWF_NOAPPEND in pwritev2(2)) looks the same, but is not at that size.
func (o *Overlay) Append(c Caller, ino Ino, p []byte, off int64) error {
	return o.update(c.By, func(t *tx) error {
		n, err := t.writable(c, ino)
		if err != nil {
			return err
		}
		at := off
		if n.ends.appends(off, n.in.Attr.Size) {
			at = n.in.Attr.Size
		}
		err = t.write(n, p, at, off)
		if err == nil && at != off {
			t.pending.inode(n) // the kernel has put it elsewhere
		}
		return err
	})
}

// write writes into a file that is writable. The kernel takes it to be at off.
func (t *tx) write(n *node, p []byte, at, off int64) error {
	err := t.wrote(n, t.db.WriteAt(n.in, p, at, sqlvfs.Now()))
	if err == nil {
		n.ends.reach(off + int64(len(p)))
	}
	return err
}

// writable prepares a regular file for a change of its content.
func (t *tx) writable(c Caller, ino Ino) (*node, error) {
	n, err := t.get(ino)
	if err == nil {
		err = t.copyUp(n)
	}
	if err == nil && !n.in.Attr.IsRegular() {
		err = syscall.EINVAL
	}
	if err == nil {
		err = t.follow(n)
	}
	if err == nil {
		err = t.killPrivileges(n.in, t.privileged(c))
	}
	return n, err
}

// wrote takes in the result of a change of a file's content. If that needs some of the origin's content first, the try
// ends to have it read.
func (t *tx) wrote(n *node, err error) error {
	m, ok := errors.AsType[*sqlvfs.Missing](err)
	switch {
	case err == nil:
		t.backfiller.enqueue(n)
		return nil
	case !ok:
		return err
	}
	o := t.Overlay
	return t.outside(func(k *facts) error {
		err := o.store.Supply(m, originReader{o, n, m.Inode})
		if errors.Is(err, sqlvfs.ErrWentBack) {
			return nil
		}
		if errors.Is(err, sqlvfs.ErrBaseChanged) && !k.accepted && o.accept(n) {
			k.accepted = true
			return nil
		}
		return o.noteChanged(n, err)
	})
}

// Allocate implements FileSystem.
func (o *Overlay) Allocate(c Caller, ino Ino, mode uint32, off, length int64) error {
	const zeros = unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_ZERO_RANGE
	if mode&^(unix.FALLOC_FL_KEEP_SIZE|zeros) != 0 {
		return syscall.EOPNOTSUPP
	}
	if mode&zeros == 0 {
		// Space cannot be set aside in a database; but if there is too little now, that is known now.
		st, err := o.Statfs()
		if err != nil {
			return err
		}
		if uint64(length)/uint64(st.BlockSize) > st.BlocksAvailable {
			return syscall.ENOSPC
		}
	}
	keepSize, end := mode&unix.FALLOC_FL_KEEP_SIZE != 0, off+length
	for {
		err := o.update(c.By, func(t *tx) error {
			n, err := t.writable(c, ino)
			if err != nil {
				return err
			}
			now := sqlvfs.Now()
			switch {
			case mode&zeros != 0:
				off, err = t.db.Zero(n.in, off, end-off, keepSize, now)
			case !keepSize && n.in.Attr.Size < end:
				off, err = end, t.db.Truncate(n.in, end, now)
			default:
				off = end
			}
			if err = t.wrote(n, err); err != nil {
				return err
			}
			if !keepSize {
				n.ends.reach(off)
			}
			// Whatever it did or did not change, the times say that it may have (file_modified in fs/inode.c).
			t.modified(n, now)
			return nil
		})
		if err != nil || off >= end {
			return err
		}
	}
}

// originReader is the origin's content for a file of the delta.
type originReader struct {
	o  *Overlay
	n  *node
	in *sqlvfs.Inode // the node's
}

// ReadAt reads from the origin and makes sure that it is still the version that was copied up, and
// still there: the next session could not read it otherwise. The error is [sqlvfs.ErrWentBack] if the node is no file of the delta
// any more.
func (r originReader) ReadAt(p []byte, off int64) (int, error) {
	var f *HostFile
	var version sqlvfs.Fingerprint
	is := func(f sqlvfs.Fingerprint) bool { return f == version }
	err := r.o.view(func(t *tx) (err error) {
		if r.n.in != r.in {
			return sqlvfs.ErrWentBack
		}
		origin := r.in.Origin
		if origin == nil {
			return sqlvfs.ErrNoBase // cut off meanwhile
		}
		version = origin.Fingerprint
		if r.n.base != nil && r.n.base.kept != nil {
			is = func(f sqlvfs.Fingerprint) bool { return sameVersion(f, version) }
		}
		f, err = t.openBase(r.n, version)
		switch {
		case errors.Is(err, errAsk) || errors.Is(err, sqlvfs.ErrNoBase) || errors.Is(err, syscall.EACCES):
			return err
		case err != nil:
			return sqlvfs.ErrBaseChanged
		case !is(f.Fingerprint):
			f.Close()
			return sqlvfs.ErrBaseChanged
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	defer f.Close()
	read, err := f.ReadAt(p, off)
	_, now, serr := f.stat()
	if serr == nil && !is(now) {
		return 0, sqlvfs.ErrBaseChanged
	}
	return read, err
}

// sameContent compares what a change of content changes. The change time alone also moves when the
// file is renamed or deleted on the host, which an open file may survive.
func sameContent(a, b sqlvfs.Fingerprint) bool {
	return a.Size == b.Size && a.Mtime == b.Mtime
}
