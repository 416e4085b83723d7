package fs

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// openFile is an open regular file of an overlay.
type openFile struct {
	o    *Overlay
	n    *node // held
	keep bool

	noatime bool // reading does not move the access time

	mu   sync.Mutex
	host *HostFile // opened when first needed. GUARDED_BY(mu)
}

var _ File = (*openFile)(nil)

// Open implements FileSystem. Opening copies nothing up, not even for writing: that waits for the
// first write. O_TRUNC is one, also in a file opened for reading (the kernel has seen to the right).
func (o *Overlay) Open(c Caller, ino Ino, flags uint32) (File, error) {
	o.store.Lock()
	defer o.store.Unlock()
	n, err := o.get(ino)
	if err != nil {
		return nil, err
	}
	if n.gone {
		return nil, syscall.ENOENT
	}
	trunc := flags&unix.O_TRUNC != 0
	if (trunc || flags&unix.O_ACCMODE != unix.O_RDONLY) && o.store.ReadOnly() {
		return nil, syscall.EROFS
	}
	n.holds++
	f := &openFile{o: o, n: n, keep: true, noatime: flags&unix.O_NOATIME != 0}
	fail := func(err error) (File, error) {
		f.closeHost()
		n.holds--
		o.drop(n)
		return nil, err
	}
	if trunc {
		if err := o.store.Ready(); err != nil {
			return fail(err)
		}
		if err := o.copyUp(n); err != nil {
			return fail(err)
		}
		if err := o.killPrivileges(n.in, o.privileged(c)); err != nil {
			return fail(err)
		}
		if err := o.truncate(n, 0, sqlvfs.Now()); err != nil {
			return fail(err)
		}
		return f, nil
	}
	if n.in != nil && (n.in.Origin == nil || n.in.Origin.Limit == 0) {
		f.keep = !o.store.ReadOnly()
		return f, nil
	}
	// What the host does not let us read must fail here, not at the first read.
	o.store.Unlock()
	host, err := f.openHost()
	o.store.Lock()
	if err != nil {
		return fail(err)
	}
	if n.in == nil {
		if !n.isObject(host.attr, host.Fingerprint) {
			return fail(syscall.ESTALE) // the name is another object's now; a new lookup finds that
		}
		f.keep = n.fp == host.Fingerprint && (n.cached == host.Fingerprint || n.cached == sqlvfs.Fingerprint{})
		n.cached = host.Fingerprint
	}
	return f, nil
}

// KeepCache implements File.
func (f *openFile) KeepCache() bool { return f.keep }

// ReadAt implements File.
func (f *openFile) ReadAt(p []byte, off int64) (int, error) {
	f.o.store.Lock()
	in := f.n.in
	if !f.noatime {
		f.o.accessed(f.n)
	}
	f.o.store.Unlock()
	var n int
	var err error
	if in != nil {
		n, err = f.o.store.ReadAt(in, p, off, f.base())
	} else {
		var host *HostFile
		if host, err = f.openHost(); err == nil {
			n, err = host.ReadAt(p, off)
		}
	}
	if err == io.EOF {
		err = nil
	}
	return n, err
}

// TryReadAt implements File.
func (f *openFile) TryReadAt(p []byte, off int64) (n int, ok bool) {
	f.o.store.Lock()
	in := f.n.in
	short := in != nil && (in.Origin == nil || in.Origin.Limit == 0) && int64(len(p)) <= f.o.store.ChunkSize()
	f.o.store.Unlock()
	if short {
		// A row of the database, which is sooner read than another thread is woken, even if it comes
		// from the disk now and then.
		n, err := f.ReadAt(p, off)
		return n, err == nil
	}
	if in != nil {
		return 0, false
	}
	f.mu.Lock()
	host := f.host
	f.mu.Unlock()
	if host == nil {
		return 0, false
	}
	return host.TryReadAt(p, off)
}

// WriteAt implements File.
func (f *openFile) WriteAt(c Caller, p []byte, off int64) error {
	if err := f.writable(c); err != nil {
		return err
	}
	return f.o.store.WriteAt(f.n.in, p, off, f.base(), sqlvfs.Now())
}

// writable prepares the file for a change of its content.
func (f *openFile) writable(c Caller) error {
	o := f.o
	o.store.Lock()
	defer o.store.Unlock()
	if err := o.store.Ready(); err != nil {
		return err
	}
	if err := o.copyUp(f.n); err != nil {
		return err
	}
	return o.killPrivileges(f.n.in, o.privileged(c))
}

