// Package report tells the user what push, pull and diff do.
package report

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/quote"
)

// Options say what is told, and where.
type Options struct {
	Quiet, Verbose, Total, DryRun  bool // as those of package reconcile
	Stdout, Stderr                 io.Writer
	StdoutTerminal, StderrTerminal bool
	OnConflict                     func(path, why string) // is told of each path that is named as in conflict; may be nil
}

// What a run comes to where some paths were not done. Each was named on standard error.
var (
	ErrIncomplete = errors.New("not everything was done")
	ErrConflicts  = errors.New("not everything was done")
)

// Reporter tells the user what happens: lines of the asked-for output, notes, errors, and on a
// terminal how far long work is.
type Reporter struct {
	opt       Options
	prog      string
	Doing     string // push or pull
	out       *bufio.Writer
	stdout    *valved // below out
	Failures  int
	failed    error          // why standard output takes nothing
	count     map[string]int // lines of output, by their first word
	conflicts int
	stay      int // conflicts that no flag resolves
	helds     []heldPath
	hiddens   []heldPath     // of these nothing is allowed
	outs      map[string]int // paths that were left out, by what did it

	noting sync.Mutex // makes note one step, which several goroutines call
	*cli.Progress
}

// New begins to tell.
func New(opt Options, prog string) *Reporter {
	stdout := &valved{v: &valve{}, w: opt.Stdout}
	opt.Stdout, opt.Stderr = stdout, &valved{v: stdout.v, w: opt.Stderr}
	var terminal io.Writer
	if opt.StderrTerminal && !opt.Quiet {
		terminal = opt.Stderr
	}
	return &Reporter{
		opt: opt, prog: prog, stdout: stdout, out: bufio.NewWriterSize(opt.Stdout, 64<<10),
		count: map[string]int{}, outs: map[string]int{}, Progress: cli.NewProgress(terminal, prog),
	}
}

