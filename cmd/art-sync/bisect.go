package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/flags"
	"github.com/riverlytech/art/internal/history"
	"github.com/riverlytech/art/internal/live"
	"github.com/riverlytech/art/libexec"
	"github.com/riverlytech/art/sqlvfs"
)

// endsAfter is how long a session may take to end that was asked to.
const endsAfter = 15 * time.Second

// bisect finds the checkpoint at which something broke. It is a word of art alone, which runs the sessions.
func bisect(ctx context.Context, c *flags.Command, args []string) error {
	var p place
	o := history.BisectOptions{Stderr: os.Stderr}
	o.Stdout, o.Prog = os.Stdout, prog
	variables := p.variables()
	variables["json"], variables["quiet"], variables["good"], variables["bad"] = &o.JSON, &o.Quiet, &o.Good, &o.Bad
	line, err := c.Parse(args, variables)
	switch {
	case err != nil:
		return err
	case len(line.Words) == 0:
		return c.Wrong("no command was given that tells good from bad")
	}
	if err := p.find(); err != nil {
		return err
	}
	o.DB, o.Dir, o.Session = p.db, p.dir, live.Connect(p.db)
	run, err := sessionsOf(&p)
	if err != nil {
		return err
	}
	o.Run = func(ctx context.Context, db string) (int, error) {
		s := guest{db: db, command: line.Words, stderr: os.Stderr}
		if !o.Quiet {
			s.stdout = os.Stderr // standard output is for what was found
		}
		return run(ctx, s)
	}
	return history.Bisect(ctx, o)
}

// guest is a session that art runs.
type guest struct {
	db             string
	flags          []string
	command        []string
	stdout, stderr io.Writer // nil: nowhere
}

// sessionsOf returns what has art run sessions without a terminal in the workspace, each on a database of its own, and returns the exit
// code.
func sessionsOf(p *place) (func(context.Context, guest) (int, error), error) {
	art := os.Getenv(libexec.ArtVariable)
	os.Unsetenv(libexec.ArtVariable)
	words := []string{"run", "--mount=" + p.dir, "--interactive=false", "--background=false", "--notify=false", "--systemd=false", "--quiet", "--publish=none"}
	if p.agent != "" {
		words = append(words, "--agent="+p.agent)
	}
	if name, err := nameIn(p.db, p.dir); err != nil {
		return nil, err
	} else if name != "" {
		words = append(words, "--name="+name)
	}
	return func(ctx context.Context, s guest) (int, error) {
		cmd := exec.CommandContext(ctx, art, slices.Concat(words, s.flags, []string{"--db=" + s.db, "--"}, s.command)...)
		cmd.Stdout, cmd.Stderr = s.stdout, s.stderr
		cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGTERM) }
		cmd.WaitDelay = endsAfter
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGTERM}
		if err := start(cmd); err != nil {
			return 0, err
		}
		err := cmd.Wait()
		if failed, ok := errors.AsType[*exec.ExitError](err); ok && failed.Exited() {
			return failed.ExitCode(), nil
		}
		return 0, err
	}, nil
}

var starting sync.Mutex // the umask is that of all threads

// start starts a program with the caller's umask.
func start(cmd *exec.Cmd) error {
	starting.Lock()
	defer starting.Unlock()
	before := unix.Umask(int(umask))
	defer unix.Umask(before)
	return cmd.Start()
}

// nameIn is what a database calls a workspace; "": it does not know that.
func nameIn(db, dir string) (string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return "", err
	}
	s, err := sqlvfs.Open(db, sqlvfs.Options{ReadOnly: true})
	if err != nil {
		return "", history.Hinted(db, fmt.Errorf("open database %s: %w", db, err))
	}
	defer s.Close()
	list, err := sqlvfs.Query(s, (*sqlvfs.Tx).Workspaces)
	for _, w := range list {
		if w.Path == real && !sqlvfs.IsLayer(w.Name) {
			return w.Name, err
		}
	}
	return "", err
}
