package main

import (
	"context"
	"errors"
	"maps"
	"math"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/flags"
	"github.com/riverlytech/art/internal/history"
	"github.com/riverlytech/art/internal/live"
	"github.com/riverlytech/art/internal/reconcile/report"
	"github.com/riverlytech/art/internal/workspace"
	"github.com/riverlytech/art/sqlvfs"
)

// ofHistory reads the command line of a command about the history of one database, and finds that.
func ofHistory(c *flags.Command, args []string, label *string) (o history.Options, words []string, err error) {
	var p place
	return p.ofHistory(c, args, label)
}

func (p *place) ofHistory(c *flags.Command, args []string, label *string) (o history.Options, words []string, err error) {
	o.Stdout, o.Prog = os.Stdout, prog
	variables := p.variables()
	variables["json"], variables["quiet"], variables["label"], variables["at"] = &o.JSON, &o.Quiet, label, label
	line, err := c.Parse(args, variables)
	if err == nil {
		p.makes = p.session && *label == ""
		err = p.find()
	}
	if err != nil {
		return o, nil, err
	}
	o.DB, o.Dir, o.Session = p.db, p.dir, live.Connect(p.db)
	return o, line.Words, nil
}

func checkpoint(ctx context.Context, c *flags.Command, args []string) error {
	var label string
	o, _, err := ofHistory(c, args, &label)
	if errors.Is(err, errInSession) {
		return errNoCheckpoints
	}
	if err != nil {
		return err
	}
	return history.Checkpoint(ctx, label, o)
}

func undo(ctx context.Context, c *flags.Command, args []string) error {
	o, _, err := ofHistory(c, args, nil)
	if err != nil {
		return err
	}
	return history.Undo(ctx, o)
}

func redo(ctx context.Context, c *flags.Command, args []string) error {
	o, _, err := ofHistory(c, args, nil)
	if err != nil {
		return err
	}
	return history.Redo(ctx, o)
}

func rewind(ctx context.Context, c *flags.Command, args []string) error {
	o, words, err := ofHistory(c, args, nil)
	if err != nil {
		return err
	}
	return history.Rewind(ctx, words[0], words[1:], o)
}

// fork makes forks beside the database, or where paths say.
func fork(ctx context.Context, c *flags.Command, args []string) error {
	var at string
	p := place{session: true}
	o, words, err := p.ofHistory(c, args, &at)
	if err != nil {
		return err
	}
	var paths []string
	for _, path := range words {
		if !strings.ContainsRune(path, '/') {
			if path, err = workspace.Fork(o.DB, path); err != nil {
				return err
			}
		}
		paths = append(paths, path)
	}
	o.Begin = p.begin
	return history.Fork(ctx, paths, at, o)
}

// merge merges a fork that lies beside the database, or where a path says.
func merge(ctx context.Context, c *flags.Command, args []string) error {
	var p place
	o := history.MergeOptions{Other: live.Connect, Report: report.Options{Total: true, Stdout: os.Stdout, Stderr: os.Stderr,
		StdoutTerminal: term.IsTerminal(int(os.Stdout.Fd())), StderrTerminal: term.IsTerminal(int(os.Stderr.Fd()))}}
	o.Prog, o.Stdout = prog, os.Stdout
	var told string // where events go
	variables := p.variables()
	maps.Copy(variables, map[string]any{"json": &o.JSON, "quiet": &o.Quiet, "dry-run": &o.DryRun, "force": &o.Force, "ours": &o.Ours, "events": &told})
	line, err := c.Parse(args, variables)
	switch {
	case err != nil:
		return err
	case o.Force && o.Ours:
		return c.Wrong("--force and --ours exclude each other")
	}
	if err := p.find(); err != nil {
		return err
	}
	o.DB, o.Dir, o.Session = p.db, p.dir, live.Connect(p.db)
	if o.Fork, err = workspace.FindFork(o.DB, line.Words[0]); err != nil {
		return err
	}
	var end func()
	if o.Report.OnConflict, end, err = tellConflicts(told, o.Dir, "merge"); err != nil {
		return err
	}
	defer end()
	return history.Merge(ctx, o)
}

func gc(_ context.Context, c *flags.Command, args []string) error {
	var p place
	k := sqlvfs.DefaultKeep
	k.Undone = 0 // who asks for room gets it
	days, gone := int64(k.For/day), false
	o := history.Options{Stdout: os.Stdout}
	variables := p.variables()
	maps.Copy(variables, map[string]any{"quiet": &o.Quiet, "gone": &gone, "checkpoints": &k.Checkpoints, "days": &days, "size": func(text string) error {
		size, ok := config.ParseBytes(text)
		if !ok {
			return errors.New(`write a number of bytes, or one such as "512M" or "2G"`)
		}
		k.Bytes = int64(size)
		return nil
	}})
	_, err := c.Parse(args, variables)
	switch {
	case err != nil:
		return err
	case k.Checkpoints < 1 || days < 1 || days > math.MaxInt64/int64(day):
		return c.Wrong("--checkpoints and --days are at least 1")
	}
	k.For = time.Duration(days) * day
	if err := p.find(); err != nil {
		return err
	}
	o.DB = p.db
	return history.Thin(k, gone, o)
}

const day = 24 * time.Hour
