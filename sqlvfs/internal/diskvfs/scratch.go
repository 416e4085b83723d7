package diskvfs

import (
	"os"
	"path/filepath"
	"sync"

	"github.com/ncruces/go-sqlite3/vfs"
	"golang.org/x/sys/unix"
)

// scratch is the file in which SQLite makes the copy of a VACUUM. It asks for one without saying for which
// database; it has no name, and must have been opened beforehand, because a server gives up the right
// to.
var scratch struct {
	sync.Mutex
	file *os.File // GUARDED_BY(Mutex)
}

// OpenScratch opens a file without a name beside a database. It is nil where the file system has none.
func OpenScratch(path string) *os.File {
	fd, err := unix.Open(filepath.Dir(path), unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(fd), "scratch")
}

// WithScratch runs a VACUUM, which makes its copy in a file of [OpenScratch].
func WithScratch(f *os.File, vacuum func() error) error {
	scratch.Lock()
	defer scratch.Unlock()
	scratch.file = f
	defer func() { scratch.file = nil }()
	return vacuum()
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
