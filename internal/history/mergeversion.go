package history

import (
	"bytes"
	"fmt"
	"maps"
	"path"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/reconcile/classify"
	"github.com/riverlytech/art/sqlvfs"
)

// place is where the host has something; zero: nowhere.
type place struct{ base, path string }

func (p place) join(name string) place { return place{p.base, path.Join(p.path, name)} }

// version is what a name leads to in base, ours or theirs: a row, or what the host has at a place, whatever that is.
type version struct {
	m     *sqlvfs.Moment
	row   *sqlvfs.Node // nil: it is the host's
	place place        // of the host's, or of what supplies the rest of a row's entries or content
	under *version     // the directory of the fork's that was there before a pull, and has what a row does not; nil: none
	let   *letGo       // what a pull has let go of there; nil: nothing
	bare  bool         // a directory that shows nothing of the host's: place is what ours shows
}

func (t *version) rowDir() bool { return t != nil && t.row != nil && t.row.Attr.IsDir() }

// origin is where the host has what a row was once, whatever it is by now; zero: nowhere.
func (t *version) origin() place {
	if t == nil || t.row == nil || t.row.Origin == nil {
		return place{}
	}
	return place{t.row.Origin.Base, t.row.Origin.Path}
}

// ofHost tells whether the host's shows, unchanged.
func (t *version) ofHost() bool { return t != nil && t.row == nil }

// version returns a row; nil: it is not there.
func (m *merger) version(of *sqlvfs.Moment, ino sqlvfs.Ino) (*version, error) {
	n, err := of.Node(ino)
	if n == nil || err != nil {
		return nil, err
	}
	t := &version{m: of, row: n}
	if o := n.Origin; o != nil && (n.Attr.IsDir() || o.Limit > 0) {
		t.place = place{o.Base, o.Path}
	}
	if of == m.base && t.rowDir() && t.place != (place{}) && (m.again || ino <= m.top) {
		// A pull may have moved on the host what both show.
		is, err := m.theirs.Node(ino)
		if err != nil {
			return nil, err
		}
		if is != nil && is.Attr.IsDir() && is.Origin != nil && is.Origin.Base == t.place.base {
			t.place.path = is.Origin.Path
		}
	}
	if n.Attr.IsDir() && m.released.has(of) && (m.again || ino <= m.top) {
		// What showed of the host's through it, the checkpoint has as copies.
		if was, err := m.base.Node(ino); err != nil || was == nil {
			return t, err
		} else if o := was.Origin; o != nil && was.Attr.IsDir() {
			t.place = place{o.Base, o.Path}
		}
	}
	return t, nil
}

// child returns what a name in a directory leads to; nil: nothing.
func (m *merger) child(dir *version, name string) (*version, error) {
	t, hidden, err := m.childNow(dir, name)
	if dir == nil || dir.row != nil && !dir.row.Attr.IsDir() || hidden || err != nil {
		return t, err
	}
	if t != nil && t.row != nil {
		if follows, err := m.follows(dir, name, t); !follows || err != nil {
			return t, err
		}
	}
	let, err := m.letGoOf(dir, name)
	switch {
	case let == nil || err != nil:
	case t == nil && let.unknown:
		return &version{m: dir.m, place: dir.origin().join(name), let: let}, nil
	case t == nil: // seen as if it showed nothing of the host's
		return let.was, nil
	default:
		t.let = let
	}
	return t, err
}

// follows tells whether a directory is at the place of one that a pull may have let go of, and nobody has removed that: it shows the host's
// there, or was made when the host had nothing there any more.
func (m *merger) follows(dir *version, name string, t *version) (bool, error) {
	at := dir.place.join(name)
	if dir.under != nil {
		at = dir.origin().join(name)
	}
	switch {
	case !t.rowDir() || dir.row == nil:
		return false, nil
	case t.origin() != (place{}):
		return t.place == at, nil
	}
	hidden, err := dir.m.HasWhiteout(dir.row.Ino, name)
	return !hidden, err
}

