// Command art-sync moves changes of a workspace between a host directory and a database, and shows
// them. It is what `art push`, `art pull` and `art diff` run, and works by itself.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"

	"github.com/peterbourgon/ff/v3"
	"github.com/peterbourgon/ff/v3/ffcli"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/reconcile"
	"github.com/riverlytech/art/internal/version"
	"github.com/riverlytech/art/libexec"
)

const prog = "art-sync"

func main() {
	// SQLite makes its log and index beside the database with the mode that umask leaves, and what is in
	// a database is for its owner alone. What is pulled is given its mode.
	umask = os.FileMode(unix.Umask(0o077))
	os.Exit(run(os.Args[1:]))
}

// umask is the caller's.
var umask os.FileMode

// usageError is a command line that makes no sense.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func run(args []string) int {
	if err := libexec.CheckCaller(prog); err != nil {
		cli.Fail(prog, err)
		return cli.ExitError
	}
	// A signal ends the run in order: what a pull has staged is removed, a push closes its database.
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer stop()
	err := dispatch(ctx, args)
	switch {
	case err == nil:
		return cli.OK
	case errors.As(err, new(usageError)), errors.As(err, new(reconcile.PathError)):
		cli.Fail(prog, err)
		return cli.ExitUsage
	}
	if errors.Is(err, errDiffer) {
		return cli.ExitDiffers
	}
	cli.Fail(prog, err)
	switch {
	case errors.As(err, new(troubleError)):
		return cli.ExitTrouble
	case errors.Is(err, reconcile.ErrConflicts):
		return cli.ExitConflicts
	}
	return cli.ExitError
}

// errDiffer says that there are differences, which is no error.
var errDiffer = errors.New("the sides differ")

// troubleError is why differences could not be shown, or not all of them.
type troubleError struct{ error }

func (e troubleError) Unwrap() error { return e.error }

func diff(ctx context.Context, opt reconcile.Options) error {
	opt.Colour = opt.StdoutTerminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	opt.Pager = opt.StdoutTerminal
	// Who leaves the pager early has seen enough: that is no reason to die.
	signal.Ignore(unix.SIGPIPE)
	differ, err := reconcile.Diff(ctx, opt)
	switch {
	case err != nil:
		return troubleError{err}
	case differ:
		return errDiffer
	}
	return nil
}

func dispatch(ctx context.Context, args []string) error {
	var showVersion bool
	fs := newFlagSet(prog)
	fs.BoolVar(&showVersion, "version", false, "")
	root := &ffcli.Command{Name: prog, FlagSet: fs}
	root.Exec = func(_ context.Context, args []string) error {
		switch {
		case showVersion:
			_, err := fmt.Println(prog, version.Version)
			return err
		case len(args) > 0:
			return wrongUsage(prog, fmt.Errorf("%s: no such command", args[0]))
		}
		return wrongUsage(prog, errors.New("no command was given"))
	}
	for name, do := range map[string]func(context.Context, reconcile.Options) error{"push": reconcile.Push, "pull": reconcile.Pull, "diff": diff, "reset": reconcile.Reset} {
		c, err := newSubcommand(name, do)
		if err != nil {
			return err
		}
		root.Subcommands = append(root.Subcommands, c)
	}
	root.Subcommands = append(root.Subcommands, summaryCommand())
	root.Subcommands = append(root.Subcommands, overviewCommands()...)
	// The flag package asks for the usage text of the command whose flags it could not read: that
	// tells which one help is about.
	about := prog
	for _, c := range append([]*ffcli.Command{root}, root.Subcommands...) {
		c.UsageFunc = func(c *ffcli.Command) string { about = c.Name; return "" }
	}
	switch err := root.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		_, err := fmt.Print(usages[about])
		return err
	case err != nil:
		return wrongUsage(about, err)
	}
	return root.Run(ctx)
}

