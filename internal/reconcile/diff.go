package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/reconcile/classify"
	"github.com/riverlytech/art/internal/reconcile/patch"
	"github.com/riverlytech/art/internal/reconcile/report"
	"github.com/riverlytech/art/sqlvfs"
)

// Diff shows what the guest changed in `/<base name of the directory>/` of the database opt.DB
// against the workspace opt.Dir, and returns whether there is anything. It changes neither, and works
// while a session runs: then it shows what was last committed.
//
// [ErrIncomplete] means that some paths could not be compared; each was reported on standard error.
func Diff(ctx context.Context, opt Options) (differ bool, err error) {
	opt.ctx = ctx
	s, err := openForReading(&opt, true)
	if err != nil {
		return false, err
	}
	d := &comparer{planner: *s}
	d.policy = d
	defer d.closeRepos()
	err = d.run()
	return len(d.changes) > 0 || len(d.refLines()) > 0, d.report.End(s.close(err))
}

// comparer is one run of Diff. It takes the guest's version everywhere.
type comparer struct {
	planner
	changes []*change
}

// change is what the guest made of one path.
type change struct {
	letter byte   // A, M, D, R or T
	path   string // where it is now, or was
	from   string // where it was, if it was renamed

	now, was *item // was: what removes it; nil for what is new or still at its place
}

func (c *change) isDir() bool {
	if c.now == nil {
		return c.was.there == unix.S_IFDIR
	}
	return c.now.attr.IsDir()
}

func (d *comparer) conflict(*item) bool { return true }
func (d *comparer) held(*item) bool     { return true }
func (d *comparer) needed(*item)        {}
func (d *comparer) choose() error       { return nil }

func (d *comparer) fail(a *item, err error) {
	d.report.Fail(d.hostPath(a.path), err)
	d.leave(a)
}

func (d *comparer) lacking(a *item, err error) { d.report.Fail(d.hostPath(a.path), err) }

func (d *comparer) broken(a *item) {
	d.changes = append(d.changes, &change{letter: 'M', path: a.path, now: a})
}

func (d *comparer) run() error {
	if d.top == nil { // the guest has changed no file
		if err := d.openExternal(); err != nil {
			return err
		}
		return d.show()
	}
	if err := d.compare(); err != nil {
		return err
	}
	d.find()
	d.noteAbsent()
	return d.show()
}

// find turns what pull would do, if it were allowed everything, into what the guest changed.
func (d *comparer) find() {
	removed := map[string]*item{}
	byRow := map[sqlvfs.Ino]*item{}
	for _, o := range d.ops {
		if a := o.item; o.do == remove {
			removed[a.path] = a
			if a.was != nil && a.was.Row != 0 {
				byRow[a.was.Row] = a
			}
		}
	}
	for _, o := range d.ops {
		a := o.item
		c := &change{path: a.path, now: a}
		switch {
		case o.do == remove || o.do == keep:
			continue
		case a.there == 0:
			c.letter = 'A'
			if from := d.origin(a, removed, byRow); from != nil && from.there == kind(a.attr.Mode) {
				c.letter, c.from, c.was = 'R', from.path, from
				delete(removed, from.path)
			}
		case a.there != kind(a.attr.Mode):
			c.letter = 'T'
			delete(removed, a.path) // it is not gone, but another thing now
		case o.do != chmodDir && o.do != attributes && !d.sameThere(a):
			c.letter = 'M'
		case d.attributesDiffer(a):
			c.letter = 'T'
		default:
			continue // only its times
		}
		d.changes = append(d.changes, c)
	}
	for at, a := range removed {
		d.changes = append(d.changes, &change{letter: 'D', path: at, was: a})
	}
	if d.absent != nil {
		d.changes = append(d.changes, &change{letter: 'D', path: ".", was: d.absentItem()})
	}
	slices.SortFunc(d.changes, func(a, b *change) int { return cmp.Compare(a.path, b.path) })
	d.foldRepos()
}

// foldRepos leaves one line of a repository that is new as a whole.
func (d *comparer) foldRepos() {
	fresh := map[string]bool{}
	for _, c := range d.changes {
		if dir, in := d.gitDir(c.path); dir != "" && in == "" && c.letter == 'A' {
			fresh[dir] = true
		}
	}
	d.changes = slices.DeleteFunc(d.changes, func(c *change) bool {
		dir, in := d.gitDir(c.path)
		return in != "" && fresh[dir] && c.held() == ""
	})
}

// attributesDiffer reports whether the guest's mode, owner or extended attributes are news to the host.
func (d *comparer) attributesDiffer(a *item) bool {
	return a.decision.Mode == classify.Guest || a.decision.Owner == classify.Guest || a.decision.Xattrs == classify.Guest
}

