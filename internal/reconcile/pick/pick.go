// Package pick asks which changes to take, one after the other, in the way of git-add(1) with --patch.
package pick

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/riverlytech/art/internal/reconcile/patch"
)

// Change is what is asked about: as a whole, or hunk by hunk.
type Change struct {
	Head  string // is shown first
	What  string // what the question calls it, if it is taken as a whole: "deletion", "mode change"
	Hunks []patch.Hunk
}

// Asker asks. Its zero value is not ready: In and Out are needed.
type Asker struct {
	In   io.Reader
	Out  io.Writer
	Show func(text string)                 // shows a head or a hunk
	Edit func(text string) (string, error) // lets the user edit a hunk; see [Editor]; nil: that is not offered
	Echo bool                              // answers are printed: no terminal does

	answers *bufio.Scanner // of In
	quit    bool           // nothing more is taken
}

// Ask asks about a change, and returns whether it is taken, and of its hunks those that are.
func (a *Asker) Ask(ctx context.Context, c Change) (taken bool, picked []patch.Hunk, err error) {
	if a.quit {
		return false, nil, nil
	}
	if c.Head != "" {
		a.Show(c.Head)
	}
	q := &questions{asker: a, whole: len(c.Hunks) == 0, what: c.What}
	if q.whole {
		q.list = []item{{}}
	}
	for _, h := range c.Hunks {
		q.list = append(q.list, item{hunk: h})
	}
	if err := q.ask(ctx); err != nil {
		return false, nil, err
	}
	for _, i := range q.list {
		if i.answer == yes {
			picked = append(picked, i.hunk)
		}
	}
	if q.whole {
		return picked != nil, nil, nil
	}
	return picked != nil, picked, nil
}

type answer int

const (
	undecided answer = iota
	yes
	no
)

type item struct {
	hunk   patch.Hunk
	answer answer
}

// questions are those about one change.
type questions struct {
	asker *Asker
	whole bool
	what  string
	list  []item
	at    int
}

func (q *questions) ask(ctx context.Context) error {
	show := true
	for q.at < len(q.list) {
		if show && !q.whole {
			q.asker.Show(q.list[q.at].hunk.String())
		}
		fmt.Fprint(q.asker.Out, q.prompt())
		line, err := q.asker.line(ctx)
		switch {
		case errors.Is(err, io.EOF):
			line = "q" // as git does: what nobody answered is not taken
			fmt.Fprintln(q.asker.Out)
		case err != nil:
			return err
		case q.asker.Echo:
			fmt.Fprintln(q.asker.Out, line)
		}
		show = q.do(line)
	}
	return nil
}

// commands are what may be answered now, besides y, n, q, a and d.
func (q *questions) commands() string {
	if q.whole {
		return ""
	}
	var b strings.Builder
	for _, c := range []struct {
		name byte
		can  bool
	}{
		{'k', q.undecided(-1) >= 0}, {'K', q.at > 0}, {'j', q.undecided(1) >= 0}, {'J', q.at+1 < len(q.list)},
		{'g', len(q.list) > 1}, {'/', len(q.list) > 1}, {'s', len(q.here().Split()) > 1}, {'e', q.asker.Edit != nil}, {'p', true},
	} {
		if c.can {
			b.WriteString("," + string(c.name))
		}
	}
	return b.String()
}

func (q *questions) here() patch.Hunk { return q.list[q.at].hunk }

func (q *questions) prompt() string {
	if q.whole {
		return fmt.Sprintf("(1/1) Pull %s [y,n,q,a,d,?]? ", q.what)
	}
	return fmt.Sprintf("(%d/%d) Pull this hunk [y,n,q,a,d%s,?]? ", q.at+1, len(q.list), q.commands())
}

// undecided finds the next hunk in a direction that is not decided, or -1.
func (q *questions) undecided(step int) int {
	for i := q.at + step; i >= 0 && i < len(q.list); i += step {
		if q.list[i].answer == undecided {
			return i
		}
	}
	return -1
}

// decide answers the hunk, and goes on to the next that is not decided, after the last one to the first.
func (q *questions) decide(as answer) {
	q.list[q.at].answer = as
	q.next()
}

func (q *questions) next() {
	i := q.undecided(1)
	if i < 0 {
		i = slices.IndexFunc(q.list, func(i item) bool { return i.answer == undecided })
	}
	if q.at = i; i < 0 {
		q.at = len(q.list)
	}
}

