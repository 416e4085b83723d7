package main

import (
	"context"
	"os"

	"golang.org/x/term"

	"github.com/riverlytech/art/internal/flags"
	"github.com/riverlytech/art/internal/home"
	"github.com/riverlytech/art/internal/reconcile/patch"
)

// homeDiff is art home diff, the one of art home's commands for which art would have to be linked with package patch.
func homeDiff(_ context.Context, c *flags.Command, args []string) error {
	o := &home.Options{Stdout: os.Stdout, Stderr: os.Stderr, Terminal: term.IsTerminal(int(os.Stdout.Fd()))}
	var lines bool
	line, err := c.Parse(args, map[string]any{"json": &o.JSON, "patch": &lines})
	if err != nil {
		return err
	}
	if lines {
		o.Patch = showLines
	}
	differs, err := home.Diff(line.Words[0], line.Words[1:], o)
	if err == nil && differs {
		err = errDiffer
	}
	return err
}

func showLines(c *home.Change) (text string) {
	change := patch.File{OldName: c.Path, NewName: c.Path, OldMode: c.OldMode, NewMode: c.NewMode, Old: c.Old, New: c.New}
	for _, f := range change.Split() {
		text += f.String()
	}
	return text
}
