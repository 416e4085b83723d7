// Art-trace runs a command and writes down its system calls.
package main

import (
	"os"
	"runtime"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/flags"
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

func run(args []string) int {
	if err := libexec.CheckCaller(prog); err != nil {
		cli.Fail(prog, err)
		return cli.ExitArt
	}
	o := newOptions()
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
	if o.killed != 0 {
		dieOf(o.killed)
	}
	return code
}
