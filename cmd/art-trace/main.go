// Art-trace runs a command and writes down its system calls.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/peterbourgon/ff/v3"
	"github.com/peterbourgon/ff/v3/ffcli"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/trace"
	"github.com/riverlytech/art/internal/trace/output"
	"github.com/riverlytech/art/libexec"
)

const prog = "art-trace"

const usage = `art-trace - run a command and write down its system calls

USAGE
  art-trace [flags] [--] command [argument...]
  art-trace [flags] --attach PID

The command and all that it starts are traced. Calls are selected inside the
kernel: those that are not run at native speed. Standard output and input belong
to the command.

FLAGS
  --log FILE       write to FILE instead of standard error
  --log-fd N       write to the open descriptor N instead
  --syscalls LIST  what to trace, separated by commas (default: all): names
                   (openat), strace's classes (%file %desc %network %process
                   %memory %signal %ipc %creds %clock %stat ...), and either with
                   ! in front to leave it out
  --format FORMAT  text: as strace -f -o (default); json: one object a line;
                   summary, report: see below
  --summary        write, instead of the calls, a table at the end: how often each
                   was made, how often it failed, how long it took
  --report         write a digest at the end: programs executed, files read,
                   written and deleted, connections, and calls refused
  --attach PID     trace a running process and what it starts, until it ends or
                   art-trace is interrupted
  --deny CALLS[=ERRNO]
                   let calls (names and classes as above) fail with ERRNO, such as
                   ENOENT (default: EPERM); may be repeated
  --secrets-fd N   show what is in the open descriptor N as asterisks: values of six
                   bytes and more, with a NUL between them
  --filter-by WHO  self: trace from the command on (default); payload: the command
                   is a sandbox, and its payload loads the filter itself
  --version        print the version
  --help           print this text

  In the text, as with strace:
  -y, --decode-fds            what descriptors refer to (in json too)
  -r, --relative-timestamps   the time since the line before
  -tt, --absolute-timestamps  the time of day
  -T, --syscall-times         the time spent in each call

Every flag is also an environment variable: ART_SYSCALLS, ART_LOG_FD and so on.

JSON
  Each line is an object with time (RFC 3339), pid and event, which says what else
  there is: call (call, args, ret; error when it failed, injected when --deny
  answered it, duration in seconds, arch of a 32-bit call), unfinished (call, args),
  signal (signal, info), stopped (signal), superseded (by: a thread took the pid over
  with execve), exited (status), killed (signal, core), detached. Args are strings in
  the text format's notation.

EXIT CODE
  The command's own; 128+n when signal n ended it; 125 when art-trace failed, 126
  when the command cannot be executed, 127 when there is none of that name. With
  --attach, 0 when the process has ended or was let go.

NOTES
  Set-user-ID programs run without their privileges when they are traced, except
  by root. Calls of 32-bit programs are shown by number. What is submitted through
  io_uring, or refused by a seccomp filter of the command's own, is not seen.
  An attached process stops at every call, whatever --syscalls selects.
  --deny decides by the call's number alone, and refuses 32-bit calls and io_uring
  with ENOSYS, which would be ways around it.

EXAMPLES
  art-trace --syscalls %file -- make
  art-trace --log t.log --syscalls execve,connect -- npm install
  art-trace --format json --log t.json --syscalls '!%memory' -- python3 app.py
  art-trace --report -- npm install
  art-trace --deny %network=ENETUNREACH -- make test
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
	// Executed by a descriptor, it would be called by that's number in ps(1) (proc_pid_comm(5)). Where that
	// cannot be written, it stays so.
	_ = os.WriteFile("/proc/self/comm", []byte("art-trace"), 0)
	// With one processor alone, the Go runtime takes it from a thread that waits for
	// a tracee, and has to give it back each time (retake in runtime/proc.go).
	runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))
	os.Exit(run(os.Args[1:]))
}

// options are the flags.
type options struct {
	log, syscalls, format, filterBy string
	logFD, secretsFD, attach        int
	summary, report, version        bool
	deny                            list
	style                           output.Style
}

// list is a flag that may be given several times.
type list []string

func (l *list) String() string { return strings.Join(*l, " ") }

func (l *list) Set(s string) error {
	*l = append(*l, s)
	return nil
}

func (o *options) flags() *flag.FlagSet {
	set := flag.NewFlagSet(prog, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&o.log, "log", "", "")
	set.IntVar(&o.logFD, "log-fd", -1, "")
	set.IntVar(&o.secretsFD, "secrets-fd", -1, "")
	set.StringVar(&o.syscalls, "syscalls", "", "")
	set.StringVar(&o.format, "format", formatText, "")
	set.StringVar(&o.filterBy, "filter-by", "self", "")
	set.IntVar(&o.attach, "attach", 0, "")
	set.BoolVar(&o.summary, "summary", false, "")
	set.BoolVar(&o.report, "report", false, "")
	set.Var(&o.deny, "deny", "")
	for value, names := range map[*bool][2]string{
		&o.style.Files: {"y", "decode-fds"}, &o.style.Since: {"r", "relative-timestamps"},
		&o.style.Clock: {"tt", "absolute-timestamps"}, &o.style.Duration: {"T", "syscall-times"},
	} {
		set.BoolVar(value, names[0], false, "")
		set.BoolVar(value, names[1], false, "")
	}
	set.BoolVar(&o.version, "version", false, "")
	return set
}

func run(args []string) int {
	if err := libexec.CheckCaller(prog); err != nil {
		cli.Fail(prog, err)
		return cli.ExitArt
	}
	var o options
	code := cli.ExitArt
	command := &ffcli.Command{
		Name: prog, FlagSet: o.flags(),
		Options:   []ff.Option{ff.WithEnvVarPrefix("ART")},
		UsageFunc: func(*ffcli.Command) string { return "" },
		Exec: func(_ context.Context, args []string) (err error) {
			code, err = o.run(args)
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
