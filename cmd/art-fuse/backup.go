package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/flags"
	"github.com/riverlytech/art/internal/replica/place"
	"github.com/riverlytech/art/sqlvfs"
)

func runBackup(c *flags.Command, args []string, stdout io.Writer) error {
	line, err := c.Parse(args, nil)
	if err == nil {
		err = place.Here(line.Words[0])
	}
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return backup(ctx, stdout, line.Words[0], line.Words[1])
}

// backup copies a database.
func backup(ctx context.Context, stdout io.Writer, db, file string) error {
	progress := newProgress("backup", term.IsTerminal(int(os.Stderr.Fd())))
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
func newProgress(phase string, terminal bool) *cli.Progress {
	var w io.Writer
	if terminal {
		w = os.Stderr
	}
	p := cli.NewProgress(w, prog)
	p.Phase(phase)
	return p
}
