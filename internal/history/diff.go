package history

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/live"
	"github.com/riverlytech/art/internal/reconcile/patch"
	"github.com/riverlytech/art/internal/reconcile/report"
	"github.com/riverlytech/art/internal/reconcile/selection"
	"github.com/riverlytech/art/internal/reconcile/show"
	"github.com/riverlytech/art/sqlvfs"
)

// DiffOptions say what moments are compared, and how the differences are shown.
type DiffOptions struct {
	Prog     string // which the user has called, as messages have it
	DB       string
	Dir      string // the workspace on the host
	Name     string // of it in the database; "": as the database knows it
	From, To Point
	Paths    []string
	Form     show.Form
	Quiet    bool
	Colour   bool
	Pager    bool
	Stdout   io.Writer
	Stderr   io.Writer

	StdoutTerminal, StderrTerminal bool
}

// Diff shows what is another in all of the guest's home at one moment than it was at an earlier one, and tells whether anything is. Paths
// in the workspace are shown below it, as [reconcile.Diff] does, and others with "~/" before them. What only the host has is compared
// with nothing: it is in no checkpoint.
func Diff(ctx context.Context, o DiffOptions) (differ bool, err error) {
	from, to, err := o.open()
	if err != nil {
		return false, err
	}
	defer from.Close()
	defer to.Close()
	d := &comparer{ctx: ctx, from: from, to: to, opt: &o, report: report.New(report.Options{
		Quiet: o.Quiet, Stdout: o.Stdout, Stderr: o.Stderr, StdoutTerminal: o.StdoutTerminal, StderrTerminal: o.StderrTerminal,
	}, o.Prog)}
	if err := d.findWorkspace(); err != nil {
		return false, err
	}
	if d.host != nil {
		defer d.host.Close()
	}
	if err := d.run(); err != nil {
		return false, fmt.Errorf("compare checkpoints of %s: %w", o.DB, err)
	}
	list, err := d.shown()
	if err == nil {
		err = d.print(list)
	}
	if err == nil {
		err = d.noteReplaced()
	}
	return len(list) > 0, d.report.End(err)
}

// open opens both moments.
func (o *DiffOptions) open() (from, to *sqlvfs.Moment, err error) {
	if o.From.Fork == o.To.Fork {
		db, err := o.From.database(o.DB)
		if err != nil {
			return nil, nil, err
		}
		if o.From.At == "" || o.To.At == "" {
			live.Settle(db)
		}
		if from, to, err = sqlvfs.OpenMoments(db, o.From.At, o.To.At); err != nil {
			err = fmt.Errorf("compare checkpoints of %s: %w", db, Hinted(db, err))
		}
		return from, to, err
	}
	for _, side := range []struct {
		*Point
		is **sqlvfs.Moment
	}{{&o.To, &to}, {&o.From, &from}} { // the later one first, as in OpenMoments
		db, err := side.database(o.DB)
		if err == nil {
			if side.At == "" {
				live.Settle(db)
			}
			if *side.is, err = sqlvfs.OpenMoment(db, side.At); err != nil {
				err = fmt.Errorf("compare forks of %s: open %s: %w", o.DB, db, Hinted(db, err))
			}
		}
		if err != nil {
			if to != nil {
				to.Close()
			}
			return nil, nil, err
		}
	}
	return from, to, nil
}

// comparer compares two moments.
type comparer struct {
	ctx      context.Context
	opt      *DiffOptions
	from, to *sqlvfs.Moment
	own      *sqlvfs.Moment // that of a fork which takes the place of from, see fromOwn
	released *released      // what pulls have released of to counts as what it has; nil: it shows what the host has
	report   *report.Reporter
	dir      string   // the workspace on the host, as an absolute path
	name     string   // of the workspace; "": there is none
	host     *os.File // its directory; nil: it is not the one that the database knows
	may      *sqlvfs.Difference
	linked   hostLinked

	changes []*change
	came    []*change // what is new, and what is gone, until it is known what was renamed
}

// change is what is another at one path below the home.
type change struct {
	letter   byte // as of [show.Change]
	path     string
	from     string  // its path at the earlier moment
	old, now *object // nil: nothing was there, or is
}

// findWorkspace finds out what the workspace is called, and opens it if it is the one that the database knows.
func (d *comparer) findWorkspace() (err error) {
	if d.dir, err = filepath.Abs(d.opt.Dir); err != nil {
		return fmt.Errorf("workspace %s: %w", d.opt.Dir, err)
	}
	list, err := d.to.Workspaces()
	if err != nil {
		return fmt.Errorf("read %s: %w", d.opt.DB, err)
	}
	list = slices.DeleteFunc(list, func(w sqlvfs.Workspace) bool { return sqlvfs.IsLayer(w.Name) })
	real, err := filepath.EvalSymlinks(d.dir)
	if err != nil {
		real = d.dir
	}
	i := slices.IndexFunc(list, func(w sqlvfs.Workspace) bool { return w.Name == d.opt.Name || d.opt.Name == "" && w.Path == real })
	switch {
	case d.opt.Name != "":
		d.name = d.opt.Name
	case i >= 0:
		d.name = list[i].Name
	case len(list) == 1:
		d.name = list[0].Name
	}
	if i < 0 || list[i].Path != real {
		return nil
	}
	f, err := os.OpenFile(real, unix.O_DIRECTORY|unix.O_RDONLY, 0)
	if err != nil {
		return nil // what it has is missed where it is needed
	}
	if is, err := sqlvfs.WorkspaceAt(int(f.Fd()), real, d.name); err != nil || !is.SameDirectory(&list[i]) {
		f.Close()
		return nil
	}
	d.host = f
	return nil
}

