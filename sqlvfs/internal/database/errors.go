package database

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/ncruces/go-sqlite3"
)

// Errors that opening or using a database can End in. They are wrapped with what was found.
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
	ErrNames       = errors.New("database has several names")
	ErrBeingRead   = errors.New("another program has the database open")
)

// ErrEmpty is a file that is about to be a database.
var ErrEmpty = fmt.Errorf("%w: it is empty", ErrNotDatabase)

// CatchOutOfMemory makes an error of the panic with which the library gives up when a connection needs
// more memory than it may have (256 MiB). Only a database leads to that which was made to: rows are
// bounded (maxRow). To be deferred.
func CatchOutOfMemory(err *error) {
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

// Explain puts SQLite's own words behind ours where they mean the same.
func Explain(err error) error {
	switch {
	case errors.Is(err, sqlite3.NOTADB):
		return fmt.Errorf("%w: %v", ErrNotDatabase, err)
	case errors.Is(err, sqlite3.CORRUPT), errors.Is(err, sqlite3.TOOBIG):
		return fmt.Errorf("%w: %v", ErrCorrupt, err)
	case errors.Is(err, sqlite3.READONLY):
		return fmt.Errorf("%w: %v", ErrReadOnly, err)
	}
	return err
}

func UnwrapPath(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
