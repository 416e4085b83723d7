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

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/confine"
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
	dir, from := filepath.Dir(path), []string{}
	if d := place.Directory(url); d != "" {
		from = append(from, d)
	}
	if err := confine.Replicate([]string{dir}, read(), from...); err != nil {
		return err
	}
	copied, err := replica.Find(ctx, url)
	if err == nil {
		err = copied.Restore(ctx, path, when)
	}
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
	case who.State == replica.Running:
		state = "as far as it was copied: a session may still write it there"
	}
	fmt.Fprintf(os.Stderr, "art: %s is %s: %s\n", cli.Printable(path), what, state)
	return nil
}
