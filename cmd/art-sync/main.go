// Command art-sync moves changes of a workspace between a host directory and a database, and shows
// them. It is what `art push`, `art pull` and `art diff` run, and works by itself.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/flags"
	"github.com/riverlytech/art/internal/history"
	"github.com/riverlytech/art/internal/live"
	"github.com/riverlytech/art/internal/overview"
	"github.com/riverlytech/art/internal/reconcile"
	"github.com/riverlytech/art/internal/version"
	"github.com/riverlytech/art/internal/workspace"
	"github.com/riverlytech/art/libexec"
	"github.com/riverlytech/art/sqlvfs"
)

// prog is the name of the program in its messages: that of art, where the user has called that.
var prog = "art-sync"

func main() {
	// SQLite makes its log and index beside the database with the mode that umask leaves, and what is in
	// a database is for its owner alone. What is pulled is given its mode.
	umask = os.FileMode(unix.Umask(0o077))
	if asArt() {
		prog = "art"
	}
	os.Exit(run(os.Args[1:]))
}

// umask is the caller's.
var umask os.FileMode

// command is what art-sync does by a word.
type command func(ctx context.Context, c *flags.Command, args []string) error

var commands = map[string]command{
	"push": synchronize(reconcile.Push), "pull": synchronize(reconcile.Pull), "diff": synchronize(diff), "reset": synchronize(reconcile.Reset),
	"summary": summarize, "status": status, "log": showLog, "blame": blame, "timeline": timeline, "list": list, "rm": remove, "home diff": homeDiff,
	"checkpoint": checkpoint, "undo": undo, "redo": redo, "rewind": rewind, "fork": fork, "merge": merge, "bisect": bisect, "try": try, "compare": compare, "gc": gc, "net": showNet,
}

func run(args []string) int {
	if err := libexec.CheckCaller("art-sync"); err != nil {
		cli.Fail(prog, err)
		return cli.ExitError
	}
	// A signal ends the run in order: what a pull has staged is removed, a push closes its database.
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer stop()
	var err error
	if do := forArt[strings.Join(args, " ")]; do != nil {
		err = do(ctx)
	} else {
		err = dispatch(ctx, args)
	}
	text, wanted := flags.Help(err)
	switch {
	case wanted:
		fmt.Print(text)
		return cli.OK
	case err == nil:
		return cli.OK
	case errors.Is(err, errDiffer):
		return cli.ExitDiffers
	}
	if tried, ok := errors.AsType[history.TriedError](err); ok {
		return tried.Code
	}
	cli.Fail(prog, err)
	c := flags.Sync
	if len(args) > 0 {
		c = cmp.Or(flags.Find(prog+" "+args[0]), c)
	}
	switch {
	case errors.As(err, new(reconcile.PathError)):
		return cli.ExitUsage
	case c.Exits != flags.AsDiff && errors.Is(err, reconcile.ErrConflicts):
		return cli.ExitConflicts
	}
	return c.Failed(err)
}

func dispatch(ctx context.Context, args []string) error {
	if len(args) > 0 {
		if do := commands[args[0]]; do != nil {
			if c := flags.Find(prog + " " + args[0]); c != nil {
				return do(ctx, c, args[1:])
			}
		}
	}
	var showVersion bool
	_, err := flags.Sync.Parse(args, map[string]any{"version": &showVersion})
	switch {
	case err != nil:
		return err
	case !showVersion:
		return flags.Sync.NoCommand()
	}
	_, err = fmt.Println("art-sync", version.Version)
	return err
}

