package history

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// After a pull, rows go that the host has as well: what it changes later shows then. So what a fork shows of the host may be what it had
// itself, and whether it has changed that says its history alone.

// released finds what a database had before a pull released it.
type released struct {
	of   *sqlvfs.Moment
	path string                   // of the database
	then map[int64]*sqlvfs.Moment // checkpoints before pulls; nil: it was dropped
}

func (r *released) close() {
	for _, at := range r.then {
		if at != nil {
			at.Close()
		}
	}
}

// has tells whether a moment is one that find has returned.
func (r *released) has(at *sqlvfs.Moment) bool {
	for _, then := range r.then {
		if then == at {
			return true
		}
	}
	return false
}

// find returns where a directory had something at a name until a pull released that, and the inode there; 0: it hid what the host has at a
// place. Below 0, it is what the host had until a pull. No moment: no pull has changed anything there.
func (r *released) find(dir sqlvfs.Ino, name string, at place) (*sqlvfs.Moment, sqlvfs.Ino, error) {
	entry, last, err := r.of.LastWith(dir, name)
	if entry != 0 && err == nil {
		if then, ino, err := r.entry(entry, dir, name, at); then != nil || err != nil {
			return then, ino, err
		}
	}
	if last == 0 || err != nil {
		return nil, 0, err
	}
	then, err := r.open(last)
	if then == nil || err != nil {
		return nil, 0, err
	}
	ino, err := then.Entry(dir, name)
	if ino < 0 || err != nil {
		return then, ino, err
	}
	if ino == 0 { // what a guest has hidden, both sides know of until a pull removes it
		if was, err := then.Agreed(at.base, at.path); len(was) == 0 || err != nil {
			return then, 0, err
		}
		if pulled, err := isPulled(then, at); pulled || err != nil {
			return then, 0, err
		}
	}
	return nil, 0, nil
}

// entry is find for an entry. Its row was released if both sides agreed about it then: what a guest removes, or gives up, is not as they
// had agreed.
func (r *released) entry(id int64, dir sqlvfs.Ino, name string, at place) (*sqlvfs.Moment, sqlvfs.Ino, error) {
	then, err := r.open(id)
	if then == nil || err != nil {
		return nil, 0, err
	}
	ino, err := then.Entry(dir, name)
	if ino <= 0 || err != nil {
		return nil, 0, err
	}
	n, err := then.Node(ino)
	if n == nil || err != nil {
		return nil, 0, err
	}
	list, err := then.Agreed(at.base, at.path)
	ofHost := n.Origin != nil && n.Origin.Base == at.base && n.Origin.Path == at.path
	if len(list) == 0 && ofHost {
		list = append(list, (&sqlvfs.Inode{Ino: ino, Attr: n.Attr, Origin: n.Origin}).Baseline())
	}
	is := false
	switch i := slices.IndexFunc(list, func(b *sqlvfs.Baseline) bool { return b.Row == ino }); {
	case err != nil:
	case n.Attr.IsDir() && ofHost: // it goes when nothing is left in it; who removes it has to hide the host's
		is = mayBePulled(then)
	case i >= 0:
		is = list[i].RowCtime == n.Attr.Ctime && (list[i].Mode^n.Attr.Mode)&unix.S_IFMT == 0
	default:
		is, err = isPulled(then, at)
	}
	if !is || err != nil {
		return nil, 0, err
	}
	return then, ino, nil
}

// isPulled tells whether what both sides agree on at a place has changed with a pull after a checkpoint. One that a fork is of says no more
// than that: the fork reads from it what was agreed on then.
func isPulled(then *sqlvfs.Moment, at place) (bool, error) {
	if !mayBePulled(then) {
		return false, nil
	}
	return then.AgreedSince(at.base, at.path)
}

// mayBePulled tells whether a checkpoint was not made for something else than a pull that removes rows.
func mayBePulled(then *sqlvfs.Moment) bool {
	return !slices.Contains([]sqlvfs.Occasion{sqlvfs.BeforeReset, sqlvfs.BeforePush, sqlvfs.BeforeBack}, then.Checkpoint().Kind)
}

