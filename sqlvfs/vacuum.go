package sqlvfs

import (
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
	"golang.org/x/sys/unix"
)

// What a deletion leaves free in the file is used again, but only a VACUUM gives it back to the disk:
// the means to give back single pages (auto_vacuum) is one that other tools damage the file with. A
// VACUUM copies all that is left, so it is made when that is less than what it gives back: over a
// file's life, no more is copied than was deleted.

const (
	shrinkFrom = 16 << 20 // free space that is worth giving back, in bytes
	// While nothing happens, a VACUUM is made if what is left can be copied in a moment, in bytes. Else
	// it waits for the end of the session.
	shrinkIdly    = 64 << 20
	maintainAfter = 2 * time.Second
)

// shrink gives free space back to the disk if there is much of it, and no more than most bytes are
// left. If that fails, for want of room for the copy for one, everything stays as it is; what else is
// wrong with the disk, the next transaction tells.
func (w *writer) shrink(most int64) {
	free, err := pragmaInt(w.Conn, "freelist_count")
	all, allErr := pragmaInt(w.Conn, "page_count")
	free, left := free*int64(w.pageSize), (all-free)*int64(w.pageSize)
	if err != nil || allErr != nil || free < shrinkFrom || free < left || left > most || w.store.scratch == nil {
		return
	}
	scratch.Lock()
	defer scratch.Unlock()
	scratch.file = w.store.scratch
	defer func() { scratch.file = nil }()
	w.awaitCheckpoint()
	if w.Exec("VACUUM") == nil {
		w.WALCheckpoint("main", sqlite3.CHECKPOINT_PASSIVE)
	}
}

// scratch is the file in which SQLite makes the copy. It asks for one without saying for which
// database; it has no name, and must have been opened beforehand, because a server gives up the right
// to.
var scratch struct {
	sync.Mutex
	file *os.File // GUARDED_BY(Mutex)
}

// openScratch opens a file without a name beside a database. It is nil where the file system has none.
func openScratch(path string) *os.File {
	fd, err := unix.Open(filepath.Dir(path), unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(fd), "scratch")
}

// openTemporary answers SQLite's request for a file that only the connection needs. One that nobody
// has opened beforehand is a file in memory: SQLite sorts an index in it.
func openTemporary() (vfs.File, error) {
	if f := scratch.file; f != nil {
		scratch.file = nil
		return scratchFile{f, false}, f.Truncate(0)
	}
	fd, err := unix.MemfdCreate("sqlite", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return scratchFile{os.NewFile(uintptr(fd), "sqlite"), true}, nil
}

// scratchFile is a file that nobody else can open, and that is gone with the process.
type scratchFile struct {
	*os.File
	own bool
}

var _ vfs.File = scratchFile{}

func (f scratchFile) Close() error {
	if !f.own {
		return f.Truncate(0) // for the next time
	}
	return f.File.Close()
}

func (f scratchFile) Size() (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

func (scratchFile) Sync(vfs.SyncFlag) error          { return nil }
func (scratchFile) Lock(vfs.LockLevel) error         { return nil }
func (scratchFile) Unlock(vfs.LockLevel) error       { return nil }
func (scratchFile) CheckReservedLock() (bool, error) { return false, nil }
func (scratchFile) SectorSize() int                  { return 4096 }
func (scratchFile) DeviceCharacteristics() vfs.DeviceCharacteristic {
	return vfs.IOCAP_POWERSAFE_OVERWRITE
}
