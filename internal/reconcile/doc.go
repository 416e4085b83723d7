// Package reconcile moves changes of a workspace between a host directory and a database: [Push] brings
// what the host changed, [Pull] what the guest changed.
//
// # Who changed what
//
// Each path at which the host and the guest (the tree of the database) may differ is an item (item.go): what
// the host has there, what the guest has, and the baseline, which is what both were when they last agreed.
// Push and pull write it down (table art_baseline); of what a session has copied up, the row's origin is the
// baseline; of what it has hidden, the session writes one down; what it has not touched has no row, and no
// question arises. Package classify decides, by these three alone, whose version counts of content, mode,
// owner and extended attributes. What only one side changed goes to the other. What both changed is a
// conflict, unless they are equal; one about the content of a file holds for all of its names (links.go).
// It is left alone and named. Nothing else is ever overwritten or removed: what the host had at the moment
// of planning is looked for once more before it is replaced.
//
// # What stays out
//
// Neither side trusts the other's names. The host directory may change while it is read, and the
// database may have been written by the program that was kept in the sandbox. So every access to
// the host is relative to a descriptor of the workspace and follows no symbolic link (package hostfs);
// the names in a database are checked, a directory is entered once, set-user-ID and set-group-ID
// bits are dropped, and only files, directories and symbolic links are made.
//
// `.art/` at the top of the workspace is what the next session reads as its configuration: it
// takes no part. Neither do the database's own files, nor what a pull that was killed left behind
// (package staging).
//
// What the host would run by itself, and links that point out of the workspace, are held back until
// the user allows them (hold.go, packages held and settings).
//
// # Pull in four steps
//
//  1. gather (gather.go, removal.go, renamed.go, links.go): find the items, walking the rows of the database;
//     the host is asked about these paths only.
//  2. decide (decide.go, operation.go): from each decision, what the user asked for and what is held back,
//     operations follow. A dry run and diff (diff.go) end here. Nothing changes, and nothing will if the
//     host's file system cannot hold all of it (preflight.go, package staging).
//  3. stage (stage.go): write each new file into a hidden directory of the workspace. All content
//     that comes from host files is read now, while they are what the database refers to. A disk
//     that fills up is noticed here, with the workspace still untouched.
//  4. execute (execute.go, place.go): carry out the operations in the order of their dependencies,
//     with a journal by which the next push or pull finds what the guest has after a kill (journal.go,
//     recover.go), and write down the new baselines (commit.go).
//
// # The packages below
//
// What knows nothing of a workspace and its database is apart: classify (who changed what), selection (which
// paths the user means), held and settings (what the host would run), staging (files of the
// host), report, patch, pick and quote (what the user sees).
package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/live"
	"github.com/riverlytech/art/internal/reconcile/ignore"
	"github.com/riverlytech/art/internal/reconcile/report"
	"github.com/riverlytech/art/internal/reconcile/selection"
	"github.com/riverlytech/art/internal/session"
	"github.com/riverlytech/art/sqlvfs"
)

// Options say what to move, and how to tell.
type Options struct {
	Dir    string      // the workspace on the host
	DB     string      // the database file
	Name   string      // of the workspace in the database; "" is as on the host
	Prog   string      // which the user has called, as messages have it; "" is art-sync
	Umask  os.FileMode // pull: of directories that it makes on the way to the workspace
	Adopt  bool        // the workspace may have been another directory until now
	DryRun bool        // say what would be done, change nothing
	Quiet  bool        // only errors, conflicts and what is held back are reported

	Total   bool // how much was done is reported at the end
	Verbose bool // pull: each path that is held back is reported, however many there are

	Pick  bool      // pull: the user is asked about each change, and each hunk
	Stdin io.Reader // pull: where the answers come from

	Force    bool     // a path that both sides changed becomes what the other side has
	KeepBoth bool     // pull: the guest's version of such a path goes beside it, as NAME.art
	Allow    []string // pull: patterns (gitignore(5)) of paths that are not held back
	Paths    []string // take these and what is below them; none means all

	Exclude   []string // patterns of paths that are left out
	NoIgnored bool     // what git ignores is left out

	// Session connects to the session that writes the database. The error is [live.ErrNone] if none does; nil, that nobody
	// can tell.
	Session func(context.Context) (*os.File, error)

	ctx context.Context

	Form   Form // diff: how to show
	Colour bool // diff: in colours
	Pager  bool // diff: standard output is a terminal, and a pager may show it

	StdinTerminal                  bool // what is typed is seen
	Stdout, Stderr                 io.Writer
	StdoutTerminal, StderrTerminal bool // quote names for a terminal; show progress on it
}

// PathError is about a path that the user has named and that cannot be meant: nothing was done.
type PathError = selection.PathError

func newReporter(opt *Options) *report.Reporter {
	return report.New(report.Options{Quiet: opt.Quiet, Verbose: opt.Verbose, Total: opt.Total, DryRun: opt.DryRun, Stdout: opt.Stdout, Stderr: opt.Stderr,
		StdoutTerminal: opt.StdoutTerminal, StderrTerminal: opt.StderrTerminal}, opt.prog())
}

// waiting says on a terminal that another process is waited for.
func (o *Options) waiting() func(pid int) {
	if !o.StderrTerminal || o.Quiet {
		return nil
	}
	return cli.Waiting(o.Stderr, o.prog(), o.DB)
}

// prog is the name of the program that the user has called.
func (o *Options) prog() string { return cmp.Or(o.Prog, "art-sync") }

// ErrIncomplete is returned when some paths could not be moved. Each was named on standard error.
var ErrIncomplete = report.ErrIncomplete

// ErrConflicts is returned when paths were left alone, because both sides changed them or because they
// need the user's permission. Each was named on standard error.
var ErrConflicts = report.ErrConflicts

// allows reports whether a path need not be held back.
func (o *Options) allows(rel string, isDir bool) bool {
	return ignore.Parse(o.Allow).Within(rel, isDir) == ignore.Out
}

// art's own directory at the top of a workspace.
const configDir = ".art"

// openError gives the reasons why a database does not open the words of the command line.
func openError(path string, err error) error {
	var used *sqlvfs.InUseError
	hint := ""
	switch {
	case errors.As(err, &used):
		hint = cmp.Or(session.InUse(os.Getenv, path), endSession)
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
