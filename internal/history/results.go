package history

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/live"
	"github.com/riverlytech/art/internal/quote"
	"github.com/riverlytech/art/internal/reconcile/report"
	"github.com/riverlytech/art/internal/reconcile/show"
	"github.com/riverlytech/art/internal/workspace"
	"github.com/riverlytech/art/sqlvfs"
)

// CompareOptions say which forks are compared.
type CompareOptions struct {
	Options
	Forks []string // none: all that there are
}

// compared is a fork as JSON has it.
type compared struct {
	Fork     string     `json:"fork"`
	Database string     `json:"database"`
	Command  []string   `json:"command"` // null: nothing was tried in it
	Started  *time.Time `json:"started"`
	Seconds  *float64   `json:"seconds"`
	ExitCode *int       `json:"exit_code"`
	Files    int        `json:"files"`
	Beside   int        `json:"beside"` // in the home beside the workspace, of which no more is told
	Added    *int       `json:"added"`  // lines; null: of one file it is not known
	Removed  *int       `json:"removed"`
	Output   string     `json:"output"` // its end
	Error    string     `json:"error,omitempty"`

	changed map[string][sha256.Size]byte // by path, what is there now
}

// overlap is a path that several forks have changed.
type overlap struct {
	Path  string   `json:"path"`
	Forks []string `json:"forks"`
	Same  bool     `json:"same"`
}

const (
	shownLines    = 3  // of the output of each fork
	shownOverlaps = 20 // paths
)

// Compare shows what came of forks: exit code, time, what each has changed since it was made, the end of its output, and what several have
// changed.
func Compare(ctx context.Context, o CompareOptions) error {
	names := o.Forks
	if len(names) == 0 {
		var err error
		if names, err = forksOf(o.DB); err != nil {
			return fmt.Errorf("find the forks of %s: %w", o.DB, err)
		}
		if len(names) == 0 {
			return cli.WithHint(fmt.Errorf("compare forks of %s: there are none", o.DB), "art try makes some, and art fork makes one")
		}
	}
	var list []*compared
	var failed error
	for _, name := range names {
		path, err := workspace.FindFork(o.DB, name)
		if err != nil {
			return err
		}
		c := &compared{Fork: name, Database: workspace.Absolute(path)}
		if err := c.look(ctx, path, &o); err != nil {
			if ctx.Err() != nil {
				return err
			}
			c.Error = err.Error()
			failed = errors.Join(failed, fmt.Errorf("compare the fork %s: %w", cli.Printable(name), Hinted(path, err)))
		}
		list = append(list, c)
	}
	err := o.print(list, overlaps(list))
	if err == nil {
		err = failed
	}
	return err
}

// look finds out what came of a fork.
func (c *compared) look(ctx context.Context, path string, o *CompareOptions) error {
	if r, err := resultOf(path); err != nil {
		return err
	} else if r != nil {
		c.Command, c.Started, c.Seconds, c.ExitCode, c.Output = r.Command, &r.Started, &r.Seconds, &r.ExitCode, r.Output
	}
	live.Settle(path)
	to, err := sqlvfs.OpenMoment(path, "")
	if err != nil {
		return err
	}
	defer to.Close()
	_, at, _ := to.Parent()
	parent, _, err := sqlvfs.ForkOf(path)
	if err == nil && (parent == "" || at == 0) {
		err = errors.New("it is no fork")
	}
	if err != nil {
		return err
	}
	from, err := sqlvfs.OpenMoment(parent, fmt.Sprint(at))
	if err != nil {
		return err
	}
	defer from.Close()
	d, err := o.between(ctx, path, from, to)
	if err != nil {
		return err
	}
	defer d.close()
	r := newReleased(to, path)
	d.released = &r
	if d.released.since, err = to.Span(0); err == nil {
		err = d.fromOwn()
	}
	if err == nil {
		err = d.run()
	}
	if err != nil {
		return err
	}
	gone, err := d.from.Replaced()
	if err != nil {
		return err
	}
	c.changed = map[string][sha256.Size]byte{}
	c.Added, c.Removed = new(int), new(int)
	for _, e := range d.changes {
		if err := c.count(d, e); err != nil {
			return err
		}
	}
	if len(gone) > 0 {
		c.Added, c.Removed = nil, nil
	}
	return nil
}