func (r *released) open(id int64) (*sqlvfs.Moment, error) {
	if then, known := r.then[id]; known {
		return then, nil
	}
	then, err := sqlvfs.OpenMoment(r.path, fmt.Sprint(id))
	if errors.Is(err, sqlvfs.ErrNoCheckpoint) {
		then, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	if r.then == nil {
		r.then = map[int64]*sqlvfs.Moment{}
	}
	r.then[id] = then
	return then, nil
}

// beforePull has what the fork has at a name be what it was before a pull, where the fork has not changed that since.
func (m *merger) beforePull(e *entry) error {
	dir := e.fork
	if dir.bare && e.theirs.ofHost() { // the fork has removed it, if it was there, now or before the last merge
		if e.base.ofHost() && m.pending[e.at] {
			e.base = nil
		}
		if !e.base.ofHost() {
			e.theirs = nil
		}
		return nil
	}
	t, err := m.unreleased(dir, e.name, e.theirs, e.ours)
	if e.theirs = t; err != nil || !t.rowDir() || !e.base.rowDir() || e.ours.ofHost() || !m.inBoth(dir) || t.m != m.theirs {
		return err
	}
	// A directory may have lost to a pull what was in it, and have come to show the host's; or it has gone, and was made again.
	now := *t
	now.place = e.base.place
	if t.row.Ino == e.base.row.Ino {
		e.theirs = &now
		return nil
	}
	at := dir.origin().join(e.name)
	hidden, err := m.theirs.HasWhiteout(dir.row.Ino, e.name)
	if err != nil || dir.origin() == (place{}) || t.origin() != at && (t.origin() != (place{}) || hidden) {
		return err
	}
	was, ino, err := m.released.find(dir.row.Ino, e.name, at)
	if was == nil || ino <= 0 || err != nil {
		return err
	}
	if now.under, err = m.version(was, ino); err == nil && now.under.rowDir() && now.under.place == now.place {
		e.theirs = &now
	}
	return err
}

// inBoth tells whether a directory of the fork has the same number in the base.
func (m *merger) inBoth(dir *version) bool {
	return dir != nil && dir.row != nil && dir.m == m.theirs && (m.again || dir.row.Ino <= m.top)
}

// unreleased returns what a directory of the fork had at a name before a pull released that, where the base does not show what the host has
// there. t is what it has now, and other what it is compared with: where both show what the host has, they are the same.
func (m *merger) unreleased(dir *version, name string, t, other *version) (*version, error) {
	if !m.inBoth(dir) || t != nil && (t.row != nil || other.ofHost() && other.place == t.place) || dir.origin() == (place{}) {
		return t, nil
	}
	ino := dir.row.Ino
	was, err := m.base.Entry(ino, name)
	hidden := false
	if was == 0 && err == nil {
		hidden, err = m.base.HasWhiteout(ino, name)
	}
	if err != nil || was == 0 && !hidden {
		return t, err
	}
	if t == nil { // it hides that, or has never had an origin that shows the host's
		if hidden, err := m.theirs.HasWhiteout(ino, name); err != nil || hidden {
			return t, err
		}
	}
	then, is, err := m.released.find(ino, name, dir.origin().join(name))
	switch {
	case then == nil || err != nil:
		return t, err
	case is < 0 && was >= 0, is == 0 && was != 0: // of the fork itself, nothing was released
		return t, nil
	case is == 0:
		return nil, nil
	}
	return m.version(then, is)
}

// pulledDir is a directory that the parent had, until a pull brought it to the host, and that the fork has, too. What shows of it here is
// the host's, and goes on to show through what is made of the fork's.
type pulledDir struct {
	was  *version
	at   place
	host sqlvfs.Baseline // of the host's directory
	more uint32          // directories that it had, and the fork's does not have
}

func (p *pulledDir) origin(number uint64) *sqlvfs.Origin {
	return &sqlvfs.Origin{Base: p.at.base, Path: p.at.path, Number: number, Fingerprint: p.host.Fingerprint, Mode: p.host.Mode}
}

// pulledHere returns the directory that the parent had where the fork has one that shows nothing of the host's; nil: a pull has let go of
// none.
func (m *merger) pulledHere(e *entry) (*pulledDir, error) {
	if !e.ours.ofHost() || !e.theirs.rowDir() || e.theirs.place != (place{}) {
		return nil, nil
	}
	if hidden, err := e.fork.m.HasWhiteout(e.fork.row.Ino, e.name); hidden || err != nil {
		return nil, err // it took the place of one of the host's
	}
	var then *sqlvfs.Moment
	var ino sqlvfs.Ino
	var err error
	if above := e.dir.pull; above != nil {
		then = above.was.m
		ino, err = then.Entry(above.was.row.Ino, e.name)
	} else if e.dir.ino != 0 {
		then, ino, err = m.pulled.find(e.dir.ino, e.name, e.ours.place)
	}
	if then == nil || ino <= 0 || err != nil {
		return nil, err
	}
	p := &pulledDir{at: e.ours.place}
	if p.was, err = m.version(then, ino); err != nil || !p.was.rowDir() {
		return nil, err
	}
	list, err := then.Agreed(p.at.base, p.at.path)
	for _, b := range list {
		if b.Row == ino {
			p.host = *b
		}
	}
	names := map[string]bool{}
	if err == nil {
		err = p.was.names(names)
	}
	for name := range names {
		var a, b *version
		if err == nil {
			a, err = m.child(p.was, name)
		}
		if err == nil {
			b, err = m.child(e.theirs, name)
		}
		if a.rowDir() && !b.rowDir() {
			p.more++
		}
	}
	return p, err
}

// afterPull has a directory that both had, and that shows the host's here since a pull, be the one that the fork has, where it shows
// nothing of the host's.
func (m *merger) afterPull(e *entry) error {
	none := place{}
	if !e.base.rowDir() || !e.theirs.rowDir() || e.base.place != none || e.theirs.place != none || e.place == none {
		return nil
	}
	at := e.place.join(e.name)
	switch {
	case e.ours.ofHost() && e.ours.place == at:
		if same, err := m.same(e.base, e.theirs); same || err != nil {
			return err
		}
		var err error
		if e.pull, err = m.pulledHere(e); e.pull == nil || err != nil {
			return err
		}
	case !e.ours.rowDir() || e.ours.place != at:
		return nil
	}
	base, theirs := *e.base, *e.theirs
	base.place, theirs.place, theirs.bare = at, at, true
	e.base, e.theirs = &base, &theirs
	return nil
}