// childNow is child without what pulls have let go of.
func (m *merger) childNow(dir *version, name string) (t *version, hidden bool, err error) {
	switch {
	case dir == nil:
		return nil, false, nil
	case dir.row == nil:
		return &version{m: dir.m, place: dir.place.join(name)}, false, nil
	case !dir.row.Attr.IsDir():
		return nil, false, nil
	}
	ino, err := dir.m.Entry(dir.row.Ino, name)
	if err != nil {
		return nil, false, err
	}
	if ino < 0 && m.released.has(dir.m) && dir.place != (place{}) {
		return &version{m: dir.m, place: dir.place.join(name)}, false, nil
	}
	if ino != 0 {
		t, err := m.version(dir.m, ino)
		if err == nil && t == nil {
			err = fmt.Errorf("%w: %q leads to inode %d, which is not there", sqlvfs.ErrCorrupt, name, ino)
		}
		return t, false, err
	}
	if hidden, err := dir.m.HasWhiteout(dir.row.Ino, name); err != nil || hidden {
		return nil, true, err
	}
	if dir.row.Ino == sqlvfs.RootIno && m.spaces[name] { // nothing in it has been changed yet
		return &version{m: dir.m, place: place{name, "."}}, false, nil
	}
	if dir.place == (place{}) {
		return nil, false, nil
	}
	return &version{m: dir.m, place: dir.place.join(name)}, false, nil
}

// names adds the names that a directory's rows speak of, or did before a pull let go of them.
func (m *merger) names(t *version, all map[string]bool) error {
	if t == nil {
		return nil
	}
	if t.let != nil {
		if err := m.names(t.let.was, all); err != nil {
			return err
		}
	}
	if !t.rowDir() {
		return nil
	}
	list, err := t.m.Entries(t.row.Ino)
	if err != nil {
		return err
	}
	for _, e := range list {
		all[e.Name] = true
	}
	hidden, err := t.m.Whiteouts(t.row.Ino)
	if r := m.pullsOf(t.m); r != nil && err == nil {
		var gone []string
		gone, err = r.of.ReleasedNames(t.row.Ino, r.since)
		hidden = append(hidden, gone...)
	}
	for _, name := range hidden {
		all[name] = true
	}
	if err == nil {
		err = m.names(t.under, all)
	}
	return err
}

// may returns what is known of where two trees may differ, if an inode has one number in both.
func (m *merger) may(a, b *version) *sqlvfs.Difference {
	switch {
	case a.row == nil || b.row == nil || a.row.Ino != b.row.Ino:
	case a.m == m.base && b.m == m.ours && !m.again:
		return m.ourMay
	case a.m == m.base && b.m == m.theirs && (m.again || a.row.Ino <= m.top):
		return m.theirMay
	}
	return nil
}

// differing are the names in two directories that may differ.
func (m *merger) differing(a, b *version) (map[string]bool, error) {
	if a != nil && b != nil {
		if d := m.may(a, b); d != nil && a.place == b.place {
			return maps.Clone(d.Names[a.row.Ino]), nil
		}
	}
	all := map[string]bool{}
	err := m.names(a, all)
	if err == nil {
		err = m.names(b, all)
	}
	return all, err
}

// same tells whether two versions are equal, with all that is in them. What cannot be compared is not.
func (m *merger) same(a, b *version) (bool, error) {
	if err := m.ctx.Err(); err != nil {
		return false, err
	}
	if asShown(a, b) && (a.m != m.base || b.let == nil) && (b.m != m.base || a.let == nil) { // when they last agreed, both showed it
		return true, nil
	}
	if a.isUnknown() || b.isUnknown() {
		return false, nil
	}
	a, b = a.then(b), b.then(a)
	switch {
	case a == nil || b == nil:
		return a == b, nil
	case a.row == nil && b.row == nil:
		return a.place == b.place, nil
	}
	if a.key() == b.key() {
		return true, nil
	}
	if d := m.may(a, b); d != nil && !d.Inodes[a.row.Ino] && d.Names[a.row.Ino] == nil {
		return true, nil
	}
	// A directory may have several names, where somebody has written the database by hand, and one in itself.
	pair := [2]versionKey{a.key(), b.key()}
	if same, known := m.compared[pair]; known {
		return same, nil
	}
	if m.depth++; m.depth > unix.PathMax {
		m.depth--
		return false, nil
	}
	same, err := m.sameRows(a, b)
	if m.depth--; err == nil {
		m.compared[pair] = same
	}
	return same, err
}