// between returns what compares two moments of a fork. The workspace is the one that the database knows, wherever the user is.
func (o *CompareOptions) between(ctx context.Context, path string, from, to *sqlvfs.Moment) (*comparer, error) {
	d := &comparer{ctx: ctx, from: from, to: to, opt: &DiffOptions{Prog: o.Prog, DB: path, Dir: o.Dir, Form: show.Stat}, report: report.New(report.Options{Quiet: true}, o.Prog)}
	if err := d.findWorkspace(); err != nil || d.host != nil {
		return d, err
	}
	list, err := to.Workspaces()
	for _, w := range list {
		if w.Name == d.name {
			d.opt.Dir = w.Path
		}
	}
	if err == nil {
		err = d.findWorkspace()
	}
	return d, err
}

func (d *comparer) close() {
	if d.host != nil {
		d.host.Close()
	}
	if d.own != nil {
		d.own.Close()
	}
	if d.released != nil {
		d.released.close()
	}
}

// fromOwn has a fork be compared with its own first checkpoint instead of with its parent, if it had changed nothing until then: a fork
// keeps what pulls have since replaced and made on the host, and the checkpoint of its parent shows what they brought.
func (d *comparer) fromOwn() error {
	all, err := d.to.Checkpoints()
	if err != nil || len(all) == 0 {
		return err
	}
	first := &all[len(all)-1]
	if first.ID != 1 || first.Kind != sqlvfs.AtSession { // not with the first change
		return nil
	}
	if d.own, err = sqlvfs.OpenMoment(d.opt.DB, "1"); err != nil {
		return err
	}
	gone, err := d.from.Replaced()
	if err != nil {
		return err
	}
	until := *d
	until.to = d.own
	if err := until.walk(); err != nil {
		return err
	}
	for _, c := range append(until.changes, until.came...) {
		kept := c.now != nil && c.now.row != nil && c.now.row.Ino < 0
		made := c.now == nil && c.old.row == nil
		replaced := slices.ContainsFunc(gone, func(g sqlvfs.ReplacedPath) bool {
			at := path.Join(g.Workspace, g.Path)
			return at == c.path || strings.HasPrefix(c.path, at+"/") || strings.HasPrefix(at, c.path+"/")
		})
		if !kept && !made && !replaced {
			return nil
		}
	}
	d.from = d.own
	return nil
}

// count counts a change.
func (c *compared) count(d *comparer, e *change) error {
	if err := d.ctx.Err(); err != nil {
		return err
	}
	if e.now.isDir() || e.now == nil && e.old.isDir() {
		return nil
	}
	shown, beside := d.outer(e.path)
	if _, was := d.outer(e.from); beside && was && d.name != "" {
		c.Beside++
		return nil
	}
	c.Files++
	what := "deleted"
	var content []byte
	if e.now != nil {
		what = fmt.Sprintf("%o %d %d", e.now.attr.Mode, e.now.attr.Size, e.now.attr.Rdev)
	}
	f, ok, err := d.file(e)
	if err != nil && !errors.Is(err, errElsewhere) {
		return err
	}
	known := err == nil
	if known {
		if known, err = d.isFrom(e); err != nil {
			return err
		}
	}
	switch {
	case !known:
		c.Added, c.Removed = nil, nil
	case ok && c.Added != nil:
		added, removed := f.Count()
		*c.Added += added
		*c.Removed += removed
	}
	if ok {
		content = f.New
	} else if e.now != nil {
		what += " " + c.Fork // nobody has compared it
	}
	c.changed[shown] = sha256.Sum256(append([]byte(what+"\x00"), content...))
	if e.letter == 'R' {
		shown, _ = d.outer(e.from)
		c.changed[shown] = sha256.Sum256([]byte("deleted\x00"))
	}
	return nil
}

