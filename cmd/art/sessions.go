package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/flags"
	"github.com/riverlytech/art/internal/paths"
	sessions "github.com/riverlytech/art/internal/session"
)

// chosenSession returns the id of the session that is named, or else of the one in the workspace that the current directory
// lies in. With ended it is the last one in the background, if none runs there.
func chosenSession(words []string, ended bool) (string, error) {
	if len(words) > 0 {
		return words[0], nil
	}
	here, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the session of this workspace: %w", err)
	}
	here = paths.Resolve(here)
	var found []sessions.Listed
	deepest := ""
	for _, l := range sessions.List(sessions.Directories(os.Getenv)) {
		workspace := paths.Resolve(filepath.Clean(l.Workspace))
		if l.Err != nil || !paths.Within(here, workspace) || len(workspace) < len(deepest) {
			continue
		}
		if len(workspace) > len(deepest) {
			deepest, found = workspace, nil
		}
		found = append(found, l)
	}
	switch len(found) {
	case 0:
		if ended {
			if id := sessions.Last(os.Getenv, here); id != "" {
				return id, nil
			}
		}
		return "", cli.WithHint(errors.New("find the session of this workspace: none runs here"), "art ps lists all sessions; name one by its id")
	case 1:
		return found[0].ID, nil
	}
	var list []string
	for _, l := range found {
		list = append(list, strings.TrimSpace(l.ID+" "+strings.Join(l.Command, " ")))
	}
	return "", cli.WithHint(fmt.Errorf("find the session of this workspace: there are several: %s", strings.Join(list, "; ")), "name one by its id")
}

// askSession asks the chosen session.
func askSession(words []string, kind control.AskKind, what, body any) (*sessions.Conn, error) {
	id, err := chosenSession(words, false)
	if err != nil {
		return nil, err
	}
	return sessions.Dial(sessions.Directories(os.Getenv), id, kind, what, body)
}

// runKill sends the guest of a session a signal.
func runKill(c *flags.Command, args []string) (int, error) {
	name := "TERM"
	line, err := c.Parse(args, map[string]any{"signal": &name})
	if err != nil {
		return c.Failed(err), err
	}
	number := int(unix.SignalNum("SIG" + strings.TrimPrefix(strings.ToUpper(name), "SIG")))
	if n, err := strconv.Atoi(name); err == nil && unix.SignalName(unix.Signal(n)) != "" {
		number = n
	}
	if number == 0 {
		return cli.ExitUsage, c.Wrong("--signal: there is no signal %q", name)
	}
	id, err := chosenSession(line.Words, false)
	if err != nil {
		return c.Failed(err), err
	}
	conn, err := sessions.Dial(sessions.Directories(os.Getenv), id, control.AskKill, &control.KillAsk{Signal: number}, nil)
	if err != nil {
		return c.Failed(err), err
	}
	conn.Close()
	if sig := unix.Signal(number); sig == unix.SIGTERM || sig == unix.SIGHUP {
		tellStays(id, sig)
	}
	return cli.OK, nil
}

// staysAfter is how long a command may take to end that was asked to, before it is said that it has not.
const staysAfter = time.Second

// tellStays says of a session that was asked to end that it goes on, as where its command catches the signal.
func tellStays(id string, sig unix.Signal) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = waitFor(id) // how it ended is for art wait
	}()
	select {
	case <-ended:
		return
	case <-time.After(staysAfter):
	}
	var info control.SessionInfo
	conn, err := sessions.Dial(sessions.Directories(os.Getenv), id, control.AskInfo, nil, &info)
	if err != nil {
		return // it has ended meanwhile
	}
	conn.Close()
	what := "it may catch the signal, and go on"
	if info.State == control.Ending {
		what = "it is ended by force if it takes ten seconds"
	}
	fmt.Fprintf(os.Stderr, "art: the command of session %s has not ended by %s yet: %s\n", id, unix.SignalName(sig), what)
	fmt.Fprintf(os.Stderr, "art: hint: to end the session by force: art kill --signal KILL %s\n", id)
}

// runWait waits for the end of a session, and returns its exit code.
func runWait(c *flags.Command, args []string) (int, error) {
	line, err := c.Parse(args, nil)
	if err != nil {
		return cli.ExitArt, err
	}
	id, err := chosenSession(line.Words, true)
	if err != nil {
		return cli.ExitArt, err
	}
	end, err := waitFor(id)
	if err != nil {
		return cli.ExitArt, err
	}
	if end.Why != "" {
		return end.Code, errors.New(end.Why)
	}
	return end.Code, nil
}

// waitFor waits for the end of a session, or tells the one that is kept of it: it may end while it is asked.
func waitFor(id string) (*control.SessionEnd, error) {
	end := &control.SessionEnd{}
	conn, err := sessions.Dial(sessions.Directories(os.Getenv), id, control.AskWait, nil, nil)
	if err == nil {
		defer conn.Close()
		if err = conn.Answered(end); err == nil {
			return end, nil
		}
		err = fmt.Errorf("wait for the session: it was killed: %w", err)
	}
	kept, unknown := sessions.Ended(os.Getenv, id)
	switch {
	case unknown == nil:
		return kept, nil
	case errors.Is(unknown, os.ErrNotExist):
		return nil, err
	}
	return nil, fmt.Errorf("wait for session %s: %w", id, unknown)
}