// versionKey stands for a version.
type versionKey struct {
	m     *sqlvfs.Moment
	ino   sqlvfs.Ino
	place place
	under sqlvfs.Ino
}

func (t *version) key() versionKey {
	k := versionKey{m: t.m, place: t.place}
	if t.row != nil {
		k.ino = t.row.Ino
	}
	if t.under != nil {
		k.under = t.under.row.Ino
	}
	return k
}

// sameRows is same of two versions, not both of which are the host's.
func (m *merger) sameRows(a, b *version) (bool, error) {
	switch {
	case a.row == nil:
		return m.asOnHost(b, a)
	case b.row == nil:
		return m.asOnHost(a, b)
	}
	if (a.row.Attr.Mode^b.row.Attr.Mode)&unix.S_IFMT != 0 {
		return false, nil
	}
	if same, err := sameMarks(a, b); err != nil || !same {
		return false, err
	}
	if !a.row.Attr.IsDir() {
		return m.sameContent(a, b)
	}
	if a.place != b.place {
		return false, nil
	}
	return m.sameNames(a, b)
}

// sameNames tells whether two directories have the same in them.
func (m *merger) sameNames(a, b *version) (bool, error) {
	names, err := m.differing(a, b)
	for name := range names {
		if err != nil {
			break
		}
		var c, d *version
		if c, err = m.child(a, name); err == nil {
			d, err = m.child(b, name)
		}
		if err == nil {
			var same bool
			if same, err = m.same(c, d); err == nil && !same {
				return false, nil
			}
		}
	}
	return err == nil, err
}

// asOnHost tells whether a row has what the host has at a place, as far as the row says: nothing of it was changed.
func (m *merger) asOnHost(row, host *version) (bool, error) {
	o := row.row.Origin
	if o == nil || row.place != host.place || o.Mode != 0 && (o.Mode^row.row.Attr.Mode)&0o7777 != 0 {
		return false, nil
	}
	if !row.rowDir() {
		return row.row.Follows(), nil
	}
	return m.sameNames(row, host)
}

// sameMarks compares modes, owners and extended attributes.
func sameMarks(a, b *version) (bool, error) {
	x, y := &a.row.Attr, &b.row.Attr
	if x.UID != y.UID || x.GID != y.GID || !x.IsSymlink() && (x.Mode^y.Mode)&0o7777 != 0 {
		return false, nil
	}
	one, err := a.m.Xattrs(a.row.Ino)
	if err != nil {
		return false, err
	}
	two, err := b.m.Xattrs(b.row.Ino)
	return maps.EqualFunc(one, two, bytes.Equal), err
}

// sameContent compares rows of one type that are no directories.
func (m *merger) sameContent(a, b *version) (bool, error) {
	x, y := a.row, b.row
	switch {
	case x.Attr.IsSymlink():
		return x.Target == y.Target, nil
	case !x.Attr.IsRegular():
		return x.Attr.Rdev == y.Attr.Rdev, nil
	case x.Attr.Size != y.Attr.Size:
		return false, nil
	case a.place != b.place:
		return m.isFilled(a, b), nil
	case a.place != (place{}) && (x.Origin.Fingerprint != y.Origin.Fingerprint || x.Origin.Limit != y.Origin.Limit):
		return false, nil
	}
	if d := m.may(a, b); d != nil && !d.Content[x.Ino] {
		return true, nil
	}
	return a.m.SameContent(x.Ino, b.m, y.Ino)
}

// isFilled tells whether two versions are of one file, which has got all of its content from the host since, and was not changed.
func (m *merger) isFilled(a, b *version) bool {
	if b.m == m.base {
		a, b = b, a
	}
	of, x, y := m.pullsOf(b.m), a.row, b.row
	known := of == &m.released && m.again || x.Ino <= m.top && !m.again
	return known && a.m == m.base && x.Ino == y.Ino && x.Attr.Ctime == y.Attr.Ctime && x.Origin != nil && y.Origin != nil && x.Origin.Fingerprint == y.Origin.Fingerprint
}

// kindOf is the kind of what a mode says; things that only a guest has are kinds of their own.
func kindOf(mode uint32) classify.Kind {
	if k := classify.KindOf(mode); k != classify.None {
		return k
	}
	return classify.Kind(0x10 | mode>>12&0xf)
}

