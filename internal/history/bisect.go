package history

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/quote"
	"github.com/riverlytech/art/internal/reconcile/report"
	"github.com/riverlytech/art/internal/reconcile/show"
	"github.com/riverlytech/art/internal/workspace"
	"github.com/riverlytech/art/sqlvfs"
)

// BisectOptions say between which checkpoints to look, and how to try one.
type BisectOptions struct {
	Options
	Good, Bad string // by number or label; "" is the oldest checkpoint, and the present
	Stderr    io.Writer
	// Run runs the command in a session on a database, and returns the exit code; [cli.ExitArt] also where there was no session.
	Run func(ctx context.Context, db string) (int, error)
}

// verdict is what the command says of a checkpoint.
type verdict string

const (
	good    verdict = "good"
	bad     verdict = "bad"
	skipped verdict = "skipped"
)

// errSkipped says that the first bad checkpoint is not known.
var errSkipped = errors.New("which is the first bad one is not known: those between could not be tried")

// bisected is what was found, as JSON has it.
type bisected struct {
	Record
	Good    int64   `json:"good"`
	Skipped []int64 `json:"skipped"`
}

// Bisect finds the first checkpoint that a command calls bad, by its exit code, as git bisect run does, and shows what has changed there.
// Each is tried in a fork of its own.
func Bisect(ctx context.Context, o BisectOptions) error {
	b := &bisection{o: &o}
	if err := o.sweep(ctx, func(text string) { b.say("%s", text) }); err != nil {
		return fmt.Errorf("bisect %s: %w", o.DB, Hinted(o.DB, err))
	}
	if err := b.run(ctx); err != nil {
		return fmt.Errorf("bisect %s: %w", o.DB, Hinted(o.DB, err))
	}
	return nil
}

// bisectWord is in the names of its scratch forks. The checkpoints that these are of were there before, but for that of the present: a fork
// which nothing is run in has it made, and keeps it for as long as the search lasts.
const (
	bisectWord  = "bisect"
	presentFork = 0 // in its name, where others have the number of a checkpoint
)

type bisection struct {
	o     *BisectOptions
	named int64 // the first bad checkpoint, once it is known
}

func (b *bisection) run(ctx context.Context) (err error) {
	if b.o.Bad == "" {
		before, err := b.checkpoints()
		if err != nil {
			return err
		}
		path := workspace.Scratch(b.o.DB, bisectWord, presentFork)
		now, held, err := b.o.scratch(ctx, path, "")
		if err != nil {
			return err
		}
		defer held.Close()
		defer func() {
			made := !slices.ContainsFunc(before, func(c sqlvfs.Checkpoint) bool { return c.ID == now.ID })
			err = errors.Join(err, b.remove(ctx, path, !made || now.ID == b.named))
			if made && now.ID == b.named && err == nil {
				b.say("checkpoint %d, which was made of what is now, stays", now.ID)
			}
		}()
		b.o.Bad = fmt.Sprint(now.ID)
	}
	return b.search(ctx)
}

func (b *bisection) search(ctx context.Context) error {
	list, err := b.ends()
	if err != nil {
		return err
	}
	last := len(list) - 1
	first := 0
	for ; ; first++ {
		switch v, why, err := b.try(ctx, &list[first], ""); {
		case err != nil:
			return err
		case v == good:
		case why != nil && b.o.Good == "" && first < last-1:
			continue // it is too old to be shown
		default:
			return isNot(&list[first], good, v, why)
		}
		break
	}
	switch v, why, err := b.try(ctx, &list[last], ""); {
	case err != nil:
		return err
	case v != bad:
		return isNot(&list[last], bad, v, why)
	}
	list = list[first:]
	from, to, err := search(len(list), func(i, left int) (verdict, error) {
		v, _, err := b.try(ctx, &list[i], fmt.Sprintf("%s left, about %s", report.Count(left, "checkpoint"), report.Count(bits.Len(uint(left)), "run")))
		return v, err
	})
	if err != nil {
		return err
	}
	b.named = list[to].ID
	return b.tell(ctx, list[from:to+1])
}

