package reconcile

import (
	"cmp"
	"context"
	"io"
	"os"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/reconcile/ignore"
	"github.com/riverlytech/art/internal/reconcile/report"
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
	// SessionOf is Session for another database; nil, as there.
	SessionOf func(db string) func(context.Context) (*os.File, error)

	// OnConflict is told of each path that is named as in conflict; may be nil.
	OnConflict func(path, why string)

	ctx context.Context

	Form   Form // diff: how to show
	Colour bool // diff: in colours
	Pager  bool // diff: standard output is a terminal, and a pager may show it

	StdinTerminal                  bool // what is typed is seen
	Stdout, Stderr                 io.Writer
	StdoutTerminal, StderrTerminal bool // quote names for a terminal; show progress on it
}

func newReporter(opt *Options) *report.Reporter {
	return report.New(report.Options{Quiet: opt.Quiet, Verbose: opt.Verbose, Total: opt.Total, DryRun: opt.DryRun, Stdout: opt.Stdout, Stderr: opt.Stderr,
		StdoutTerminal: opt.StdoutTerminal, StderrTerminal: opt.StderrTerminal, OnConflict: opt.OnConflict}, opt.prog())
}

// waiting says on a terminal that another process is waited for, which is about to close a database.
func (o *Options) waiting(db string) func(pid int) {
	if !o.StderrTerminal || o.Quiet {
		return nil
	}
	return cli.Waiting(o.Stderr, o.prog(), db)
}

// prog is the name of the program that the user has called.
func (o *Options) prog() string { return cmp.Or(o.Prog, "art-sync") }

// allows reports whether a path need not be held back.
func (o *Options) allows(rel string, isDir bool) bool {
	return ignore.Parse(o.Allow).Within(rel, isDir) == ignore.Out
}

// art's own directory at the top of a workspace.
const configDir = ".art"
