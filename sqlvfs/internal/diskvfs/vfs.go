// Package diskvfs is what SQLite reaches the files of the host through: the library's own VFS, and what that leaves out.
package diskvfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// Name is the name under which SQLite knows the files of the host.
const Name = "art"

func init() {
	vfs.Register(Name, FS{vfs.Find("os").(vfs.VFSFilename), SyncDir})
}

// FS is SQLite's way to the database and its logs: the library's own, with what it leaves out.
//
//   - A log whose file was just made is not safe before its name is. The library means to sync the
//     directory and does not: vfs/file.go in v0.35.6 syncs the file again, of one that it was asked to make.
//   - The header of a log that has never held anything need not be durable before what follows it ([File.Fresh]).
//   - After a failed sync, the kernel takes what it could not write for written, and the next sync
//     has nothing to do (fsync(2), NOTES; LWN 752063): the log must be written once more.
//   - Why a file could not be written is known to its connection ([Cause]). The library forgets
//     the error when the next call succeeds, which is often an unlock on the way out.
//   - Each page of a transaction is two writes to the log, which are gathered ([gather]).
type FS struct {
	vfs.VFSFilename
	SyncDir func(dir string) error
}

// SyncDir makes the names in a directory durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

func (v FS) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	if name == nil {
		f, err := openTemporary()
		return f, flags, err
	}
	inner, got, err := v.open(name, flags)
	if err != nil {
		return nil, got, err
	}
	f := &File{File: inner, isLog: flags&vfs.OPEN_WAL != 0, syncs: &syncs{}}
	if flags&vfs.OPEN_CREATE != 0 && flags&(vfs.OPEN_MAIN_JOURNAL|vfs.OPEN_WAL) != 0 {
		dir := filepath.Dir(name.String())
		f.syncName = func() error { return v.SyncDir(dir) }
	}
	return f, got, nil
}

// open has the library make a log only if there is none: one that it has not made, it does not sync twice.
func (v FS) open(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	if flags&vfs.OPEN_WAL != 0 {
		f, got, err := v.VFSFilename.OpenFilename(name, flags&^vfs.OPEN_CREATE)
		if !errors.Is(err, fs.ErrNotExist) {
			return f, got | flags&vfs.OPEN_CREATE, err
		}
	}
	return v.VFSFilename.OpenFilename(name, flags)
}

// File is a file of the database, as one connection has it open.
type File struct {
	vfs.File
	isLog    bool         // a write-ahead log
	syncName func() error // makes the file's name durable; nil when it is
	fresh    bool         // see Fresh
	failure  error        // of the last change, nil if it was made
	ahead    ahead        // of a database
	gather   gather       // of a log
	syncs    *syncs       // same
	follows  bool         // another connection writes the log, see Follow
}

// syncs are those of a log, by whatever connection.
type syncs struct {
	mu     sync.Mutex // while the log is synced
	failed bool       // one has failed, and none succeeded since. GUARDED_BY(mu)
}

// errNotRewritten says that a log has to be written again by who writes it.
var errNotRewritten = errors.New("the log could not be synced before")

var (
	_ vfs.FileSharedMemory = (*File)(nil)
	_ vfs.FileSizeHint     = (*File)(nil)
	_ vfs.FileHasMoved     = (*File)(nil)
)

func (f *File) WriteAt(p []byte, off int64) (n int, err error) {
	n, f.failure = f.writeAt(p, off)
	return n, f.failure
}

func (f *File) writeAt(p []byte, off int64) (int, error) {
	if !f.isLog {
		return f.File.WriteAt(p, off)
	}
	switch taken, full := f.gather.take(p, off); {
	case full:
		return len(p), f.flush()
	case taken:
		return len(p), nil
	}
	if err := f.flush(); err != nil {
		return 0, err
	}
	f.gather.pass(p, off)
	return f.File.WriteAt(p, off)
}

// flush writes what was gathered. If that fails, SQLite rolls the transaction back, and the store writes all of it again in another.
func (f *File) flush() error {
	g := &f.gather
	if len(g.frames) == 0 {
		return nil
	}
	_, err := f.File.WriteAt(g.frames, g.off)
	if g.frames = g.frames[:0]; err != nil {
		g.end, g.header = 0, false
	}
	return err
}

func (f *File) ReadAt(p []byte, off int64) (int, error) {
	if f.ahead.left > 0 {
		return f.ahead.readAt(f.File, p, off)
	}
	if f.gather.overlaps(len(p), off) {
		if err := f.flush(); err != nil {
			f.failure = err
			return 0, err
		}
	}
	return f.File.ReadAt(p, off)
}

// Size is the file's, with what was gathered.
func (f *File) Size() (int64, error) {
	if err := f.flush(); err != nil {
		f.failure = err
		return 0, err
	}
	return f.File.Size()
}

func (f *File) Truncate(size int64) error {
	f.gather.cut(size)
	if f.failure = f.flush(); f.failure == nil {
		f.failure = f.File.Truncate(size)
	}
	return f.failure
}

// Sync makes the file's content durable, and its name.
func (f *File) Sync(flags vfs.SyncFlag) error {
	f.failure = f.sync(flags)
	return f.failure
}

func (f *File) sync(flags vfs.SyncFlag) error {
	if err := f.flush(); err != nil {
		return err
	}
	if f.fresh {
		f.fresh = false
		if size, err := f.File.Size(); err == nil && size == logHeader {
			return nil
		}
	}
	if err := f.syncContent(flags); err != nil {
		return err
	}
	if f.syncName != nil {
		if err := f.syncName(); err != nil {
			return err
		}
		f.syncName = nil
	}
	return nil
}

