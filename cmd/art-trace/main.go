// Art-trace runs a command and writes down its system calls.
package main

import (
	"os"
	"runtime"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/flags"
	"github.com/riverlytech/art/internal/trace/output"
	"github.com/riverlytech/art/libexec"
)

const prog = "art-trace"

func main() {
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
	deny                            []string
	style                           output.Style
}

// variables are what the flags set.
func (o *options) variables() map[string]any {
	return map[string]any{
		"log": &o.log, "log-fd": &o.logFD, "secrets-fd": &o.secretsFD, "syscalls": &o.syscalls, "format": &o.format,
		"filter-by": &o.filterBy, "attach": &o.attach, "summary": &o.summary, "report": &o.report, "deny": &o.deny,
		"decode-fds": &o.style.Files, "relative-timestamps": &o.style.Since, "absolute-timestamps": &o.style.Clock,
		"string-limit": &o.style.Strings, "syscall-times": &o.style.Duration, "version": &o.version,
	}
}

func run(args []string) int {
	if err := libexec.CheckCaller(prog); err != nil {
		cli.Fail(prog, err)
		return cli.ExitArt
	}
	o := options{format: formatText, filterBy: "self", logFD: -1, secretsFD: -1}
	code := cli.ExitArt
	line, err := flags.Trace.Parse(args, o.variables())
	if text, wanted := flags.Help(err); wanted {
		os.Stdout.WriteString(text)
		return cli.OK
	}
	if err == nil {
		code, err = o.run(line.Words)
	}
	if err != nil {
		cli.Fail(prog, err)
	}
	return code
}
