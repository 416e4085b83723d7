package sync

import (
	"bufio"
	"fmt"
	"time"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/sync/quote"
)

const (
	progressAfter = time.Second            // short work shows no progress
	progressEvery = 100 * time.Millisecond // and long work not more often than this
)

// reporter tells the user what happens: lines of the asked-for output, notes, errors, and on a
// terminal how far long work is.
type reporter struct {
	opt      *Options
	prog     string
	out      *bufio.Writer
	failures int

	drawn    bool      // a progress line is on the terminal
	nextDraw time.Time // not before
	doing    string
	files    int
	bytes    int64
}

func newReporter(opt *Options, prog string) *reporter {
	return &reporter{opt: opt, prog: prog, out: bufio.NewWriterSize(opt.Stdout, 64<<10), nextDraw: time.Now().Add(progressAfter)}
}

// line prints a line of output.
func (r *reporter) line(format string, args ...any) {
	if r.opt.Quiet {
		return
	}
	if r.opt.StdoutTerminal {
		r.erase()
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
	r.erase()
	fmt.Fprintf(r.opt.Stderr, "%s: %s: %s\n", r.prog, quote.Name(path, r.opt.StderrTerminal), what)
}

// fail says that a path could not be done. The rest goes on.
func (r *reporter) fail(path string, err error) {
	r.failures++
	r.out.Flush()
	r.erase()
	cli.Fprint(r.opt.Stderr, r.prog, fmt.Errorf("%s: %w", quote.Name(path, r.opt.StderrTerminal), err))
}

// phase names the work that progress is about, and starts counting.
func (r *reporter) phase(doing string) { r.doing, r.files, r.bytes = doing, 0, 0 }

// progress counts finished files and bytes that were moved.
func (r *reporter) progress(files int, bytes int64) {
	r.files += files
	r.bytes += bytes
	if r.opt.Quiet || !r.opt.StderrTerminal {
		return
	}
	now := time.Now()
	if now.Before(r.nextDraw) {
		return
	}
	r.nextDraw, r.drawn = now.Add(progressEvery), true
	// \r\x1b[K: back to the start of the line, and erase it.
	fmt.Fprintf(r.opt.Stderr, "\r\x1b[K%s: %s: %d files, %.1f MiB", r.prog, r.doing, r.files, float64(r.bytes)/(1<<20))
}

func (r *reporter) erase() {
	if r.drawn {
		r.drawn = false
		fmt.Fprint(r.opt.Stderr, "\r\x1b[K")
	}
}

// end flushes the output and returns the run's result: err, or what the failures amount to.
func (r *reporter) end(err error) error {
	r.erase()
	if ferr := r.out.Flush(); err == nil && ferr != nil {
		err = fmt.Errorf("write to standard output: %w", ferr)
	}
	if err == nil && r.failures > 0 {
		err = fmt.Errorf("%w: %d failed", ErrIncomplete, r.failures)
	}
	return err
}