// shown are the changes as they are printed, by path.
func (d *comparer) shown() (list []*show.Change, err error) {
	for _, c := range d.changes {
		s := &show.Change{Letter: c.letter, Dir: c.now.isDir() || c.now == nil && c.old.isDir()}
		s.Path, s.Beside = d.outer(c.path)
		if s.Name = s.Path; !s.Beside {
			s.Name = filepath.Join(d.name, s.Path)
		}
		if c.letter == 'R' {
			s.From, _ = d.outer(c.from)
		}
		if c.old != nil {
			s.Old = &show.Side{Mode: c.old.attr.Mode, Size: c.old.attr.Size}
		}
		if c.now != nil {
			s.New = &show.Side{Mode: c.now.attr.Mode, Size: c.now.attr.Size}
		}
		s.File = func() (*patch.File, bool, error) { return d.file(c) }
		s.Failed = func(err error) { d.report.Note(s.Name, "not shown: "+err.Error()) }
		list = append(list, s)
	}
	if list, err = d.limited(list); err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b *show.Change) int {
		if a.Beside != b.Beside {
			if a.Beside {
				return 1
			}
			return -1
		}
		return cmp.Compare(a.Path, b.Path)
	})
	return list, nil
}

// limited leaves the changes that the user has named.
func (d *comparer) limited(list []*show.Change) ([]*show.Change, error) {
	limit, err := selection.To(d.dir, d.opt.Paths, func(rel string) bool {
		if d.host != nil {
			if st, err := d.stat(rel); err == nil && st.Mode != 0 {
				return true
			}
		}
		return slices.ContainsFunc(list, func(c *show.Change) bool { return !c.Beside && (selection.Limit{rel}).Has(c.Path) })
	})
	if limit == nil || err != nil {
		return list, err
	}
	return slices.DeleteFunc(list, func(c *show.Change) bool { return c.Beside || !limit.Has(c.Path) }), nil
}

// outer is a path as it is shown: below the workspace, or below the home.
func (d *comparer) outer(at string) (shown string, beside bool) {
	switch rest, in := strings.CutPrefix(at, d.name+"/"); {
	case d.name != "" && at == d.name:
		return ".", false
	case d.name != "" && in:
		return rest, false
	}
	return "~/" + at, true
}

func (d *comparer) print(list []*show.Change) (err error) {
	end := func() {}
	if d.opt.Pager && len(list) > 0 {
		if end, err = d.report.Page(); err != nil {
			return err
		}
	}
	p := &show.Printer{Report: d.report, Form: d.opt.Form, Colours: d.opt.Colour, Terminal: d.opt.StdoutTerminal, Interrupted: d.ctx.Err}
	err = p.Print(list)
	d.report.Flush()
	end()
	beside := 0
	for _, c := range list {
		if c.Beside && !c.Dir {
			beside++
		}
	}
	if err == nil && beside > 0 && (d.opt.Form == show.Patch || d.opt.Form == show.Stat) {
		d.report.Note("~", report.Count(beside, "file")+" changed in the home beside the workspace; without --patch and --stat they are named")
	}
	return err
}

// noteReplaced names what could not be compared, since a moment shows something of the host's that the host does not have any more.
func (d *comparer) noteReplaced() error {
	limit, err := selection.To(d.dir, d.opt.Paths, func(string) bool { return true })
	if err != nil {
		return err
	}
	named := map[sqlvfs.ReplacedPath]bool{}
	for _, m := range []*sqlvfs.Moment{d.from, d.to} {
		list, err := m.Replaced()
		if err != nil {
			return fmt.Errorf("read %s: %w", d.opt.DB, err)
		}
		for _, r := range list {
			at := filepath.Join(r.Workspace, r.Path)
			if named[r] || limit != nil && !(r.Workspace == d.name && limit.Has(r.Path)) {
				continue
			}
			if named[r] = true; len(named) <= mostNamed {
				d.report.Note(at, fmt.Sprintf("not compared: checkpoint %d: %v", m.Checkpoint().ID, sqlvfs.ErrReplaced))
			}
		}
	}
	if more := len(named) - mostNamed; more > 0 {
		d.report.Note(d.opt.DB, report.Count(more, "more path")+" not compared")
	}
	return nil
}

// mostNamed is how many paths are named that cannot be compared.
const mostNamed = 10

// file reads both sides of a change.
func (d *comparer) file(c *change) (f *patch.File, ok bool, err error) {
	from, _ := d.outer(cmp.Or(c.from, c.path))
	f = &patch.File{OldName: from}
	f.NewName, _ = d.outer(c.path)
	for _, side := range []struct {
		*object
		mode *uint32
		data *[]byte
	}{{c.old, &f.OldMode, &f.Old}, {c.now, &f.NewMode, &f.New}} {
		switch {
		case side.object == nil || side.isDir() || side.attr.Mode&unix.S_IFMT != unix.S_IFREG && !side.attr.IsSymlink():
			continue // nothing that a patch has words for
		case side.attr.Size > textLimit:
			return nil, false, nil
		}
		*side.mode = patch.ModeOf(side.attr.Mode)
		if *side.data, err = d.content(side.object); err != nil {
			return nil, false, err
		}
	}
	return f, f.OldMode != patch.None || f.NewMode != patch.None, nil
}

// textLimit bounds the content that is compared line by line, or printed, in bytes. What is larger is named.
const textLimit = 128 << 20
