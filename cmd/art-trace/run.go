package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/trace/only"
	"github.com/riverlytech/art/internal/trace/redact"
	"github.com/riverlytech/art/internal/version"
	"github.com/riverlytech/art/trace"
)

// run does what the flags say and returns the exit code, and why if art-trace
// itself failed.
func (o *options) run(args []string) (int, error) {
	if o.version {
		fmt.Println(prog, version.Version)
		return cli.OK, nil
	}
	switch {
	case len(args) == 0 && o.attach == nil:
		return cli.ExitArt, cli.WithHint(errors.New("start: no command"), "run `art-trace --help`")
	case len(args) > 0 && o.attach != nil:
		return cli.ExitArt, errors.New("start: both a command and --attach are given")
	}
	if err := o.complete(); err != nil {
		return cli.ExitArt, err
	}
	policy, err := o.policy()
	if err != nil {
		return cli.ExitArt, err
	}
	calls, err := o.calls()
	if err != nil {
		return cli.ExitArt, err
	}
	log, err := openLog(o)
	if err != nil {
		return cli.ExitArt, err
	}
	if log != os.Stderr { // which the failure of the command is reported on
		defer log.Close()
	}
	secrets, err := o.secrets()
	if err != nil {
		return cli.ExitArt, err
	}
	handler, finish := o.logger(log)
	handler = redact.New(secrets, handler)
	if len(o.paths) > 0 {
		handler = only.New(o.paths, handler)
	}
	switch {
	case policy.Empty():
	case o.unseen():
		handler = policy.Quietly(handler)
	default:
		handler = trace.Chain(policy, handler)
	}
	var code int
	if o.attach != nil {
		code, err = cli.ExitArt, o.attachTo(calls, handler)
		if err == nil {
			code = cli.OK
		}
	} else {
		code, err = o.start(args, calls, handler)
	}
	if finishErr := finish(); err == nil && finishErr != nil {
		return cli.ExitArt, finishErr
	}
	return code, err
}

// attachTo traces running processes until they end, or a signal asks art-trace to end.
func (o *options) attachTo(calls []string, handler trace.Handler) error {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer stop()
	return trace.AttachAll(ctx, o.attach, calls, handler)
}

// start runs the command and returns its exit code, or what to exit with and why.
func (o *options) start(args []string, calls []string, handler trace.Handler) (int, error) {
	cmd := &trace.Command{
		Args: args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Calls: calls, FilterByPayload: o.filterBy == "payload", Foreground: true,
		Entries: o.style.Entries, Engine: engines[o.engine],
	}
	var err error
	if cmd.Path, err = exec.LookPath(args[0]); err != nil && !errors.Is(err, exec.ErrDot) {
		return lookupFailure(args[0], err)
	}
	warnPrivileges(cmd.Path)
	status, err := trace.Run(context.Background(), cmd, handler)
	switch {
	case errors.Is(err, trace.ErrNotExecuted):
		return cli.ExitCannotExec, fmt.Errorf("%s: %w", args[0], err)
	case err != nil:
		return cli.ExitArt, err
	case status.Signaled():
		if o.filterBy == "self" { // art reads the exit code of a session's command
			o.killed = status.Signal()
		}
		return cli.ExitSignal + int(status.Signal()), nil
	}
	return status.ExitStatus(), nil
}

// lookupFailure tells a command that does not exist from one that is no program.
func lookupFailure(name string, err error) (int, error) {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return cli.ExitNotFound, fmt.Errorf("%s: command not found", name)
	}
	var why *exec.Error
	if errors.As(err, &why) {
		err = why.Err
	}
	return cli.ExitCannotExec, fmt.Errorf("%s: cannot execute: %w", name, err)
}

// warnPrivileges tells of a command that will not have the rights that it counts
// on: only what root traces gets those of its file (execve(2)).
func warnPrivileges(path string) {
	info, err := os.Stat(path)
	if err != nil || os.Geteuid() == 0 || info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) == 0 {
		return
	}
	cli.Fail(prog, cli.WithHint(fmt.Errorf("%s: set-user-ID or set-group-ID: it runs with your rights alone while it is traced", path),
		"trace it as root to let it have those of its owner"))
}
