package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/trace/output"
)

// logFlags make a log new. Others may append to the same file.
const logFlags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC | os.O_APPEND

// openLog opens what the trace is written to, before anything is run. The
// command does not inherit it.
func openLog(o *options) (*os.File, error) {
	switch {
	case o.log != "" && o.logFD >= 0:
		return nil, errors.New("open log: both --log and --log-fd are given")
	case strings.HasPrefix(o.log, "|") || strings.HasPrefix(o.log, "!"):
		return nil, cli.WithHint(fmt.Errorf("open log: %s is a command to strace, and art-trace runs none", o.log),
			"let the shell run it: --log-fd 9 9> >(command); or name a file: ./"+o.log)
	case o.log != "":
		if o.separate {
			return os.Stderr, nil // each thread's is opened when there is something to write
		}
		f, err := os.OpenFile(o.log, logFlags, 0o600)
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

// patient makes sure that the command does not wait for its log in silence.
func patient(log *os.File) *output.Patient {
	return output.NewPatient(log, func() {
		cli.Fail(prog, cli.WithHint(errors.New("write trace: the log takes no more for now, and the command waits for it"),
			"read what it goes to, or let it go to a file"))
	})
}

// enduring keeps a command alive whose log cannot be written.
func (o *options) enduring(w io.Writer) io.Writer { return output.NewEnduring(w, o.broken) }

// broken tells that the log cannot be written, once, however many logs there are.
func (o *options) broken(err error) {
	if o.incomplete {
		return
	}
	o.incomplete = true
	cli.Fail(prog, cli.WithHint(fmt.Errorf("write trace: %w: the log is incomplete, and the command goes on", err),
		"make room where the log is, or let it go elsewhere"))
}

// openSeparate opens the log of a thread alone.
func (o *options) openSeparate(pid int, again bool) (io.WriteCloser, error) {
	l := &separateLog{path: fmt.Sprintf("%s.%d", o.log, pid), flags: logFlags, broken: o.broken}
	if again {
		l.flags &^= os.O_TRUNC
	}
	return struct {
		io.Writer
		io.Closer
	}{o.enduring(l), l}, nil
}

// separateLog is a log that is opened when something is written, and again the next time if that fails: there may be room then.
type separateLog struct {
	path   string
	flags  int
	file   *os.File
	broken func(error)
}

// Write implements io.Writer.
func (l *separateLog) Write(b []byte) (int, error) {
	if l.file == nil {
		f, err := os.OpenFile(l.path, l.flags, 0o600)
		if err != nil {
			return 0, err
		}
		l.file = f
	}
	return l.file.Write(b)
}

// Close implements io.Closer.
func (l *separateLog) Close() error {
	if l.file == nil {
		return nil
	}
	if err := l.file.Close(); err != nil {
		l.broken(err)
	}
	return nil
}

// secrets reads what is not to be in the trace. The command does not inherit it.
func (o *options) secrets() ([]string, error) {
	if o.secretsFD < 0 {
		return nil, nil
	}
	f := os.NewFile(uintptr(o.secretsFD), "secrets")
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("read --secrets-fd: %w", err)
	}
	return strings.Split(string(text), "\x00"), nil
}
