package history

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// After a pull, rows go that the host has as well: what it changes later shows then. So where the fork or the parent shows the host's, it
// may have changed that, and have given it to the host. A pull has written down what it has let go of: that is what was changed there,
// and it is compared with what the others have, as if it were still there. Where it is not known any more, it is another version than all
// others.

// letGo is what a pull has let go of where the host's shows since, or, of a directory, where one was made since that shows the host's.
type letGo struct {
	was      *version // as the pull has found it; nil: the guest had removed what was there, or it is unknown
	unknown  bool
	replaced bool // a directory that had taken the place of the host's: what it did not have, the guest had removed
	host     sqlvfs.Baseline
}

// released finds what a tree had before a pull let go of it.
type released struct {
	of    *sqlvfs.Moment
	path  string                   // of its database
	since *sqlvfs.Span             // what counts: of a fork's trees all pulls from it, of the parent's those since it was made
	then  map[int64]*sqlvfs.Moment // checkpoints before pulls; nil: it was dropped
}

func newReleased(of *sqlvfs.Moment, db string) released {
	return released{of: of, path: db, then: map[int64]*sqlvfs.Moment{}}
}

func (r *released) close() {
	for _, at := range r.then {
		if at != nil {
			at.Close()
		}
	}
}

// has tells whether a moment is of before a pull of the database.
func (r *released) has(at *sqlvfs.Moment) bool {
	for _, then := range r.then {
		if then == at {
			return true
		}
	}
	return false
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
	r.then[id] = then
	return then, nil
}

// find returns where a directory had something at a name until a pull let go of that, and the inode there; 0: it hid what the host has. Below
// 0, it is what the host had until a pull. No moment: no pull has changed anything there, or it is not known any more.
func (r *released) find(dir sqlvfs.Ino, name string) (*sqlvfs.Moment, sqlvfs.Ino, error) {
	rel, err := r.of.Released(dir, name, r.since, sqlvfs.Forever)
	switch {
	case err != nil:
		return nil, 0, err
	case rel != nil && rel.Ino == 0:
		return r.of, 0, nil
	case rel != nil:
		then, err := r.open(rel.Checkpoint)
		return then, rel.Ino, err
	}
	last, err := r.of.LastCopied(dir, name)
	if last == 0 || err != nil {
		return nil, 0, err
	}
	then, err := r.open(last)
	if then == nil || err != nil {
		return nil, 0, err
	}
	ino, err := then.Entry(dir, name)
	if ino >= 0 {
		then = nil
	}
	return then, ino, err
}

// pullsOf returns what is known of the pulls that have led to a moment; nil: it is a checkpoint of the parent, since which they were.
func (m *merger) pullsOf(at *sqlvfs.Moment) *released {
	switch {
	case at == m.theirs || m.released.has(at):
		return &m.released
	case at == m.base && m.again:
		return &m.before
	case at == m.ours || m.pulled.has(at):
		return &m.pulled
	}
	return nil
}

// until is the checkpoint after which nothing counts of what was let go of.
func (r *released) until(at *sqlvfs.Moment) int64 {
	if at == r.of {
		return sqlvfs.Forever
	}
	return at.Checkpoint().ID
}

// letGoOf returns what a pull has let go of at a name in a directory; nil: nothing.
func (m *merger) letGoOf(dir *version, name string) (*letGo, error) {
	for d, depth := dir, 0; d != nil && depth < unix.PathMax; depth++ {
		r := m.pullsOf(d.m)
		if r == nil {
			return nil, nil
		}
		if d.rowDir() {
			rel, err := r.of.Released(d.row.Ino, name, r.since, r.until(d.m))
			if rel != nil || err != nil {
				return m.letGoAs(r, rel, err)
			}
		}
		switch {
		case d.under != nil:
			d = d.under
		case d.let == nil:
			return nil, nil
		case d.let.replaced || d.let.unknown:
			return &letGo{unknown: d.let.unknown}, nil
		default:
			d = d.let.was
		}
	}
	return nil, nil
}