// checkpoints returns all checkpoints, the oldest first.
func (b *bisection) checkpoints() ([]sqlvfs.Checkpoint, error) {
	s, err := sqlvfs.Open(b.o.DB, sqlvfs.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	list, err := s.Checkpoints()
	slices.Reverse(list)
	return list, err
}

// isNot is the error of an end of the search that the command does not call what it is to be.
func isNot(c *sqlvfs.Checkpoint, wanted, v verdict, why error) error {
	switch {
	case why != nil:
		return fmt.Errorf("checkpoint %d cannot be tried: %w", c.ID, why)
	case v == skipped:
		return fmt.Errorf("checkpoint %d is to be %s, and cannot be tried: the command, or art, has ended with exit code %d", c.ID, wanted, cli.ExitArt)
	}
	return cli.WithHint(fmt.Errorf("checkpoint %d is to be %s, and the command calls it %s", c.ID, wanted, v),
		fmt.Sprintf("name one that is with --%s; art log lists them", wanted))
}

// ends returns the checkpoints from the one that is to be good to the one that is to be bad, the oldest first.
func (b *bisection) ends() ([]sqlvfs.Checkpoint, error) {
	list, err := b.checkpoints()
	if err != nil {
		return nil, err
	}
	first, last := 0, len(list)-1
	for _, end := range []struct {
		name string
		at   *int
	}{{b.o.Good, &first}, {b.o.Bad, &last}} {
		if end.name == "" {
			continue
		}
		called := func(name string) int {
			return slices.IndexFunc(list, func(c sqlvfs.Checkpoint) bool { return name == fmt.Sprint(c.ID) || name != "" && name == c.Label })
		}
		if *end.at = called(end.name); *end.at < 0 {
			*end.at = called(strings.TrimPrefix(end.name, "@"))
		}
		if *end.at < 0 {
			return nil, &sqlvfs.NoCheckpointError{Name: end.name}
		}
	}
	switch {
	case last < 0:
		return nil, errors.New("there is no checkpoint")
	case first == last:
		return nil, cli.WithHint(fmt.Errorf("there is nothing between: both ends are checkpoint %d", list[first].ID), "art log lists the checkpoints")
	case first > last:
		return nil, fmt.Errorf("checkpoint %d, which is to be good, is later than %d, which is to be bad", list[first].ID, list[last].ID)
	}
	return list[first : last+1], nil
}

// search finds of n moments, the first of which is good and the last of which is bad, a bad one with a good one before it. Those between
// the two are the ones that were skipped. left is how many it may be that are still between.
func search(n int, try func(i, left int) (verdict, error)) (from, to int, err error) {
	to = n - 1
	tried := make([]bool, n)
	for {
		i, left := middle(tried[from:to])
		if left == 0 {
			return from, to, nil
		}
		v, err := try(from+i, left)
		if err != nil {
			return from, to, err
		}
		tried[from+i] = true
		switch v {
		case good:
			from += i
		case bad:
			to = from + i
		}
	}
}

// middle returns the index nearest to the middle, but for the first, of what was not tried, and how many these are.
func middle(tried []bool) (at, left int) {
	half := len(tried) / 2
	for i := 1; i < len(tried); i++ {
		if tried[i] {
			continue
		}
		left++
		if at == 0 || max(i-half, half-i) < max(at-half, half-at) {
			at = i
		}
	}
	return at, left
}

// try runs the command on a fork of a checkpoint, which is removed then. why is set where there can be no such fork.
func (b *bisection) try(ctx context.Context, c *sqlvfs.Checkpoint, left string) (v verdict, why, err error) {
	if left != "" {
		left = ": " + left
	}
	b.say("trying checkpoint %d%s", c.ID, left)
	began := time.Now()
	code, why, err := b.inFork(ctx, c)
	switch {
	case err != nil:
		return "", nil, err
	case why != nil:
		v = skipped
		b.say("checkpoint %d is skipped: %v", c.ID, why)
		return v, why, nil
	case code == 0:
		v = good
	case code == cli.ExitArt:
		v = skipped
	case code < cli.ExitSignal:
		v = bad
	default:
		return "", nil, fmt.Errorf("the command has ended with exit code %d at checkpoint %d: only 0 to 127 say something of that", code, c.ID)
	}
	b.say("checkpoint %d is %s (exit code %d, %v)", c.ID, v, code, time.Since(began).Round(100*time.Millisecond))
	return v, nil, nil
}

func (b *bisection) say(format string, args ...any) {
	if !b.o.Quiet {
		fmt.Fprintf(b.o.Stderr, "%s: %s\n", b.o.Prog, cli.Printable(fmt.Sprintf(format, args...)))
	}
}

// inFork runs the command on a fork, and removes that whatever has come of it. why is set where there can be no such fork.
func (b *bisection) inFork(ctx context.Context, c *sqlvfs.Checkpoint) (code int, why, err error) {
	if ctx.Err() != nil {
		return 0, nil, errInterrupted
	}
	path := workspace.Scratch(b.o.DB, bisectWord, c.ID)
	_, held, err := b.o.scratch(ctx, path, fmt.Sprint(c.ID))
	switch {
	case isAny(err, sqlvfs.ErrNoCheckpoint, sqlvfs.ErrReplaced, sqlvfs.ErrAgreed, sqlvfs.ErrCorrupt, syscall.ESTALE): // the last is a session's word
		return 0, err, nil
	case err != nil:
		return 0, nil, err
	}
	defer held.Close()
	defer func() { err = errors.Join(err, b.remove(ctx, path, true)) }()
	if code, err = b.o.Run(ctx, path); ctx.Err() != nil {
		err = errInterrupted
	}
	return code, nil, err
}

// remove removes a fork; with keep, but not the checkpoint that was made for it. It does so after a signal too: that ends the command
// alone.
func (b *bisection) remove(ctx context.Context, path string, keep bool) error {
	err := b.o.removeFork(context.WithoutCancel(ctx), path, keep)
	if err == nil {
		return nil
	}
	return cli.WithHint(fmt.Errorf("remove the fork %s: %w", path, err), "art rm --force "+path)
}

var errInterrupted = errors.New("interrupted")

func isAny(err error, list ...error) bool {
	return slices.ContainsFunc(list, func(one error) bool { return errors.Is(err, one) })
}

// tell shows what was found: the last that is good, the first that is bad, and between them those that could not be tried.
func (b *bisection) tell(ctx context.Context, list []sqlvfs.Checkpoint) error {
	from, to := &list[0], &list[len(list)-1]
	is := bisected{Record: NewRecord(to), Good: from.ID, Skipped: []int64{}}
	for _, c := range list[1 : len(list)-1] {
		is.Skipped = append(is.Skipped, c.ID)
	}
	text, form := "", show.Names
	if b.o.JSON {
		var err error
		if text, err = quote.JSON(is); err != nil {
			return err
		}
		form = show.JSON
	} else {
		when := "?"
		if is.Made != nil {
			when = is.Made.Local().Format("2006-01-02 15:04:05")
		}
		text = fmt.Sprintf("checkpoint %d is the first bad one", to.ID)
		if len(is.Skipped) > 0 {
			text = fmt.Sprintf("checkpoint %d is bad, and %d is good", to.ID, from.ID)
		}
		text += strings.TrimRight(fmt.Sprintf("\n%s  %s  %s", when, is.Why(), cli.Printable(to.Label)), " ")
	}
	if _, err := fmt.Fprintln(b.o.Stdout, text); err != nil {
		return err
	}
	_, err := Diff(ctx, DiffOptions{
		Prog: b.o.Prog, DB: b.o.DB, Dir: b.o.Dir, From: Point{At: fmt.Sprint(from.ID)}, To: Point{At: fmt.Sprint(to.ID)}, Form: form, Stdout: b.o.Stdout, Stderr: b.o.Stderr,
	})
	if err == nil {
		b.say("art diff @%d..%d --patch shows the lines", from.ID, to.ID)
	}
	if err == nil && len(is.Skipped) > 0 {
		err = errSkipped
	}
	return err
}