// isFrom tells whether the old side of a change is what the new one was made from: of the host's objects, only the version of now is there.
func (d *comparer) isFrom(e *change) (bool, error) {
	if e.old == nil || e.old.row != nil || e.now == nil || e.now.row == nil {
		return true, nil
	}
	o := e.now.row.Origin
	if o == nil || o.Base != d.name || o.Path != e.old.host {
		return true, nil
	}
	st, err := d.stat(o.Path)
	return st.Mode != 0 && hostfs.Fingerprint(&st) == o.Fingerprint, err
}

// resultOf reads what came of a fork; nil: nothing is known. It is anybody's word.
func resultOf(path string) (*Result, error) {
	s, err := sqlvfs.Open(path, sqlvfs.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	text, err := s.Result()
	if err != nil || text == nil {
		return nil, err
	}
	var r Result
	if json.Unmarshal(text, &r) != nil || r.Seconds < 0 || len(r.Output) > 3*maxOutput {
		return nil, nil
	}
	return &r, nil
}

// overlaps are the paths that several forks have changed, by path.
func overlaps(list []*compared) (all []overlap) {
	of := map[string]*overlap{}
	first := map[string][sha256.Size]byte{}
	for _, c := range list {
		for path, is := range c.changed {
			o := of[path]
			if o == nil {
				o = &overlap{Path: path, Same: true}
				of[path], first[path] = o, is
			}
			o.Forks = append(o.Forks, c.Fork)
			o.Same = o.Same && is == first[path]
		}
	}
	for _, o := range of {
		if len(o.Forks) > 1 {
			all = append(all, *o)
		}
	}
	slices.SortFunc(all, func(a, b overlap) int { return strings.Compare(a.Path, b.Path) })
	return all
}

func (o *CompareOptions) print(list []*compared, both []overlap) error {
	var b strings.Builder
	if o.JSON {
		for _, c := range list {
			text, err := quote.JSON(c)
			if err != nil {
				return err
			}
			b.WriteString(text + "\n")
		}
		for _, p := range both {
			text, err := quote.JSON(p)
			if err != nil {
				return err
			}
			b.WriteString(text + "\n")
		}
	} else {
		table(&b, list)
		overlapText(&b, both)
	}
	_, err := fmt.Fprint(o.Stdout, b.String())
	return err
}

func table(b *strings.Builder, list []*compared) {
	width := len("fork")
	for _, c := range list {
		width = max(width, len(cli.Printable(c.Fork)))
	}
	fmt.Fprintf(b, "%-*s  exit     time  files  lines\n", width, "fork")
	for _, c := range list {
		exit, took := "-", "-"
		if c.ExitCode != nil {
			exit, took = fmt.Sprint(*c.ExitCode), fmt.Sprintf("%.1fs", *c.Seconds)
		}
		lines := "?"
		switch {
		case c.Error != "":
			lines = "error"
		case c.Added != nil:
			lines = fmt.Sprintf("+%d -%d", *c.Added, *c.Removed)
		}
		fmt.Fprintf(b, "%-*s  %4s  %7s  %5d  %s\n", width, cli.Printable(c.Fork), exit, took, c.Files, lines)
		if c.Beside > 0 {
			fmt.Fprintf(b, "  %s changed in the home beside the workspace\n", report.Count(c.Beside, "file"))
		}
		end := strings.Split(strings.TrimRight(c.Output, "\n"), "\n")
		for _, line := range end[max(0, len(end)-shownLines):] {
			if line = strings.TrimRight(line, " \r"); line != "" {
				fmt.Fprintf(b, "  | %s\n", cli.Printable(line))
			}
		}
	}
}

func overlapText(b *strings.Builder, both []overlap) {
	if len(both) == 0 {
		return
	}
	fmt.Fprintf(b, "%s changed by several:\n", report.Count(len(both), "path"))
	for i, p := range both {
		if i == shownOverlaps {
			fmt.Fprintf(b, "  and %d more: --json lists them\n", len(both)-i)
			break
		}
		what := "differ"
		if p.Same {
			what = "have the same"
		}
		fmt.Fprintf(b, "  %s: %s %s\n", quote.Name(p.Path, true), cli.Printable(strings.Join(p.Forks, ", ")), what)
	}
}
