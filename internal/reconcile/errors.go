package reconcile

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/live"
	"github.com/riverlytech/art/internal/reconcile/report"
	"github.com/riverlytech/art/internal/reconcile/selection"
	"github.com/riverlytech/art/internal/session"
	"github.com/riverlytech/art/sqlvfs"
)

// PathError is about a path that the user has named and that cannot be meant: nothing was done.
type PathError = selection.PathError

// ErrIncomplete is returned when some paths could not be moved. Each was named on standard error.
var ErrIncomplete = report.ErrIncomplete

// ErrConflicts is returned when paths were left alone, because both sides changed them or because they
// need the user's permission. Each was named on standard error.
var ErrConflicts = report.ErrConflicts

// openError gives the reasons why a database does not open the words of the command line.
func openError(path string, err error) error {
	var used *sqlvfs.InUseError
	hint := ""
	switch {
	case errors.Is(err, sqlvfs.ErrForkParent): // it says that itself
	case errors.As(err, &used):
		hint = cmp.Or(session.InUse(os.Getenv, path), endSessionHint)
	case errors.Is(err, live.ErrGone):
		hint = "nothing was changed: pull again"
	case errors.Is(err, sqlvfs.ErrReadOnly):
		hint = "make the file writable, or copy it to where it can be written"
	case errors.Is(err, sqlvfs.ErrNewer):
		hint = "update art"
	case isFull(err):
		hint = "nothing was changed: make room"
	case errors.Is(err, sqlvfs.ErrForeign), errors.Is(err, sqlvfs.ErrNotDatabase):
		hint = "give a database that art has made, or the name of a new one to push"
	}
	return cli.WithHint(fmt.Errorf("open %s: %w", path, err), hint)
}

// reading and writing say of an error, if there is one, that it is of the database.
func (o *Options) reading(err error) error { return about("read "+o.DB, err) }
func (o *Options) writing(err error) error { return about("write "+o.DB, err) }

// about says what an error is about, if there is one.
func about(what string, err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %w", what, err)
	}
	return err
}

// isFull reports whether an error says that a disk has no room.
func isFull(err error) bool {
	errno := sqlvfs.Errno(err)
	return errno == syscall.ENOSPC || errno == syscall.EDQUOT
}
