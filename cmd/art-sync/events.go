package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/events"
	"github.com/riverlytech/art/internal/hostfs"
)

// tellConflicts opens where events go. told tells of a conflict, and end of no more.
func tellConflicts(target, workspace, of string) (told func(path, why string), end func(), err error) {
	if target == "" {
		return nil, func() {}, nil
	}
	f, err := events.Open(target, func(path string) (*os.File, error) { return hostfs.OpenLog(path, workspace, unix.O_APPEND) })
	if err != nil {
		return nil, nil, err
	}
	stream := events.New(f, func(text string) { fmt.Fprintf(os.Stderr, "%s: %s\n", prog, text) })
	told = func(path, why string) {
		stream.Tell(events.Conflicted, events.Conflict{Of: of, Path: path, Why: why})
	}
	return told, func() {
		if err := events.LostError(stream.End()); err != nil {
			cli.Fail(prog, err)
		}
	}, nil
}
