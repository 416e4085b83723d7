package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/peterbourgon/ff/v3/ffcli"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/sqlvfs"
)

const checkUsage = `usage: art-fuse check DB

Check that a database is sound: as an SQLite file, and as a tree by the rules
of its format. Nothing is changed. A session may be running; then its last
commit is checked.

Prints one line for each violation. Exit 0 when there is none, 1 when there
are some or the file cannot be checked, 2 on wrong usage.

example:
  art-fuse check work.db
`

func checkCommand(stdout io.Writer) *ffcli.Command {
	set := flag.NewFlagSet("art-fuse check", flag.ContinueOnError)
	return &ffcli.Command{
		Name:      "check",
		FlagSet:   set,
		Options:   options,
		UsageFunc: func(*ffcli.Command) string { return checkUsage },
		Exec: func(_ context.Context, args []string) error {
			args, err := flagsAnywhere(set, args)
			if err != nil {
				return err
			}
			if len(args) != 1 {
				return usageError("check needs a database, and only that")
			}
			return check(stdout, args[0])
		},
	}
}

// check prints what is wrong with a database.
func check(stdout io.Writer, path string) error {
	findings, err := sqlvfs.Check(path)
	if err != nil {
		return cli.WithHint(fmt.Errorf("check database %s: %w", path, err), openHint(path, err))
	}
	for _, f := range findings {
		line := f.Text
		if f.Ino != 0 {
			line = fmt.Sprintf("inode %d: %s", f.Ino, f.Text)
		}
		if _, err := fmt.Fprintln(stdout, line); err != nil {
			return err
		}
	}
	if len(findings) > 0 {
		return reported{errors.New("the database is not sound")}
	}
	return nil
}