// letGoAs describes what a pull has let go of.
func (m *merger) letGoAs(r *released, rel *sqlvfs.Released, err error) (*letGo, error) {
	if err != nil {
		return nil, err
	}
	let := &letGo{host: sqlvfs.Baseline{Mode: rel.Mode, Fingerprint: rel.Fingerprint}}
	if rel.Ino == 0 {
		return let, nil
	}
	if let.was, err = m.unchanged(r, rel); let.was != nil || err != nil {
		return let, err
	}
	then, err := r.open(rel.Checkpoint)
	if then == nil || err != nil {
		let.unknown = true
		return let, err
	}
	if let.was, err = m.version(then, rel.Ino); err != nil {
		return nil, err
	}
	switch {
	case let.was.rowDir():
		let.replaced, err = then.HasWhiteout(rel.Dir, rel.Name)
	case let.was == nil || let.was.row.Attr.Ctime != rel.Ctime: // it has changed after the checkpoint
		let.was, let.unknown = nil, true
	}
	return let, err
}

// unchanged returns what the base has, if that is what a pull has let go of; nil: it is not, or is a directory.
func (m *merger) unchanged(r *released, rel *sqlvfs.Released) (*version, error) {
	ofFork := r != &m.pulled
	if m.again != ofFork && rel.Ino > m.top || m.again && !ofFork {
		return nil, nil
	}
	was, err := m.version(m.base, rel.Ino)
	if was == nil || err != nil || was.row.Attr.IsDir() || was.row.Attr.Ctime != rel.Ctime {
		return nil, err
	}
	return was, nil
}

// then is what counts of a version in a comparison with another one: what was there before a pull, if it was let go of. It is nil also if
// that is unknown.
func (t *version) then(other *version) *version {
	if !t.ofHost() || t.let == nil {
		return t
	}
	if was := t.let.was; was.rowDir() && was.place == (place{}) && other.rowDir() && other.place == t.place {
		now := *was // the other is seen as if it showed the host's
		now.place = t.place
		return &now
	}
	return t.let.was
}

// isUnknown tells whether a pull has let go of something, and nobody knows of what.
func (t *version) isUnknown() bool { return t.ofHost() && t.let != nil && t.let.unknown }

// asShown tells whether two versions are what the host has at one place, whatever was there before.
func asShown(a, b *version) bool { return a.ofHost() && b.ofHost() && a.place == b.place }

// beforePull has what the fork has at a name be what it was before a pull, where the parent does not show the host's.
func (m *merger) beforePull(e *entry) {
	if e.fork.bare && e.theirs.ofHost() && e.theirs.let == nil { // the fork has removed it, if it was there, now or before the last merge
		if e.base.ofHost() && m.pending[e.was] == pendingWhole {
			e.base = nil
		}
		if !e.base.ofHost() {
			e.theirs = nil
		}
		return
	}
	e.base = dirBefore(e.base, e.ours)
	e.theirs = unreleased(e.theirs, e.ours)
	t := e.theirs
	if !t.rowDir() || !e.base.rowDir() || e.ours.ofHost() || t.m != m.theirs || e.ours.rowDir() && e.ours.place == t.place {
		return
	}
	// A directory may have lost to a pull what was in it, and have come to show the host's; or it has gone, and was made again.
	now := *t
	now.place = e.base.place
	switch {
	case t.let != nil && t.let.was.rowDir() && t.let.was.place == now.place:
		now.under, now.let = t.let.was, nil
		e.theirs = &now
	case t.row.Ino == e.base.row.Ino && (m.again || t.row.Ino <= m.top):
		e.theirs = &now
	}
}

// dirBefore has a directory of the base be what it was before a pull, where the parent's shows nothing of the host's, as it did not then.
func dirBefore(t, ours *version) *version {
	if t == nil || t.let == nil || !t.let.was.rowDir() || t.let.was.place != (place{}) || !ours.rowDir() || ours.place != (place{}) {
		return t
	}
	if !t.rowDir() {
		return t.let.was
	}
	now := *t
	now.place, now.under, now.let = place{}, t.let.was, nil
	return &now
}

