package main

import (
	"context"
	"os"

	"github.com/riverlytech/art/internal/flags"
	"github.com/riverlytech/art/internal/history"
)

// ofHistory reads the command line of a command about the history of one database, and finds that.
func ofHistory(c *flags.Command, args []string, label *string) (o history.Options, words []string, err error) {
	var p place
	o.Stdout = os.Stdout
	variables := p.variables()
	variables["json"], variables["quiet"], variables["label"] = &o.JSON, &o.Quiet, label
	line, err := c.Parse(args, variables)
	if err == nil {
		err = p.find()
	}
	if err != nil {
		return o, nil, err
	}
	o.DB, o.Session = p.db, connect(p.db)
	return o, line.Words, nil
}

func checkpoint(ctx context.Context, c *flags.Command, args []string) error {
	var label string
	o, _, err := ofHistory(c, args, &label)
	if err != nil {
		return err
	}
	return history.Checkpoint(ctx, label, o)
}

func undo(_ context.Context, c *flags.Command, args []string) error {
	o, _, err := ofHistory(c, args, nil)
	if err != nil {
		return err
	}
	return history.Undo(o)
}

func redo(_ context.Context, c *flags.Command, args []string) error {
	o, _, err := ofHistory(c, args, nil)
	if err != nil {
		return err
	}
	return history.Redo(o)
}

func rewind(_ context.Context, c *flags.Command, args []string) error {
	o, words, err := ofHistory(c, args, nil)
	if err != nil {
		return err
	}
	return history.Rewind(words[0], o)
}
