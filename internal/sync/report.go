package sync

import (
	"bufio"
	"fmt"
	"io"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/sync/quote"
)

// reporter tells the user what happens: lines of the asked-for output, notes, errors, and on a
// terminal how far long work is.
type reporter struct {
	opt      *Options
	prog     string
	out      *bufio.Writer
	failures int
	*cli.Progress
}

func newReporter(opt *Options, prog string) *reporter {
	var terminal io.Writer
	if opt.StderrTerminal && !opt.Quiet {
		terminal = opt.Stderr
	}
	return &reporter{
		opt: opt, prog: prog, out: bufio.NewWriterSize(opt.Stdout, 64<<10),
		Progress: cli.NewProgress(terminal, prog),
	}
}

// line prints a line of output.
func (r *reporter) line(format string, args ...any) {
	if r.opt.Quiet {
		return
	}
	if r.opt.StdoutTerminal {
		r.Erase()
	}
	fmt.Fprintf(r.out, format+"\n", args...)
	if r.opt.StdoutTerminal {
		r.out.Flush()
	}
}

// name quotes a name for standard output.
func (r *reporter) name(s string) string { return quote.Name(s, r.opt.StdoutTerminal) }

// note says something on standard error that is no failure.
func (r *reporter) note(path, what string) {
	if r.opt.Quiet {
		return
	}
	r.out.Flush()
	r.Erase()
	fmt.Fprintf(r.opt.Stderr, "%s: %s: %s\n", r.prog, quote.Name(path, r.opt.StderrTerminal), what)
}

// fail says that a path could not be done. The rest goes on.
func (r *reporter) fail(path string, err error) {
	r.failures++
	r.out.Flush()
	r.Erase()
	cli.Fprint(r.opt.Stderr, r.prog, fmt.Errorf("%s: %w", quote.Name(path, r.opt.StderrTerminal), err))
}

// end flushes the output and returns the run's result: err, or what the failures amount to.
func (r *reporter) end(err error) error {
	r.Erase()
	if ferr := r.out.Flush(); err == nil && ferr != nil {
		err = fmt.Errorf("write to standard output: %w", ferr)
	}
	if err == nil && r.failures > 0 {
		err = fmt.Errorf("%w: %d failed", ErrIncomplete, r.failures)
	}
	return err
}