// origin returns what removes the object that a new one was before it was renamed, or nil.
func (d *comparer) origin(a *item, removed map[string]*item, byRow map[sqlvfs.Ino]*item) *item {
	if from := removed[a.source]; from != nil {
		return from
	}
	if a.node == nil {
		return nil
	}
	if o := a.node.Origin; o != nil && removed[o.Path] != nil {
		return removed[o.Path]
	}
	if from := byRow[a.node.Ino]; from != nil && removed[from.path] != nil {
		return from
	}
	return nil
}

// sameThere reports whether the host has the guest's content.
func (d *comparer) sameThere(a *item) bool {
	if a.decision.Content != classify.Guest || a.attr.IsSymlink() {
		return a.decision.Content != classify.Guest
	}
	same, err := d.equalContent(a)
	if err != nil {
		d.report.Fail(d.hostPath(a.path), err)
	}
	return same
}

// textLimit bounds the content that is compared line by line, or printed, in bytes. What is larger is
// named.
const textLimit = 128 << 20

// file reads both sides of a change. ok is false for what a patch has no words for.
func (d *comparer) file(c *change) (f *patch.File, ok bool, err error) {
	f = &patch.File{OldName: cmp.Or(c.from, c.path), NewName: c.path}
	if a := c.now; a != nil && !a.attr.IsDir() {
		f.NewMode = patch.ModeOf(a.attr.Mode)
		if a.attr.Size > textLimit {
			return nil, false, nil
		}
		from := d.guestContent
		if a.op != nil && a.op.do == attributes {
			from = d.hostContent
		}
		if f.New, err = d.read(from, a); err != nil {
			return nil, false, err
		}
	}
	old := c.was
	if old == nil && c.now.there != 0 {
		old = c.now
	}
	if old != nil && old.there != unix.S_IFDIR {
		f.OldMode = patch.ModeOf(old.host.Mode)
		if old.host.Size > textLimit {
			return nil, false, nil
		}
		if f.Old, err = d.read(d.hostContent, old); err != nil {
			return nil, false, err
		}
	}
	return f, f.OldMode != patch.None || f.NewMode != patch.None, nil
}

// read reads all of a side's content.
func (d *comparer) read(of func(*item) (*content, error), a *item) ([]byte, error) {
	c, err := of(a)
	if err != nil {
		return nil, err
	}
	defer c.close()
	return c.head(textLimit)
}

// conflict and held say why pull does not bring a change by itself, or nothing.
func (c *change) conflict() string { return c.why(func(a *item) string { return a.conflict }) }
func (c *change) held() string     { return c.why(func(a *item) string { return a.held }) }

func (c *change) why(of func(*item) string) string {
	for _, a := range [...]*item{c.now, c.was} {
		if a != nil && of(a) != "" {
			return of(a)
		}
	}
	return ""
}

// Summary counts what the guest has changed against the host. Directories do not count.
type Summary struct {
	Changed, Deleted, Held, Commits int

	Absent string // what the guest has done to the workspace's directory itself, or ""
}

// Summarize counts what the guest has changed in the workspace opt.Dir, by what is committed in the
// database opt.DB. What cannot be compared does not count.
func Summarize(ctx context.Context, opt Options) (Summary, error) {
	opt.Quiet, opt.Stdout, opt.Stderr, opt.ctx = true, io.Discard, io.Discard, ctx
	s, err := openForReading(&opt, true)
	if err != nil {
		return Summary{}, err
	}
	d := &comparer{planner: *s}
	d.policy = d
	defer d.closeRepos()
	if d.top != nil {
		err = d.compare()
	}
	d.find()
	var sum Summary
	for _, c := range d.changes {
		switch {
		case c.isDir():
		case c.held() != "":
			sum.Held++
		case c.letter == 'D':
			sum.Deleted++
		default:
			sum.Changed++
		}
	}
	sum.Commits = d.commits()
	if d.absent != nil {
		sum.Absent = d.absent.why
	}
	return sum, s.close(err)
}

// String is the summary in words, or nothing.
func (s Summary) String() string {
	var parts []string
	if s.Absent != "" {
		parts = append(parts, s.Absent)
	}
	if s.Changed > 0 {
		parts = append(parts, report.Count(s.Changed, "file")+" changed")
	}
	if s.Deleted > 0 {
		parts = append(parts, fmt.Sprintf("%d deleted", s.Deleted))
	}
	if s.Commits > 0 {
		parts = append(parts, report.Count(s.Commits, "commit"))
	}
	if s.Held > 0 {
		parts = append(parts, fmt.Sprintf("%d held back", s.Held))
	}
	return strings.Join(parts, ", ")
}