// unknownMode is that of what the host has, where no row says it: no object has it.
const unknownMode = 1 << 31

// unknownOwner is the same of an owner.
var unknownOwner = classify.Owner{UID: ^uint32(0)}

// agreedAt returns what one of some moments knows that the host has had at a place; nil: none knows anything.
func (m *merger) agreedAt(p place, of ...*sqlvfs.Moment) (*sqlvfs.Baseline, error) {
	for _, at := range of {
		list, err := at.Agreed(p.base, p.path)
		if err != nil {
			return nil, err
		}
		if len(list) > 0 {
			return list[0], nil
		}
	}
	return nil, nil
}

// states describes the three versions of a path for the classifier: the parent stands where the host does in a pull, and the fork for the
// guest.
func (m *merger) states(e *entry) (base, ours, theirs classify.State, err error) {
	describe := func(t *version) (s classify.State) {
		switch {
		case t == nil:
		case t.row != nil:
			a := &t.row.Attr
			if s.Kind, s.Owner = kindOf(a.Mode), (classify.Owner{UID: a.UID, GID: a.GID}); !a.IsSymlink() {
				s.Mode = a.Mode & 0o7777
			}
			var all map[string][]byte
			if all, err = t.m.Xattrs(t.row.Ino); err == nil {
				s.Xattrs = xattrText(all)
			}
		default: // of what the host has there, if anything, nothing is known but what rows say that come from there
			for _, o := range []*version{e.ours, e.theirs, e.base} {
				if o.origin() != t.place && (o != e.ours || e.through == nil) {
					continue
				}
				if s.Kind, s.Mode = kindOf(o.row.Attr.Mode), unknownMode; o.row.Origin.Mode != 0 {
					s.Mode = o.row.Origin.Mode & 0o7777
				}
				a := &o.row.Attr // owners and extended attributes of the host's are taken over with the first change
				s.Owner = classify.Owner{UID: a.UID, GID: a.GID}
				break
			}
			if s.Kind != classify.None {
				break
			}
			var was *sqlvfs.Baseline // or a side has replaced or hidden it
			if was, err = m.agreedAt(t.place, t.m, m.ours, m.theirs); was != nil && was.Mode != 0 {
				s = classify.State{Kind: kindOf(was.Mode), Mode: was.Mode & 0o7777, Owner: unknownOwner, Xattrs: classify.Unknown}
			}
		}
		return s
	}
	base, ours, theirs = describe(e.base), describe(e.ours.then(e.base)), describe(e.theirs.then(e.base))
	if err != nil {
		return base, ours, theirs, err
	}
	wrote := func(t *version) bool {
		same, serr := m.sameInside(e.base, t)
		if serr != nil {
			err = serr
		}
		return !same
	}
	ours.Content, theirs.Content = classify.Contents(wrote(e.ours), wrote(e.theirs), func() bool {
		same, serr := m.sameInside(e.ours, e.theirs)
		if serr != nil {
			err = serr
		}
		return serr == nil && same
	})
	return base, ours, theirs, err
}

// sameInside compares versions apart from their marks: content, a target, or what is in a directory.
func (m *merger) sameInside(a, b *version) (bool, error) {
	if a.isUnknown() || b.isUnknown() {
		return false, nil
	}
	a, b = a.then(b), b.then(a)
	switch {
	case a == nil || b == nil:
		return a == b, nil
	case a.row == nil && b.row == nil:
		return a.place == b.place, nil
	case a.row == nil || b.row == nil:
		row, host := a, b
		if a.row == nil {
			row, host = b, a
		}
		switch {
		case row.row.Origin == nil || row.place != host.place:
			return false, nil
		case !row.rowDir():
			return row.row.Follows(), nil
		}
		return m.sameNames(row, host)
	case (a.row.Attr.Mode^b.row.Attr.Mode)&unix.S_IFMT != 0:
		return false, nil
	case !a.row.Attr.IsDir():
		return m.sameContent(a, b)
	case a.place != b.place:
		return false, nil
	}
	return m.sameNames(a, b)
}

func xattrText(all map[string][]byte) string {
	text := map[string]string{}
	for name, value := range all {
		text[name] = string(value)
	}
	return classify.XattrText(text)
}
