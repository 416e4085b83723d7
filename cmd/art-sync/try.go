package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"

	"golang.org/x/term"

	"github.com/riverlytech/art/internal/flags"
	"github.com/riverlytech/art/internal/history"
	"github.com/riverlytech/art/internal/live"
	"github.com/riverlytech/art/internal/workspace"
)

// try runs a command in several forks. Like bisect, it is a word of art alone.
func try(ctx context.Context, c *flags.Command, args []string) error {
	var p place
	o := history.TryOptions{Stderr: os.Stderr, Name: "try", Count: -1}
	o.Stdout, o.Prog = os.Stdout, prog
	variables := p.variables()
	variables["quiet"], variables["at"], variables["name"], variables["count"], variables["jobs"] = &o.Quiet, &o.At, &o.Name, &o.Count, &o.Jobs
	line, err := c.Parse(args, variables)
	switch {
	case err != nil:
		return err
	case o.Count < 0:
		return c.Wrong("how many forks to make was not said (-n)")
	case o.Count == 0 || o.Count > history.MaxTries:
		return c.Wrong(fmt.Sprintf("-n is from 1 to %d", history.MaxTries))
	case o.Jobs < 0:
		return c.Wrong("-j is at least 1")
	case len(line.Words) == 0:
		return c.Wrong("no command was given")
	}
	if o.Jobs == 0 {
		o.Jobs = min(o.Count, runtime.NumCPU())
	}
	p.session, p.makes = true, o.At == ""
	if err := p.find(); err != nil {
		return err
	}
	if _, err := workspace.Fork(p.db, fmt.Sprintf("%s-%d", o.Name, o.Count)); err != nil {
		return err
	}
	if err := p.begin(ctx); err != nil {
		return err
	}
	o.DB, o.Dir, o.Session, o.Command = p.db, p.dir, live.Connect(p.db), line.Words
	_, rows, err := term.GetSize(int(os.Stderr.Fd()))
	o.Terminal = err == nil && rows > o.Count
	run, err := sessionsOf(&p)
	if err != nil {
		return err
	}
	o.Run = func(ctx context.Context, db, fork string, command []string, output io.Writer) (int, error) {
		return run(ctx, guest{db: db, flags: []string{"--env=ART_FORK=" + fork}, command: command, stdout: output, stderr: output})
	}
	return history.Try(ctx, o)
}

// compare shows what came of forks.
func compare(ctx context.Context, c *flags.Command, args []string) error {
	o, words, err := ofHistory(c, args, nil)
	if err != nil {
		return err
	}
	return history.Compare(ctx, history.CompareOptions{Options: o, Forks: words})
}
