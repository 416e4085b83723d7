// Art-trace runs a command and writes down its system calls.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"

	"github.com/peterbourgon/ff/v3"
	"github.com/peterbourgon/ff/v3/ffcli"
	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/trace"
	"github.com/riverlytech/art/internal/trace/callset"
	"github.com/riverlytech/art/internal/trace/filter"
	"github.com/riverlytech/art/internal/trace/output"
	"github.com/riverlytech/art/internal/version"
	"github.com/riverlytech/art/libexec"
)

const prog = "art-trace"

const usage = `art-trace - run a command and write down its system calls

USAGE
  art-trace [flags] [--] command [argument...]

The command and all that it starts are traced. Calls are selected inside the
kernel: those that are not run at native speed. Standard output and input belong
to the command.

FLAGS
  --log FILE       write to FILE instead of standard error
  --log-fd N       write to the open descriptor N instead
  --syscalls LIST  what to trace, separated by commas (default: all): names
                   (openat), classes (%file %desc %network %process %memory
                   %signal), and either with ! in front to leave it out
  --format FORMAT  text: as strace -f -o (default); json: one object a line
  --filter-by WHO  self: trace from the command on (default); payload: the command
                   is a sandbox, and its payload loads the filter itself
  --version        print the version
  --help           print this text

Every flag is also an environment variable: ART_SYSCALLS, ART_LOG_FD and so on.

EXIT CODE
  The command's own; 128+n when signal n ended it; 125 when art-trace failed, 126
  when the command cannot be executed, 127 when there is none of that name.

NOTES
  Set-user-ID programs run without their privileges when they are traced. Calls
  of 32-bit programs are shown by number. What is submitted through io_uring, or
  refused by a seccomp filter of the command's own, is not seen.

EXAMPLES
  art-trace --syscalls %file -- make
  art-trace --log t.log --syscalls execve,connect -- npm install
  art-trace --format json --log t.json --syscalls '!%memory' -- python3 app.py
`

func init() {
	// Ptrace requests must come from the thread that attached, and the launcher
	// must run on the first thread of its process: main's.
	runtime.LockOSThread()
}

func main() {
	if os.Args[0] == trace.LauncherName {
		trace.Launch(os.Args)
	}
	os.Exit(run(os.Args[1:]))
}

// options are the flags.
type options struct {
	log, syscalls, format, filterBy string
	logFD                           int
	version                         bool
}

func run(args []string) int {
	if err := libexec.CheckCaller(prog); err != nil {
		cli.Fail(prog, err)
		return cli.ExitArt
	}
	var o options
	code := cli.ExitArt
	set := flag.NewFlagSet(prog, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&o.log, "log", "", "")
	set.IntVar(&o.logFD, "log-fd", -1, "")
	set.StringVar(&o.syscalls, "syscalls", "all", "")
	set.StringVar(&o.format, "format", "text", "")
	set.StringVar(&o.filterBy, "filter-by", "self", "")
	set.BoolVar(&o.version, "version", false, "")
	command := &ffcli.Command{
		Name: prog, FlagSet: set,
		Options:   []ff.Option{ff.WithEnvVarPrefix("ART")},
		UsageFunc: func(*ffcli.Command) string { return "" },
		Exec: func(_ context.Context, args []string) (err error) {
			code, err = wrap(&o, args)
			return err
		},
	}
	switch err := command.ParseAndRun(context.Background(), args); {
	case errors.Is(err, flag.ErrHelp):
		os.Stdout.WriteString(usage)
		return cli.OK
	case err != nil:
		cli.Fail(prog, err)
	}
	return code
}

// wrap runs the command and returns its exit code, or what to exit with and why.
func wrap(o *options, args []string) (int, error) {
	if o.version {
		fmt.Println(prog, version.Version)
		return cli.OK, nil
	}
	if len(args) == 0 {
		return cli.ExitArt, cli.WithHint(errors.New("start: no command"), "run `art-trace --help`")
	}
	calls, err := callset.Parse(o.syscalls)
	if err != nil {
		return cli.ExitArt, err
	}
	cmd := &trace.Command{Args: args, Env: os.Environ(), Selected: calls.Has}
	switch o.filterBy {
	case "self":
		if cmd.Filter, err = filter.Program(calls.Names()); err != nil {
			return cli.ExitArt, err
		}
	case "payload":
	default:
		return cli.ExitArt, fmt.Errorf("read --filter-by: %q is neither self nor payload", o.filterBy)
	}
	log, err := openLog(o)
	if err != nil {
		return cli.ExitArt, err
	}
	if log != os.Stderr { // which the failure of the command is reported on
		defer log.Close()
	}
	var handler trace.Handler
	switch o.format {
	case "text":
		handler = output.NewText(log, output.Style{})
	case "json":
		handler = output.NewJSON(log, output.Style{})
	default:
		return cli.ExitArt, fmt.Errorf("read --format: %q is neither text nor json", o.format)
	}
	if cmd.Path, err = exec.LookPath(args[0]); err != nil && !errors.Is(err, exec.ErrDot) {
		return lookupFailure(args[0], err)
	}
	status, err := trace.Run(cmd, handler)
	switch {
	case errors.Is(err, trace.ErrNotExecuted):
		return cli.ExitCannotExec, fmt.Errorf("%s: %w", args[0], err)
	case err != nil:
		return cli.ExitArt, err
	case status.Signaled():
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

// openLog opens what the trace is written to, before anything is run. The
// command does not inherit it.
func openLog(o *options) (*os.File, error) {
	switch {
	case o.log != "" && o.logFD >= 0:
		return nil, errors.New("open log: both --log and --log-fd are given")
	case o.log != "":
		f, err := os.OpenFile(o.log, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open log: %w", err)
		}
		return f, nil
	case o.logFD >= 0:
		flags, err := unix.FcntlInt(uintptr(o.logFD), unix.F_GETFL, 0)
		if err != nil || flags&unix.O_ACCMODE == unix.O_RDONLY {
			return nil, fmt.Errorf("open log: descriptor %d is not open for writing", o.logFD)
		}
		if o.logFD > 2 {
			unix.CloseOnExec(o.logFD)
		}
		return os.NewFile(uintptr(o.logFD), "log"), nil
	}
	return os.Stderr, nil
}