// Line prints a line of output, and counts it by its first word.
func (r *Reporter) Line(format string, args ...any) {
	word, _, _ := strings.Cut(format, " ")
	r.count[word]++
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

// Raw prints text as it is.
func (r *Reporter) Raw(text string) { r.out.WriteString(text) }

// Page lets a pager show what is printed on a terminal, as git does: the one that PAGER names, or
// less(1), told to end by itself if all fits on the screen.
func (r *Reporter) Page() (end func(), err error) {
	pager, set := os.LookupEnv("PAGER")
	if !set {
		pager = "less"
	}
	if pager == "" || pager == "cat" {
		return func() {}, nil
	}
	in, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("sh", "-c", pager)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, os.Stdout, os.Stderr
	cmd.Env = os.Environ()
	if os.Getenv("LESS") == "" {
		cmd.Env = append(cmd.Env, "LESS=FRX")
	}
	err = cmd.Start()
	in.Close()
	if err != nil {
		w.Close()
		return func() {}, nil // without it, then
	}
	r.To(w)
	return func() {
		r.Flush()
		w.Close()
		cmd.Wait() // how it ended is of no matter
	}, nil
}

// To has what is printed from now on go elsewhere.
func (r *Reporter) To(w io.Writer) {
	r.Flush()
	r.out.Reset(w)
}

// Flush writes what is printed.
func (r *Reporter) Flush() { r.failed = cmp.Or(r.failed, r.out.Flush()) }

// Name quotes a name for standard output.
func (r *Reporter) Name(s string) string { return quote.Name(s, r.opt.StdoutTerminal) }

// ErrName quotes a name for standard error.
func (r *Reporter) ErrName(s string) string { return quote.Name(s, r.opt.StderrTerminal) }

// Note says something on standard error that is no failure.
func (r *Reporter) Note(path, what string) {
	if r.opt.Quiet {
		return
	}
	r.noting.Lock()
	defer r.noting.Unlock()
	r.out.Flush()
	r.Erase()
	fmt.Fprintf(r.opt.Stderr, "%s: %s: %s\n", r.prog, quote.Name(path, r.opt.StderrTerminal), cli.Printable(what))
}

// Fail says that a path could not be done. The rest goes on.
func (r *Reporter) Fail(path string, err error) {
	r.Failures++
	r.out.Flush()
	r.Erase()
	cli.Fprint(r.opt.Stderr, r.prog, fmt.Errorf("%s: %w", quote.Name(path, r.opt.StderrTerminal), err))
}

// Conflict names a path that both sides changed, and that is left alone.
func (r *Reporter) Conflict(path, why string) { r.Conflicts(path, 1, why) }

// Conflicts is Conflict for several paths that are not named one by one.
func (r *Reporter) Conflicts(path string, n int, why string) {
	r.conflicts += n
	if r.opt.OnConflict != nil {
		r.opt.OnConflict(path, why)
	}
	r.out.Flush()
	r.Erase()
	r.leave("CONFLICT", quote.Name(path, r.opt.StderrTerminal), why)
}

// Stays names a path that is in conflict, and about which neither --force nor --keep-both does anything: why says what to
// do, if there is anything.
func (r *Reporter) Stays(path, why string) {
	r.stay++
	r.Conflict(path, why)
}

// Held names a path that needs the user's permission. It is reported at the end, since many of them may be of
// one directory.
func (r *Reporter) Held(path, why string) { r.helds = append(r.helds, heldPath{path, why}) }

// Hidden names a path that is held back, and that no permission brings. It may be met several times.
func (r *Reporter) Hidden(path, why string) {
	if h := (heldPath{path, why}); !slices.Contains(r.hiddens, h) {
		r.hiddens = append(r.hiddens, h)
	}
}

type heldPath struct{ path, why string }

func (r *Reporter) leave(what, name, why string) {
	fmt.Fprintf(r.opt.Stderr, "%s %s: %s\n", what, name, cli.Printable(why)) // which may hold names of the guest's
}

// manyHeld is from how many on the paths that a directory holds, and that are held back for one reason,
// are reported as one: a virtual environment has a dozen of programs.
const manyHeld = 4

// tellHeld names what is held back, and forgets it.
func (r *Reporter) tellHeld() {
	type group struct{ dir, why string }
	in := func(h heldPath) group { return group{path.Dir(h.path), h.why} }
	size := map[group]int{}
	for _, h := range r.helds {
		size[in(h)]++
	}
	for _, h := range r.helds {
		g := in(h)
		switch n := size[g]; {
		case n < manyHeld && n > 0 || r.opt.Verbose:
			r.leave("HELD", r.ErrName(h.path), h.why)
		case n > 0:
			r.leave("HELD", r.ErrName(g.dir+"/"), Count(n, "file")+": "+h.why)
			size[g] = 0
		}
	}
	r.helds = nil
}

// LeftOut counts a path that patterns leave out.
func (r *Reporter) LeftOut(by string) { r.outs[by]++ }

// total says on standard error how much was done, or would be; held is how much is held back.
func (r *Reporter) total(held int) {
	written, moved, deleted, note := " written", " moved", " deleted", ""
	if r.opt.DryRun {
		written, moved, deleted, note = " to write", " to move", " to delete", " (dry run)"
	}
	var things, parts []string
	if n := r.count["FILE"] + r.count["LINK"]; n > 0 {
		things = append(things, Count(n, "file"))
	}
	switch n := r.count["DIR"]; {
	case n == 1:
		things = append(things, "1 directory")
	case n > 1:
		things = append(things, fmt.Sprintf("%d directories", n))
	}
	if things != nil {
		parts = append(parts, strings.Join(things, " and ")+written)
	}
	if n := r.count["REF"]; n > 0 {
		parts = append(parts, Count(n, "reference")+moved)
	}
	for _, c := range []struct {
		n    int
		what string
	}{{r.count["DEL"], deleted}, {held, " held back"}, {r.conflicts, " in conflict"}, {r.Failures, " failed"}} {
		if c.n > 0 && r.Doing != "" {
			parts = append(parts, strconv.Itoa(c.n)+c.what)
		}
	}
	for _, by := range slices.Sorted(maps.Keys(r.outs)) {
		parts = append(parts, fmt.Sprintf("%d left out by %s", r.outs[by], by))
	}
	switch {
	case parts == nil && r.Doing == "":
		return // of a diff, only what is left out is reported
	case parts == nil:
		parts = []string{"nothing to " + r.Doing}
	}
	fmt.Fprintf(r.opt.Stderr, "%s: %s%s\n", r.prog, strings.Join(parts, ", "), note)
}

// hint says what to do about what was left alone.
func (r *Reporter) hint(held []heldPath) string {
	var hints []string
	if r.conflicts > r.stay {
		hint := "--force brings it over what is there"
		switch r.Doing {
		case "pull":
			hint += ", --keep-both puts it beside"
		case "merge":
			hint += ", --ours leaves it as it is"
		}
		hints = append(hints, hint)
	}
	if len(held) > 0 {
		hints = append(hints, allowing(held))
	}
	if len(r.hiddens) > 0 {
		hints = append(hints, "what is hidden is yours to move or remove on the host")
	}
	return strings.Join(hints, "; ")
}

// allowing says what brings what is held back, with the words to type where that is one plain path. Paths begin with
// the workspace's name.
func allowing(held []heldPath) string {
	_, at, _ := strings.Cut(held[0].path, "/")
	if len(held) > 1 || at == "" || strings.HasPrefix(at, "-") || strings.ContainsFunc(at, func(c rune) bool {
		return !strings.ContainsRune("/._-+@,", c) && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z')
	}) {
		return "--allow PATTERN brings what is held back, art reset PATH gives it up"
	}
	return "--allow " + at + " brings what is held back, art reset " + at + " gives it up"
}

// End flushes the output and returns the run's result: err, or what the failures amount to.
func (r *Reporter) End(err error) error {
	r.Resume()
	r.Erase()
	r.Flush()
	helds := r.helds
	held := len(helds) + len(r.hiddens)
	r.helds = slices.Concat(helds, r.hiddens)
	r.tellHeld()
	if r.opt.Total && !r.opt.Quiet && err == nil {
		r.total(held)
	}
	// Who ends a pager has seen enough.
	if err == nil && r.failed != nil && !errors.Is(r.failed, unix.EPIPE) {
		err = fmt.Errorf("write to standard output: %w", r.failed)
	}
	if err == nil && r.Failures > 0 {
		err = fmt.Errorf("%w: %d failed", ErrIncomplete, r.Failures)
	}
	if left := r.conflicts + held; err == nil && left > 0 {
		err = cli.WithHint(fmt.Errorf("%w: %d left alone", ErrConflicts, left), r.hint(helds))
	}
	return err
}

// Count says how many there are of something.
func Count(n int, of string) string {
	if n != 1 {
		of += "s"
	}
	return fmt.Sprintf("%d %s", n, of)
}
