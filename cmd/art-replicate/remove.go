package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/replica"
)

// releaseTime bounds how long a session that could not begin tries to give a lease back. It runs out by itself.
const releaseTime = 5 * time.Second

// remove removes a copy, after a question unless it is forced.
func remove(url string, force, quiet bool) error {
	debug.SetMemoryLimit(memory)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	unix.Umask(0o077)
	if err := confineTo(url, true); err != nil {
		return err
	}
	copied, err := replica.Find(ctx, url)
	if err == nil {
		if err := confirm(url, copied.Who, force); err != nil {
			return err
		}
		err = copied.Remove(ctx, func(why string) {
			if !quiet {
				fmt.Fprintf(stderr, "art: %s; waiting for half a minute, whether it lives\n", why)
			}
		})
	}
	if err != nil {
		if ctx.Err() != nil {
			err = errors.New("it was interrupted")
		}
		return fmt.Errorf("remove the copy at %s: %w", cli.Printable(url), err)
	}
	if !quiet {
		fmt.Fprintf(stderr, "art: removed the copy at %s\n", cli.Printable(url))
	}
	return nil
}

// confirm asks whether a copy is to go.
func confirm(url string, head *replica.Head, force bool) error {
	if force {
		return nil
	}
	what := "holds a copy of " + head.Describe()
	if p := head.Pending; p != nil && p.Paths() > 0 {
		what += fmt.Sprintf(", with %d pending", p.Paths())
	}
	if !term.IsTerminal(int(os.Stdin.Fd())) || !term.IsTerminal(int(stderr.Fd())) {
		return cli.WithHint(fmt.Errorf("remove the copy at %s: it %s", cli.Printable(url), what), "art restore brings it back; --force removes it all the same")
	}
	fmt.Fprintf(stderr, "art: %s %s\n", cli.Printable(url), what)
	if cli.Confirm(stderr, os.Stdin, "art: remove it?") {
		return nil
	}
	return errors.New("nothing was removed")
}

// release gives back the lease of a session that could not begin.
func release(url, token string) error {
	debug.SetMemoryLimit(memory)
	ctx, cancel := context.WithTimeout(context.Background(), releaseTime)
	defer cancel()
	unix.Umask(0o077)
	if err := confineTo(url, true); err != nil {
		return err
	}
	if err := replica.Release(ctx, url, token); err != nil {
		return fmt.Errorf("give back the lease at %s: %w", cli.Printable(url), err)
	}
	return nil
}
