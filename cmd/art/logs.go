package main

import (
	"errors"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/flags"
	sessions "github.com/riverlytech/art/internal/session"
	"github.com/riverlytech/art/internal/terminal"
)

// runLogs prints the output of a session in the background.
func runLogs(c *flags.Command, args []string) (int, error) {
	var follow bool
	line, err := c.Parse(args, map[string]any{"follow": &follow})
	if err != nil {
		return c.Failed(err), err
	}
	id, err := chosenSession(line.Words, true)
	if err == nil {
		err = printLog(id, follow)
	}
	return c.Failed(err), err
}

// printLog prints a log as it is, and on a terminal its text alone.
func printLog(id string, follow bool) error {
	if !isTerminal(os.Stdout) {
		return sessions.PrintLog(os.Stdout, os.Getenv, id, follow)
	}
	plain := terminal.NewPlain(os.Stdout)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	go func() {
		by := (<-signals).(unix.Signal)
		signal.Reset() // who does not wait for a terminal that has stopped sends it once more
		_ = plain.Close()
		_ = unix.Kill(os.Getpid(), by)
	}()
	return errors.Join(sessions.PrintLog(plain, os.Getenv, id, follow), plain.Close())
}
