package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/replica"
	"github.com/riverlytech/art/internal/replica/place"
)

// restore brings a copy back as the database at path. at is a time, or "".
func restore(url, path, at string) error {
	var when time.Time
	if at != "" {
		var err error
		if when, err = time.Parse(time.RFC3339Nano, at); err != nil {
			return fmt.Errorf("read the time: %w", err)
		}
	}
	unix.Umask(0o077)
	debug.SetMemoryLimit(memory)
	// What it has begun with is removed.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := confineTo(url, false, filepath.Dir(path)); err != nil {
		return err
	}
	progress := newProgress(false)
	copied, err := replica.Find(ctx, url)
	if err == nil {
		copied.Progress = progress
		err = copied.Restore(ctx, path, when)
	}
	progress.Erase()
	if err != nil {
		if ctx.Err() != nil {
			err = errors.New("it was interrupted")
		}
		return fmt.Errorf("restore %s: %w", cli.Printable(url), err)
	}
	who := copied.Who
	what := cli.Printable(who.Database)
	if who.Workspace != "" {
		what += ", of the workspace " + cli.Printable(who.Workspace)
	}
	if who.Host != "" {
		what += " on " + cli.Printable(who.Host)
	}
	state := "it is all that there was"
	switch {
	case at != "":
		state = "as it was at " + when.Local().Format(time.DateTime)
	case who.StateAt(time.Now()) == replica.Interrupted:
		state = "as far as it was copied: its last session did not come to its end"
	case who.State == replica.Running:
		state = "as far as it was copied: a session may still write it there"
	}
	fmt.Fprintf(stderr, "art: %s is %s: %s\n", cli.Printable(path), what, state)
	tellMissing(path, who)
	return nil
}

// tellMissing says what a database that was brought back lacks of the host that it was on.
func tellMissing(path string, who *replica.Head) {
	missing, err := replica.Lacks(path)
	if err != nil {
		cli.Fail("art", fmt.Errorf("look what %s lacks: %w", cli.Printable(path), err))
		return
	}
	if text, hint := missing.Tell(who.Host); text != "" {
		fmt.Fprintf(stderr, "art: %s\nart: hint: %s\n", text, hint)
	}
}

// fetch has the database at path go on from the copy at a place, for the session with a token. kept is the directory for what is kept of
// that. If quiet, it says only what nobody may miss.
func fetch(url, path, kept, token string, takeOver, quiet bool) error {
	unix.Umask(0o077)
	debug.SetMemoryLimit(memory)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := place.Make(url); err != nil {
		return fmt.Errorf("open the database %s: %w", cli.Printable(url), err)
	}
	if err := os.MkdirAll(kept, 0o700); err != nil {
		return fmt.Errorf("keep what is known of the copy: %w", cli.Reason(err))
	}
	if err := confineTo(url, true, filepath.Dir(path), kept); err != nil {
		return err
	}
	say := func(format string, args ...any) {
		if !quiet {
			fmt.Fprintf(stderr, "art: "+format+"\n", args...)
		}
	}
	progress := newProgress(quiet)
	found, who, err := replica.Fetch(ctx, url, path, kept, token, takeOver, func(why string) {
		say("%s; waiting for half a minute, whether it lives", why)
	}, progress)
	progress.Erase()
	if err != nil {
		if ctx.Err() != nil {
			err = errors.New("it was interrupted")
		}
		return fmt.Errorf("open the database %s: %w", cli.Printable(url), err)
	}
	switch found {
	case replica.Nothing:
		say("%s: there is no copy yet, and the database is new", cli.Printable(url))
	case replica.Aside:
		fmt.Fprintf(stderr, "art: another session has gone on from %s: what was here, and may not be copied, is now %s\n", cli.Printable(url), cli.Printable(replica.LastAside(path)))
	case replica.Brought:
		say("%s is brought back, as of %s", cli.Printable(url), who.ChangedAt())
	}
	if !quiet && (found == replica.Aside || found == replica.Brought) {
		tellMissing(path, who)
	}
	return nil
}

// newProgress shows on a terminal how much of a copy is here.
func newProgress(quiet bool) *cli.Progress {
	if quiet || !term.IsTerminal(int(stderr.Fd())) {
		return cli.NewProgress(nil, "art")
	}
	return cli.NewProgress(stderr, "art")
}