// Allocate implements File.
func (f *openFile) Allocate(c Caller, mode uint32, off, length int64) error {
	const known = unix.FALLOC_FL_KEEP_SIZE | unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_ZERO_RANGE
	if mode&^known != 0 {
		return syscall.EOPNOTSUPP
	}
	if err := f.writable(c); err != nil {
		return err
	}
	if err := f.allocate(mode, off, length); err != nil {
		return err
	}
	// Whatever it did or did not change, the times say that it may have (file_modified in fs/inode.c).
	f.o.store.Lock()
	defer f.o.store.Unlock()
	f.o.modified(f.n, sqlvfs.Now())
	return nil
}

func (f *openFile) allocate(mode uint32, off, length int64) error {
	if mode&(unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_ZERO_RANGE) != 0 {
		return f.o.store.Zero(f.n.in, off, length, mode&unix.FALLOC_FL_KEEP_SIZE != 0, f.base(), sqlvfs.Now())
	}
	// Space cannot be set aside in a database; but if there is too little now, that is known now.
	st, err := f.o.Statfs()
	if err != nil {
		return err
	}
	if uint64(length)/uint64(st.BlockSize) > st.BlocksAvailable {
		return syscall.ENOSPC
	}
	if mode&unix.FALLOC_FL_KEEP_SIZE != 0 {
		return nil
	}
	return f.o.store.Extend(f.n.in, off+length, f.base(), sqlvfs.Now())
}

// Sync implements File.
func (f *openFile) Sync() error { return f.o.store.Sync() }

// Release implements File.
func (f *openFile) Release() {
	f.closeHost()
	f.o.store.Lock()
	defer f.o.store.Unlock()
	f.n.holds--
	f.o.drop(f.n)
}

func (f *openFile) closeHost() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.host != nil {
		f.host.Close()
		f.host = nil
	}
}

// openHost opens the file in the base, once.
func (f *openFile) openHost() (*HostFile, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.host != nil {
		return f.host, nil
	}
	f.o.store.Lock()
	path, based := f.n.path, f.n.based
	var origin *sqlvfs.Origin
	if f.n.in != nil {
		origin = f.n.in.Origin
	}
	f.o.store.Unlock()
	if !based {
		return nil, sqlvfs.ErrNoBase
	}
	host, err := f.o.host.Open(path)
	if err != nil && origin == nil {
		return nil, err
	}
	if origin != nil && (err != nil || host.Fingerprint != origin.Fingerprint) {
		if err == nil {
			host.Close()
		}
		return nil, f.o.baseChanged(path)
	}
	f.host = host
	return host, nil
}

// base is the origin's content for a file of the delta, opened when it is first read.
func (f *openFile) base() io.ReaderAt { return originReader{f} }

type originReader struct{ f *openFile }

// ReadAt reads from the origin and makes sure that it is still the version that was copied up:
// also of a file that was opened before the host changed it in place.
func (r originReader) ReadAt(p []byte, off int64) (int, error) {
	host, err := r.f.openHost()
	if err != nil {
		return 0, err
	}
	n, err := host.ReadAt(p, off)
	want := host.Fingerprint
	r.f.o.store.Lock()
	if in := r.f.n.in; in != nil && in.Origin != nil {
		want = in.Origin.Fingerprint // the copy-up may have come after the opening
	}
	path := r.f.n.path
	r.f.o.store.Unlock()
	if _, fp, serr := host.stat(); serr == nil && !sameContent(fp, want) {
		return 0, r.f.o.baseChanged(path)
	}
	return n, err
}

// baseChanged notes that a partly copied file cannot be read any more, and returns the error for who
// tried to.
func (o *Overlay) baseChanged(path string) error {
	err := fmt.Errorf("%w: %s", sqlvfs.ErrBaseChanged, path)
	o.store.Lock()
	known := slices.Contains(o.broken, path)
	if !known {
		o.broken = append(o.broken, path)
	}
	o.store.Unlock()
	if !known {
		o.logf("%v", err)
	}
	return err
}

// Broken returns the files, by their paths in the base, that were partly copied when the host changed
// them, and could not be read for this reason.
func (o *Overlay) Broken() []string {
	o.store.Lock()
	defer o.store.Unlock()
	return slices.Clone(o.broken)
}

// sameContent compares what a change of content changes. The change time alone also moves when the
// file is renamed or deleted on the host, which an open file may survive.
func sameContent(a, b sqlvfs.Fingerprint) bool {
	return a.Size == b.Size && a.Mtime == b.Mtime
}
