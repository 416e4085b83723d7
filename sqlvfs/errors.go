package sqlvfs

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/ncruces/go-sqlite3"
)

// Errors that opening or using a database can end in. They are wrapped with what was found.
var (
	ErrNotDatabase = errors.New("not an SQLite database")
	ErrForeign     = errors.New("database of another application")
	ErrNewer       = errors.New("database was made by a newer version of art")
	ErrReadOnly    = errors.New("database cannot be written")
	ErrCorrupt     = errors.New("database is damaged")
	ErrNotExist    = errors.New("no such file")
	ErrNoBase      = errors.New("content is in a host directory that is not there")
	ErrBaseChanged = errors.New("host file changed since it was partly copied")
	ErrClosed      = errors.New("database is closed")
	ErrBeingRead   = errors.New("another program has the database open")
)

// errEmpty is a file that is about to be a database.
var errEmpty = fmt.Errorf("%w: it is empty", ErrNotDatabase)

// outOfMemory makes an error of the panic with which the library gives up when a connection needs
// more memory than it may have (256 MiB). Only a database leads to that which was made to: rows are
// bounded (maxRow). To be deferred.
func outOfMemory(err *error) {
	switch r := recover().(type) {
	case nil:
	case error:
		if !strings.Contains(r.Error(), "out of memory") { // a type of its own, which has no name
			panic(r)
		}
		*err = fmt.Errorf("%w: it takes more memory than any database should", ErrCorrupt)
	default:
		panic(r)
	}
}

// InUseError is returned by [Open] when another process has the database open for writing.
type InUseError struct {
	PID int // of that process; 0 when it cannot be told
}

func (e *InUseError) Error() string {
	if e.PID == 0 {
		return "database is in use by another session"
	}
	return fmt.Sprintf("database is in use by another session (process %d)", e.PID)
}

// Errno is the system call error that stands for a storage error: ENOSPC when the disk is full,
// EROFS when it is read-only, ESTALE where the host's part of a file is not what it was, and EIO
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
	}
	return syscall.EIO
}
