// Package sync moves a workspace between a host directory and a database: [Push] stores the
// directory, [Pull] brings it back.
//
// # What stays out
//
// Neither side trusts the other's names. The host directory may change while it is read, and the
// database may have been written by the program that was kept in the sandbox. So every access to
// the host is relative to a descriptor of the workspace and follows no symbolic link (host.go);
// the names in a database are checked, a directory is entered once, set-user-ID and set-group-ID
// bits are dropped, and only files, directories and symbolic links are made.
//
// `.art/` at the top of the workspace is what the next session reads as its configuration: it
// takes no part. Neither do the database's own files, nor what a pull that was killed left behind
// (staging.go).
//
// # Pull in three steps
//
//  1. plan (plan.go): compare the tree of the database with the host's. Nothing changes.
//  2. stage (stage.go): write each new file into a hidden directory of the workspace. All content
//     that comes from host files is read now, while they are what the database refers to. A disk
//     that fills up is noticed here, with the workspace still untouched.
//  3. place (place.go): make directories and rename what was staged to where it belongs, set
//     directories' times, and let the database's origins refer to the new files (origin.go).
package sync

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/sqlvfs"
)

// Options say what to move, and how to tell.
type Options struct {
	Dir    string // the workspace on the host
	DB     string // the database file
	DryRun bool   // say what would be done, change nothing
	Quiet  bool   // only errors are told

	Stdout, Stderr                 io.Writer
	StdoutTerminal, StderrTerminal bool // quote names for a terminal; show progress on it
}

// ErrIncomplete is returned when some paths could not be moved. Each was named on standard error.
var ErrIncomplete = errors.New("not everything was done")

// art's own directory at the top of a workspace.
const configDir = ".art"

// workspaceName returns the directory's absolute path and its base name, under which the
// workspace is kept in the database.
func workspaceName(dir string) (abs, name string, err error) {
	abs, err = filepath.Abs(dir)
	if err != nil {
		return "", "", fmt.Errorf("workspace %s: %w", dir, err)
	}
	name = filepath.Base(abs)
	if !sqlvfs.ValidName(name) {
		return "", "", cli.WithHint(fmt.Errorf("workspace %s: it has no name", abs),
			"choose a directory below it")
	}
	return abs, name, nil
}

// openError gives the reasons why a database does not open the words of the command line.
func openError(path string, err error) error {
	var used *sqlvfs.InUseError
	hint := ""
	switch {
	case errors.As(err, &used):
		hint = "end that session first"
	case errors.Is(err, sqlvfs.ErrReadOnly):
		hint = "make the file writable, or copy it to where it can be written"
	case errors.Is(err, sqlvfs.ErrNewer):
		hint = "update art"
	case errors.Is(err, sqlvfs.ErrForeign), errors.Is(err, sqlvfs.ErrNotDatabase):
		hint = "give a database that art has made, or the name of a new one to push"
	}
	return cli.WithHint(fmt.Errorf("open %s: %w", path, err), hint)
}
