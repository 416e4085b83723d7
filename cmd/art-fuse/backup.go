package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"syscall"

	"github.com/peterbourgon/ff/v3/ffcli"
	"golang.org/x/term"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/sqlvfs"
)

const backupUsage = `usage: art-fuse backup DB FILE

Copy a database into the new file FILE, which only you may read. A session may
be running: then what its last commit left is copied, which is at most a moment
old, and the session goes on meanwhile. FILE appears when it is whole and safe
on the disk. A file that is there already is left alone.

What the database still has on the host is not part of the copy; 'art-fuse
flatten' makes one that holds all.

Exit 0 when all was copied, 1 on an error, 2 on wrong usage.

example:
  art-fuse backup work.db work-monday.db
`

func backupCommand(stdout io.Writer) *ffcli.Command {
	set := flag.NewFlagSet("art-fuse backup", flag.ContinueOnError)
	return &ffcli.Command{
		Name:      "backup",
		FlagSet:   set,
		Options:   options,
		UsageFunc: func(*ffcli.Command) string { return backupUsage },
		Exec: func(ctx context.Context, args []string) error {
			args, err := flagsAnywhere(set, args)
			if err != nil {
				return err
			}
			if len(args) != 2 {
				return usageError("backup needs a database and the name of a new file")
			}
			ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return backup(ctx, stdout, args[0], args[1])
		},
	}
}

// backup copies a database.
func backup(ctx context.Context, stdout io.Writer, db, file string) error {
	progress := newProgress("backup")
	err := sqlvfs.Backup(ctx, db, file, func(bytes int64) { progress.Add(0, bytes) })
	progress.Erase()
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted: nothing was copied")
	case errors.Is(err, fs.ErrExist):
		return cli.WithHint(err, "give another name, or remove the file")
	case err != nil:
		return cli.WithHint(fmt.Errorf("copy %s to %s: %w", db, file, err), openHint(db, err))
	}
	_, err = fmt.Fprintf(stdout, "%s is a copy of %s\n", file, db)
	return err
}

// newProgress shows how far work is, if there is a terminal to show it on.
func newProgress(phase string) *cli.Progress {
	var w io.Writer
	if term.IsTerminal(int(os.Stderr.Fd())) {
		w = os.Stderr
	}
	p := cli.NewProgress(w, prog)
	p.Phase(phase)
	return p
}
