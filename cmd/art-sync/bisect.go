package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/flags"
	"github.com/riverlytech/art/internal/history"
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
	o.DB, o.Dir, o.Session = p.db, p.dir, connect(p.db)
	art := os.Getenv(libexec.ArtVariable)
	os.Unsetenv(libexec.ArtVariable)
	session := []string{"run", "--mount=" + p.dir, "--interactive=false", "--background=false", "--notify=false", "--systemd=false", "--quiet"}
	if p.agent != "" {
		session = append(session, "--agent="+p.agent)
	}
	if name, err := nameIn(p.db, p.dir); err != nil {
		return err
	} else if name != "" {
		session = append(session, "--name="+name)
	}
	o.Run = func(ctx context.Context, db string) (int, error) {
		cmd := exec.CommandContext(ctx, art, slices.Concat(session, []string{"--db=" + db, "--"}, line.Words)...)
		cmd.Stderr = os.Stderr
		if !o.Quiet {
			cmd.Stdout = os.Stderr // standard output is for what was found
		}
		cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGTERM) }
		cmd.WaitDelay = endsAfter
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGTERM}
		before := unix.Umask(int(umask))
		err := cmd.Start()
		unix.Umask(before)
		if err != nil {
			return 0, err
		}
		err = cmd.Wait()
		if failed, ok := errors.AsType[*exec.ExitError](err); ok && failed.Exited() {
			return failed.ExitCode(), nil
		}
		return 0, err
	}
	return history.Bisect(ctx, o)
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
		return "", fmt.Errorf("bisect %s: %w", db, err)
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