// unreleased is what a version was before a pull, unless another one, too, is what the host has there.
func unreleased(t, other *version) *version {
	if !t.ofHost() || t.let == nil || t.let.unknown || asShown(t, other) || t.showsIn(other) {
		return t
	}
	return t.let.was
}

// showsIn tells whether a directory that was renamed, and pulled, is one which another tree has, and shows the host's in.
func (t *version) showsIn(other *version) bool {
	return t.ofHost() && t.let != nil && t.let.was.rowDir() && t.let.was.place != t.place && other.rowDir() && other.place == t.place
}

// hasSeen tells whether the fork knows what the parent has pulled to a place: it has changed, renamed or removed what the host has since.
func (m *merger) hasSeen(e *entry) (bool, error) {
	if !e.ours.ofHost() || e.ours.let == nil || e.ours.let.host.Fingerprint == (sqlvfs.Fingerprint{}) {
		return false, nil
	}
	if e.ours.let.was.rowDir() && e.theirs.rowDir() {
		return false, nil // who knows a directory need not know all that is in it
	}
	pulled, at := e.ours.let.host.Fingerprint, e.ours.place
	rows, err := m.theirs.From(at.base, at.path)
	for _, ino := range rows {
		if err != nil {
			break
		}
		var n *sqlvfs.Node
		if n, err = m.theirs.Node(ino); err == nil && n != nil && n.Origin != nil && isOf(pulled, n) {
			return true, nil
		}
	}
	if err != nil {
		return false, err
	}
	list, err := m.theirs.Agreed(at.base, at.path)
	for _, b := range list {
		if b.Fingerprint == pulled {
			return true, nil
		}
	}
	return false, err
}

// isOf tells whether a row comes from a version of an object of the host. A directory is one, whatever is in it.
func isOf(f sqlvfs.Fingerprint, n *sqlvfs.Node) bool {
	o := n.Origin.Fingerprint
	return o == f || n.Attr.IsDir() && o.Dev == f.Dev && o.Ino == f.Ino
}

// pulledDir is a directory that the parent had, until a pull brought it to the host, and that the fork has, too. What shows of it here is
// the host's, and goes on to show through what is made of the fork's.
type pulledDir struct {
	was  *version
	at   place
	host *sqlvfs.Baseline // of the host's directory
	more uint32           // directories that it had, and the fork's does not have
}

func (p *pulledDir) origin(number uint64) *sqlvfs.Origin {
	return &sqlvfs.Origin{Base: p.at.base, Path: p.at.path, Number: number, Fingerprint: p.host.Fingerprint, Mode: p.host.Mode}
}

// pulledHere returns the directory that the parent had where the fork has one that shows nothing of the host's; nil: a pull has let go of
// none.
func (m *merger) pulledHere(e *entry) (*pulledDir, error) {
	if !e.ours.ofHost() || e.ours.let == nil || !e.ours.let.was.rowDir() || !e.theirs.rowDir() || e.theirs.place != (place{}) {
		return nil, nil
	}
	if e.fork.row != nil {
		if hidden, err := e.fork.m.HasWhiteout(e.fork.row.Ino, e.name); hidden || err != nil {
			return nil, err // it took the place of one of the host's
		}
	}
	p := &pulledDir{was: e.ours.let.was, at: e.ours.place, host: &e.ours.let.host}
	names := map[string]bool{}
	err := m.names(p.was, names)
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

// afterPull has a directory that the base has, and shows nothing of the host's in, be seen as if it had shown the host's, where it does since
// a pull: what the base did not have in it is the host's then.
func (m *merger) afterPull(e *entry) error {
	none, at := place{}, e.place.join(e.name)
	if m.pending[e.was] == pendingWhole || !e.base.rowDir() || !e.theirs.rowDir() || e.base.place != none || e.place == none {
		return nil
	}
	bare := e.theirs.place == none
	switch {
	case !bare && e.theirs.place != at:
		return nil
	case e.ours.ofHost() && e.ours.place == at && e.ours.let != nil && e.ours.let.was.rowDir():
		if !bare {
			break
		}
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
	base.place, theirs.place, theirs.bare = at, at, bare
	e.base, e.theirs = &base, &theirs
	return nil
}
