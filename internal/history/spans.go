package history

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/riverlytech/art/internal/live"
	"github.com/riverlytech/art/sqlvfs"
)

// Span is between two checkpoints that follow each other, or from the newest one to the present, where To is nil.
type Span struct {
	From *sqlvfs.Checkpoint
	To   *sqlvfs.Checkpoint
}

// Spans returns those in which something has changed at one of some paths, or below it, the latest first. Paths are as those of [Rewind];
// dir is the workspace on the host. What the host has, and no guest has changed, is in no checkpoint.
func Spans(ctx context.Context, db, dir string, paths []string) (list []Span, err error) {
	live.Settle(db)
	later, err := sqlvfs.OpenMoment(db, "")
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", db, Hinted(db, err))
	}
	defer func() { later.Close() }()
	all, err := later.Checkpoints()
	if err != nil {
		return nil, fmt.Errorf("read the checkpoints of %s: %w", db, err)
	}
	d := &comparer{ctx: ctx, from: later, to: later, opt: &DiffOptions{DB: db, Dir: dir}}
	if err := d.findWorkspace(); err != nil {
		return nil, err
	}
	if d.host != nil {
		defer d.host.Close()
	}
	at, err := d.inHome(paths, func(rel string) bool { return d.knows(rel) || d.knew(all, rel) })
	if err != nil {
		return nil, err
	}
	for i := range all {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		earlier, err := sqlvfs.OpenMoment(db, strconv.FormatInt(all[i].ID, 10))
		if err != nil {
			return nil, fmt.Errorf("open checkpoint %d of %s: %w", all[i].ID, db, err)
		}
		s := Span{From: &all[i], To: later.Checkpoint()}
		is, err := d.changed(earlier, later, at)
		later.Close()
		if later = earlier; err != nil {
			return nil, fmt.Errorf("compare checkpoints of %s: %w", db, err)
		}
		if is {
			list = append(list, s)
		}
	}
	return list, nil
}

// Ran returns those of all sessions that ran in it, the latest first, as all are. What a session has found when it began to change was
// there before.
func (s *Span) Ran(all []sqlvfs.Session) (list []*sqlvfs.Session) {
	for i := range all {
		x := &all[i]
		end := x.Ended
		if end == nil && i > 0 { // it was killed: before the next one began, at the latest
			end = &all[i-1].Started
		}
		before := func(c *sqlvfs.Checkpoint) bool { return end != nil && end.Time().Before(c.Made.Time()) }
		switch {
		case before(s.From):
			continue
		case s.To == nil:
		case s.To.Kind == sqlvfs.AtSession && !before(s.To): // one at a time writes, so who runs then has found it
			continue
		case x.Started.Time().After(s.To.Made.Time()):
			continue
		}
		list = append(list, x)
	}
	return list
}

// changed tells whether one of some paths is another at a moment than at an earlier one.
func (d *comparer) changed(earlier, later *sqlvfs.Moment, paths []string) (bool, error) {
	var err error
	if d.may, err = later.Since(earlier); err == nil {
		err = d.leadToLinked(earlier, later)
	}
	for _, at := range paths {
		if err != nil {
			break
		}
		var is bool
		if is, err = d.changedAt(earlier, later, strings.Split(at, "/")); is {
			return true, err
		}
	}
	delete(d.linked.rows, later)
	return false, err
}

// changedAt tells whether what a path leads to differs between two moments, or something below it. Of a file that was only read nothing but
// its access time does.
func (d *comparer) changedAt(earlier, later *sqlvfs.Moment, names []string) (bool, error) {
	old, err := d.object(earlier, sqlvfs.RootIno)
	if err != nil {
		return false, err
	}
	now, err := d.object(later, sqlvfs.RootIno)
	if err != nil {
		return false, err
	}
	for _, name := range names {
		switch same := old != nil && now != nil && old.key() == now.key(); {
		case old == nil && now == nil:
			return false, nil
		case same && !d.leads(old, name) && !d.leads(now, name): // in another directory, all may be another
			return false, nil
		}
		if old, err = d.child(old, name); err == nil {
			now, err = d.child(now, name)
		}
		if err != nil {
			return false, err
		}
	}
	return d.differ(old, now)
}

// differ is changedAt for what the path leads to.
func (d *comparer) differ(old, now *object) (is bool, err error) {
	switch {
	case old == nil || now == nil:
		return old != now, nil
	case old.row == nil && now.row == nil && old.host != now.host:
		return true, nil
	case old.row == nil && now.row == nil: // in a directory, the host may show names of a file that has a row
		for name := range d.linked.lead[old.host] {
			var a, b *object
			if a, err = d.child(old, name); err == nil {
				b, err = d.child(now, name)
			}
			if err == nil {
				is, err = d.differ(a, b)
			}
			if is || err != nil {
				return is, err
			}
		}
		return false, nil
	case old.row == nil && now.linked, now.row == nil && old.linked: // there may be a row for what became of another name
		same, err := d.sameContent(old, now)
		return !same || !sameAttributes(old, now), err
	case old.row == nil || now.row == nil || old.row.Ino != now.row.Ino:
		return true, nil
	}
	return old.isDir() || old.attr.Ctime != now.attr.Ctime, nil
}

// knew tells whether the guest had a path of the workspace at a checkpoint.
func (d *comparer) knew(all []sqlvfs.Checkpoint, rel string) bool {
	for i := range all {
		m, err := sqlvfs.OpenMoment(d.opt.DB, strconv.FormatInt(all[i].ID, 10))
		if err != nil {
			return true // who looks at it tells what is wrong
		}
		then := *d
		then.from, then.to, then.host = m, m, nil
		known := then.knows(rel)
		m.Close()
		if known {
			return true
		}
	}
	return false
}