func (f *File) syncContent(flags vfs.SyncFlag) error {
	if !f.isLog {
		// It need not be written again: SQLite goes on from the log until a checkpoint has succeeded as a whole.
		return f.File.Sync(flags)
	}
	f.syncs.mu.Lock()
	defer f.syncs.mu.Unlock()
	if f.syncs.failed {
		if f.follows {
			return errNotRewritten // what it would take for durable is not
		}
		if err := f.rewrite(); err != nil {
			return err
		}
	}
	err := f.File.Sync(flags)
	f.syncs.failed = err != nil
	return err
}

// Fresh says that a log's file is a new one, in which nothing was ever written. SQLite syncs the header of a log before the first frame of a
// transaction, since frames of an earlier one may follow the old header, and would count if the new header were lost (walWriteFrames in
// https://sqlite.org/src/file/src/wal.c). In a new file none do: without its header, it is no log. So that one sync is left to the next
// one, which is the transaction's.
func (f *File) Fresh() {
	size, err := f.File.Size()
	f.fresh = f.isLog && err == nil && size == 0
}

// Follow has a log of one connection know what came of syncs by another, which writes it and so is the one that can write it once
// more. Until that has succeeded, syncs of this one fail.
func (f *File) Follow(writes *File) { f.syncs, f.follows = writes.syncs, true }

// SyncFailed tells whether a sync of the log has failed, and none succeeded since.
func (f *File) SyncFailed() bool {
	f.syncs.mu.Lock()
	defer f.syncs.mu.Unlock()
	return f.syncs.failed
}

// rewrite writes what the file holds once more, so that the kernel has it to write.
func (f *File) rewrite() error {
	buf := make([]byte, 1<<20)
	for off := int64(0); ; {
		n, err := f.File.ReadAt(buf, off)
		if n == 0 && errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if _, err := f.File.WriteAt(buf[:n], off); err != nil {
			return err
		}
		off += int64(n)
	}
}

// SizeHint lets the file system find the space for a checkpoint beforehand.
func (f *File) SizeHint(size int64) error {
	h, ok := f.File.(vfs.FileSizeHint)
	if !ok {
		return nil
	}
	f.failure = h.SizeHint(size)
	return f.failure
}

// HasMoved tells whether the database's file is no longer found under its name.
func (f *File) HasMoved() (bool, error) {
	if m, ok := f.File.(vfs.FileHasMoved); ok {
		return m.HasMoved()
	}
	return false, nil
}

// SharedMemory is the index of the write-ahead log.
func (f *File) SharedMemory() vfs.SharedMemory {
	if m, ok := f.File.(vfs.FileSharedMemory); ok {
		return m.SharedMemory()
	}
	return nil
}

// DeviceCharacteristics are the file system's, without batches of writes that it makes as one,
// which need more than is checkpointed on here. Only a rollback journal would gain from them.
func (f *File) DeviceCharacteristics() vfs.DeviceCharacteristic {
	return f.File.DeviceCharacteristics() &^ vfs.IOCAP_BATCH_ATOMIC
}

// Cause puts what the error of the system call that failed means for the payload before an error of
// the connection's.
func Cause(c *sqlite3.Conn, err error) error {
	var errno syscall.Errno
	switch {
	case err == nil:
		return nil
	case errors.As(err, &errno):
	case errors.Is(err, sqlite3.IOERR_SHMSIZE):
		errno = syscall.ENOSPC // the log's index, which is made larger before it is used, is out of reach
	case errors.Is(err, sqlite3.IOERR), errors.Is(err, sqlite3.FULL), errors.Is(err, sqlite3.CANTOPEN):
		if errno = failure(c); errno == 0 && errors.Is(err, sqlite3.FULL) {
			errno = syscall.ENOSPC // it may have no more pages (max_page_count)
		}
	}
	if errno == 0 {
		return err
	}
	return fmt.Errorf("%w: %w", storageErrno(errno), err)
}

// failure is why the last change of one of the connection's files was not made, or 0.
func failure(c *sqlite3.Conn) (errno syscall.Errno) {
	for _, f := range [...]*File{open(c, sqlite3.FCNTL_JOURNAL_POINTER), open(c, sqlite3.FCNTL_FILE_POINTER)} {
		if f != nil && errors.As(f.failure, &errno) {
			return errno
		}
	}
	return 0
}

// Log is the write-ahead log of the database, as a connection has it open.
func Log(c *sqlite3.Conn) (*File, error) {
	if f := open(c, sqlite3.FCNTL_JOURNAL_POINTER); f != nil {
		return f, nil
	}
	return nil, errors.New("the database has no write-ahead log")
}

// Main is the database itself, as a connection has it open; nil if that is by another VFS.
func Main(c *sqlite3.Conn) *File { return open(c, sqlite3.FCNTL_FILE_POINTER) }

func open(c *sqlite3.Conn, which sqlite3.FcntlOpcode) *File {
	p, _ := c.FileControl("main", which)
	if u, ok := p.(vfs.FileUnwrap); ok {
		p = u.Unwrap()
	}
	f, _ := p.(*File)
	return f
}

// storageErrno is what an error of the database's file means for the files in it.
func storageErrno(errno syscall.Errno) syscall.Errno {
	switch errno {
	case syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS:
		return errno
	case syscall.EFBIG: // RLIMIT_FSIZE (setrlimit(2)), or the host's file system: there is no more room
		return syscall.ENOSPC
	}
	return syscall.EIO
}