func newSubcommand(name string, do func(context.Context, reconcile.Options) error) (*ffcli.Command, error) {
	opt := reconcile.Options{
		Dir: ".", Umask: umask, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Total: true,
		StdinTerminal:  term.IsTerminal(int(os.Stdin.Fd())),
		StdoutTerminal: term.IsTerminal(int(os.Stdout.Fd())), StderrTerminal: term.IsTerminal(int(os.Stderr.Fd())),
	}
	// The environment comes first, by the long names, so that what is given on the command line
	// counts more under either of its names.
	env := newFlagSet(name)
	var agent string
	longFlags(env, name, &opt, &agent)
	if err := ff.Parse(env, nil, ff.WithEnvVarPrefix("ART")); err != nil {
		return nil, wrongUsage(name, err)
	}
	fs := newFlagSet(name)
	longFlags(fs, name, &opt, &agent)
	fs.StringVar(&opt.Dir, "m", opt.Dir, "")
	fs.StringVar(&opt.DB, "d", opt.DB, "")
	fs.BoolVar(&opt.Quiet, "q", opt.Quiet, "")
	if name == "pull" {
		fs.BoolVar(&opt.Verbose, "v", opt.Verbose, "")
		fs.BoolVar(&opt.Pick, "p", opt.Pick, "")
	}
	c := &ffcli.Command{Name: name, FlagSet: fs}
	c.Exec = func(ctx context.Context, args []string) error {
		switch {
		case opt.Force && opt.KeepBoth:
			return wrongUsage(name, errors.New("--force and --keep-both exclude each other"))
		case opt.DB == "" && agent == "" && !asArt():
			return wrongUsage(name, errors.New("no database was given (--db)"))
		case opt.DB == "" || agent != "":
			p := place{set: fs, dir: &opt.Dir, db: &opt.DB, agent: agent, makes: name == "push" && !opt.DryRun, adopt: opt.Adopt, writes: name != "diff" && !opt.DryRun}
			switch err := p.find(); {
			case err != nil && name == "diff":
				return troubleError{err}
			case err != nil:
				return err
			}
		}
		opt.Paths = args
		return do(ctx, opt)
	}
	return c, nil
}

// summaryCommand is what art calls at the end of a session: it prints in a few words how the
// workspace in the database differs from the host's, or nothing.
func summaryCommand() *ffcli.Command {
	var opt reconcile.Options
	fs := newFlagSet("summary")
	fs.StringVar(&opt.Dir, "m", ".", "")
	fs.StringVar(&opt.DB, "d", "", "")
	return &ffcli.Command{Name: "summary", FlagSet: fs, Exec: func(ctx context.Context, _ []string) error {
		sum, err := reconcile.Summarize(ctx, opt)
		if err != nil {
			return fmt.Errorf("compare the workspace with the host: %w", err)
		}
		fmt.Print(sum)
		return nil
	}}
}

func longFlags(fs *flag.FlagSet, command string, opt *reconcile.Options, agent *string) {
	fs.StringVar(agent, "agent", *agent, "")
	fs.StringVar(&opt.Dir, "mount", opt.Dir, "")
	fs.StringVar(&opt.Dir, "workspace", opt.Dir, "")
	fs.StringVar(&opt.DB, "db", opt.DB, "")
	fs.StringVar(&opt.Name, "name", opt.Name, "")
	fs.BoolVar(&opt.Adopt, "adopt", opt.Adopt, "")
	fs.BoolVar(&opt.Quiet, "quiet", opt.Quiet, "")
	if command != "reset" {
		fs.Var((*list)(&opt.Exclude), "exclude", "")
		fs.BoolVar(&opt.NoIgnored, "no-ignored", opt.NoIgnored, "")
	}
	if command != "diff" {
		fs.BoolVar(&opt.DryRun, "dry-run", opt.DryRun, "")
		fs.BoolVar(&opt.Force, "force", opt.Force, "")
	}
	switch command {
	case "diff":
		fs.Var(form{&opt.Form, reconcile.Patch}, "patch", "")
		fs.Var(form{&opt.Form, reconcile.Stat}, "stat", "")
		fs.Var(form{&opt.Form, reconcile.JSON}, "json", "")
	case "pull":
		fs.BoolVar(&opt.Verbose, "verbose", opt.Verbose, "")
		fs.BoolVar(&opt.Pick, "pick", opt.Pick, "")
		fs.BoolVar(&opt.KeepBoth, "keep-both", opt.KeepBoth, "")
		fs.Var((*list)(&opt.Allow), "allow", "")
	}
}

// form is a flag that chooses how differences are shown; the last one counts.
type form struct {
	chosen *reconcile.Form
	what   reconcile.Form
}

func (f form) String() string { return "" }

func (f form) Set(s string) error {
	on, err := strconv.ParseBool(s)
	switch {
	case err != nil:
		return err
	case on:
		*f.chosen = f.what
	case *f.chosen == f.what:
		*f.chosen = reconcile.Names
	}
	return nil
}

func (f form) IsBoolFlag() bool { return true }

// list is a flag that may be given several times.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(s string) error {
	*l = append(*l, s)
	return nil
}

// newFlagSet makes a flag set that prints nothing by itself: help that was asked for belongs on
// standard output, and what is wrong is told in this project's own way.
func newFlagSet(name string) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	return fs
}

func wrongUsage(command string, err error) error {
	hint := "see " + prog + " " + command + " --help"
	if command == prog {
		hint = "see " + prog + " --help"
	}
	return usageError{cli.WithHint(err, hint)}
}
