package sqlvfs

import (
	"errors"
	"syscall"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
	"github.com/riverlytech/art/sqlvfs/lock"
)

// Errors that opening or using a database can end in. They are wrapped with what was found.
var (
	ErrNotDatabase = database.ErrNotDatabase
	ErrForeign     = database.ErrForeign
	ErrNewer       = database.ErrNewer
	ErrReadOnly    = database.ErrReadOnly
	ErrCorrupt     = database.ErrCorrupt
	ErrNotExist    = database.ErrNotExist
	ErrNoBase      = database.ErrNoBase
	ErrBaseChanged = database.ErrBaseChanged
	ErrClosed      = database.ErrClosed
	ErrNames       = database.ErrNames
	ErrBeingRead   = database.ErrBeingRead
	ErrForkParent  = database.ErrParent
)

// InUseError is returned by [Open] when another process has the database open for writing.
type InUseError = lock.InUseError

// Errno is the system call error that stands for a storage error: ENOSPC when the disk is full,
// EROFS when it is read-only, ESTALE where the host's part of a file is not what it was, or a checkpoint cannot be shown, and EIO
// for the rest.
func Errno(err error) syscall.Errno {
	var errno syscall.Errno
	switch {
	case err == nil:
		return 0
	case errors.As(err, &errno):
		return errno
	case errors.Is(err, sqlite3.FULL):
		return syscall.ENOSPC
	case errors.Is(err, sqlite3.READONLY), errors.Is(err, ErrReadOnly):
		return syscall.EROFS
	case errors.Is(err, ErrNotExist):
		return syscall.ENOENT
	case errors.Is(err, ErrNoCheckpoint), errors.Is(err, ErrReplaced), errors.Is(err, ErrAgreed):
		return syscall.ESTALE
	}
	return syscall.EIO
}