// synchronize returns the command line of push, pull, diff or reset.
func synchronize(do func(context.Context, reconcile.Options) error) command {
	return func(ctx context.Context, c *flags.Command, args []string) (err error) {
		opt := reconcile.Options{
			Prog: prog, Umask: umask, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Total: true,
			StdinTerminal:  term.IsTerminal(int(os.Stdin.Fd())),
			StdoutTerminal: term.IsTerminal(int(os.Stdout.Fd())), StderrTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		}
		word := c.Name[strings.LastIndex(c.Name, " ")+1:]
		var from, told string // the fork that is pulled; where events go
		p := place{makes: word == "push", writes: word != "diff", reads: word == "diff"}
		defer p.close(&err)
		variables := p.variables()
		maps.Copy(variables, map[string]any{
			"name": &opt.Name, "from": &from, "adopt": &opt.Adopt, "quiet": &opt.Quiet, "exclude": &opt.Exclude, "no-ignored": &opt.NoIgnored,
			"dry-run": &opt.DryRun, "force": &opt.Force, "keep-both": &opt.KeepBoth, "allow": &opt.Allow, "verbose": &opt.Verbose, "pick": &opt.Pick, "events": &told,
			"patch": form(&opt.Form, reconcile.Patch), "stat": form(&opt.Form, reconcile.Stat), "json": form(&opt.Form, reconcile.JSON),
		})
		line, err := c.Parse(args, variables)
		switch {
		case err != nil:
			return err
		case opt.Force && opt.KeepBoth:
			return c.Wrong("--force and --keep-both exclude each other")
		case p.db == "" && p.agent == "" && !asArt():
			return c.Wrong("no database was given (--db)")
		}
		ranged := word == "diff" && len(line.Words) > 0 && (strings.Contains(line.Words[0], "..") || strings.HasPrefix(line.Words[0], "@"))
		if ranged {
			p.adopt = opt.Adopt
			if err := p.find(); err != nil {
				return err
			}
			if from, to, ok := history.ParseRange(line.Words[0], workspace.IsFork(p.db)); ok {
				if opt.Adopt || opt.NoIgnored || opt.Exclude != nil {
					return c.Wrong("checkpoints are compared without --adopt, --exclude and --no-ignored")
				}
				return diffMoments(ctx, &p, &opt, from, to, line.Words)
			}
		}
		p.adopt, p.makes, p.writes, p.dry = opt.Adopt, p.makes && !opt.DryRun, p.writes && !opt.DryRun, opt.DryRun
		if err := p.find(); err != nil {
			return err
		}
		if from != "" {
			if p.db, err = workspace.FindFork(p.db, from); err != nil {
				return err
			}
		}
		opt.Dir, opt.DB, opt.Paths = p.dir, p.db, line.Words
		opt.Session, opt.SessionOf = live.Connect(p.db), live.Connect
		var end func()
		if opt.OnConflict, end, err = tellConflicts(told, p.dir, word); err != nil {
			return err
		}
		defer end()
		return do(ctx, opt)
	}
}

// errDiffer says that there are differences, which is no error.
var errDiffer = errors.New("the sides differ")

func diff(ctx context.Context, opt reconcile.Options) error {
	paint(&opt)
	differ, err := reconcile.Diff(ctx, opt)
	if len(opt.Paths) > 0 && errors.As(err, new(reconcile.PathError)) {
		err = cli.WithHint(err, history.HintOfName(opt.DB, opt.Paths[0]))
	}
	if err == nil && differ {
		err = errDiffer
	}
	return err
}

// diffMoments is diff of two moments, which the first word names unless it is the path of something.
func diffMoments(ctx context.Context, p *place, opt *reconcile.Options, from, to history.Point, words []string) error {
	opt.Dir, opt.DB = p.dir, p.db
	paint(opt)
	differ, err := history.Diff(ctx, history.DiffOptions{
		Prog: prog, DB: p.db, Dir: p.dir, Name: opt.Name, From: from, To: to, Paths: words[1:], Form: opt.Form, Quiet: opt.Quiet, Colour: opt.Colour, Pager: opt.Pager,
		Stdout: opt.Stdout, Stderr: opt.Stderr, StdoutTerminal: opt.StdoutTerminal, StderrTerminal: opt.StderrTerminal,
	})
	if errors.Is(err, sqlvfs.ErrNoCheckpoint) {
		if _, lerr := os.Lstat(words[0]); lerr == nil {
			opt.Paths = words
			return diff(ctx, *opt)
		}
		err = history.NoSuchPoint(p.db, words[0], err)
	}
	if err == nil && differ {
		err = errDiffer
	}
	return err
}

// paint has differences shown as a terminal can.
func paint(opt *reconcile.Options) {
	opt.Colour = opt.StdoutTerminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	opt.Pager = opt.StdoutTerminal
	// Who leaves the pager early has seen enough: that is no reason to die.
	signal.Ignore(unix.SIGPIPE)
}

// form returns the setter of a flag that chooses how differences are shown; the last one counts.
func form(chosen *reconcile.Form, what reconcile.Form) func(string) error {
	return func(s string) error {
		on, err := strconv.ParseBool(s)
		switch {
		case on:
			*chosen = what
		case *chosen == what:
			*chosen = reconcile.Names
		}
		return err
	}
}

// summarize is what art calls at the end of a session: it prints in a few words how the workspace in the database differs
// from the host's, or nothing.
func summarize(ctx context.Context, c *flags.Command, args []string) error {
	var opt reconcile.Options
	asJSON := false
	if _, err := c.Parse(args, map[string]any{"mount": &opt.Dir, "db": &opt.DB, "json": &asJSON}); err != nil {
		return err
	}
	if asJSON {
		return overview.Pending(ctx, opt.Dir, opt.DB, overviewOptions())
	}
	sum, err := reconcile.Summarize(ctx, opt)
	if err != nil {
		return fmt.Errorf("compare the workspace with the host: %w", err)
	}
	fmt.Print(sum)
	return nil
}