// rest answers this hunk, and all that are not decided.
func (q *questions) rest(as answer) {
	q.list[q.at].answer = undecided
	for i := range q.list {
		if q.list[i].answer == undecided {
			q.list[i].answer = as
		}
	}
	q.at = len(q.list)
}

// do does what was answered. show reports whether there is another hunk to be shown.
func (q *questions) do(line string) (show bool) {
	line = strings.TrimSpace(line)
	if line == "" {
		return false
	}
	command, rest := line[:1], strings.TrimSpace(line[1:])
	if command != "J" && command != "K" {
		command = strings.ToLower(command)
	}
	switch command {
	case "y":
		q.decide(yes)
	case "n":
		q.decide(no)
	case "a":
		q.rest(yes)
	case "d":
		q.rest(no)
	case "q":
		q.rest(no)
		q.asker.quit = true
	case "?":
		fmt.Fprint(q.asker.Out, help)
		return false
	default:
		if !strings.Contains(q.commands(), ","+command) {
			fmt.Fprintf(q.asker.Out, "%q is no answer here\n%s", command, help)
			return false
		}
		return q.move(command, rest)
	}
	return true
}

// move does what decides nothing.
func (q *questions) move(command, rest string) (show bool) {
	switch command {
	case "j":
		q.at = q.undecided(1)
	case "J":
		q.at++
	case "k":
		q.at = q.undecided(-1)
	case "K":
		q.at--
	case "g":
		n, err := strconv.Atoi(rest)
		if err != nil || n < 1 || n > len(q.list) {
			fmt.Fprintf(q.asker.Out, "g takes a number from 1 to %d: g2\n", len(q.list))
			return false
		}
		q.at = n - 1
	case "/":
		return q.search(rest)
	case "s":
		parts := q.here().Split()
		fmt.Fprintf(q.asker.Out, "Split into %d patch.\n", len(parts))
		items := make([]item, len(parts))
		for i, h := range parts {
			items[i].hunk = h
		}
		q.list = slices.Replace(q.list, q.at, q.at+1, items...)
	case "e":
		return q.edit()
	}
	return true
}

// search goes to the next hunk that holds what a regular expression says.
func (q *questions) search(text string) bool {
	re, err := regexp.Compile("(?m)" + text)
	if err != nil || text == "" {
		fmt.Fprintln(q.asker.Out, "/ takes a regular expression: /name")
		return false
	}
	for i := range q.list {
		at := (q.at + 1 + i) % len(q.list)
		if re.MatchString(q.list[at].hunk.String()) {
			q.at = at
			return true
		}
	}
	fmt.Fprintln(q.asker.Out, "No hunk has that.")
	return false
}

// edit has the user edit the hunk, which is then taken.
func (q *questions) edit() bool {
	text, err := q.asker.Edit(q.here().String() + comment)
	if err != nil {
		fmt.Fprintf(q.asker.Out, "The editor failed: %v\n", err)
		return false
	}
	h, ok, err := q.here().Edit(text)
	switch {
	case err != nil:
		fmt.Fprintf(q.asker.Out, "The hunk does not apply: %v\n", err)
		return false
	case !ok:
		q.decide(no)
		return true
	}
	q.list[q.at].hunk = h
	q.decide(yes)
	return true
}

const comment = `# ---
# To leave out a line that begins with "-", make it begin with a space.
# To leave out a line that begins with "+", delete it.
# Lines that begin with # are no part of it. If no change is left, the hunk is not pulled.
`

const help = `y - pull this
n - do not pull this
q - quit; pull neither this nor anything after it
a - pull this and all later hunks of the file
d - pull neither this nor any later hunk of the file
j - leave this undecided, go to the next undecided hunk
J - leave this undecided, go to the next hunk
k - leave this undecided, go to the undecided hunk before
K - leave this undecided, go to the hunk before
g - go to a hunk by its number
/ - go to a hunk that a regular expression fits
s - split the hunk into smaller ones
e - edit the hunk, and pull it
p - show the hunk again
? - show this
What is not pulled stays in the database, for another pull.
`

// line reads a line of the answers, not before it is asked for: an editor may read from the same terminal
// until then. It does not wait longer than the run goes on.
func (a *Asker) line(ctx context.Context) (string, error) {
	if a.answers == nil {
		a.answers = bufio.NewScanner(a.In)
	}
	some := make(chan bool, 1)
	go func() { some <- a.answers.Scan() }()
	select {
	case ok := <-some:
		if !ok {
			return "", cmp.Or(a.answers.Err(), io.EOF)
		}
		return a.answers.Text(), nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
