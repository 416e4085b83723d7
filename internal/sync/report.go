package sync

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

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
	failed   error // why standard output takes nothing
	left     int   // conflicts, and what is held back

	conflicts, helds bool // there were some

	noting sync.Mutex // makes note one step, which several goroutines call
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

// raw prints text as it is.
func (r *reporter) raw(text string) { r.out.WriteString(text) }

// to has what is printed from now on go elsewhere.
func (r *reporter) to(w io.Writer) {
	r.flush()
	r.out.Reset(w)
}

func (r *reporter) flush() { r.failed = cmp.Or(r.failed, r.out.Flush()) }

// name quotes a name for standard output.
func (r *reporter) name(s string) string { return quote.Name(s, r.opt.StdoutTerminal) }

// errName quotes a name for standard error.
func (r *reporter) errName(s string) string { return quote.Name(s, r.opt.StderrTerminal) }

// note says something on standard error that is no failure.
func (r *reporter) note(path, what string) {
	if r.opt.Quiet {
		return
	}
	r.noting.Lock()
	defer r.noting.Unlock()
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

// conflict names a path that both sides changed, and that is left alone.
func (r *reporter) conflict(path, why string) {
	r.conflicts = true
	r.leave("CONFLICT", path, why)
}

// held names a path that needs the user's permission.
func (r *reporter) held(path, why string) {
	r.helds = true
	r.leave("HELD", path, why)
}

func (r *reporter) leave(what, path, why string) {
	r.left++
	r.out.Flush()
	r.Erase()
	fmt.Fprintf(r.opt.Stderr, "%s %s: %s\n", what, quote.Name(path, r.opt.StderrTerminal), why)
}

// hint says what to do about what was left alone.
func (r *reporter) hint() string {
	var hints []string
	if r.conflicts {
		hints = append(hints, "--force brings it over what is there")
	}
	if r.helds {
		hints = append(hints, "--allow PATTERN brings what is held back")
	}
	return strings.Join(hints, "; ")
}

// end flushes the output and returns the run's result: err, or what the failures amount to.
func (r *reporter) end(err error) error {
	r.Erase()
	r.flush()
	// Who ends a pager has seen enough.
	if err == nil && r.failed != nil && !errors.Is(r.failed, unix.EPIPE) {
		err = fmt.Errorf("write to standard output: %w", r.failed)
	}
	if err == nil && r.failures > 0 {
		err = fmt.Errorf("%w: %d failed", ErrIncomplete, r.failures)
	}
	if err == nil && r.left > 0 {
		err = cli.WithHint(fmt.Errorf("%w: %d left alone", ErrConflicts, r.left), r.hint())
	}
	return err
}
