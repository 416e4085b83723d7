package history

import (
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/reconcile/classify"
	"github.com/riverlytech/art/sqlvfs"
)

// A file that has several names on the host has one row for all of them: entries lead to it by some, the host shows it by the others, and it
// counts both (see sqlvfs/hostlinks.go). So a name of the host's may lead to a row, without an entry that says so. Which file of the host's
// is at a place, the fork knows of the places where it has changed something.

// hostLinks are the rows of one of the three trees that stand for files of the host.
type hostLinks struct {
	rows map[sqlvfs.HostFile]sqlvfs.HostRow
	at   map[place]sqlvfs.HostFile // where they have been copied up
}

// linksOf returns those of a tree, and looks for them once.
func (m *merger) linksOf(of *sqlvfs.Moment) (*hostLinks, error) {
	if l := m.hosts[of]; l != nil {
		return l, nil
	}
	rows, err := of.HostRows()
	if err != nil {
		return nil, err
	}
	l := &hostLinks{rows, map[place]sqlvfs.HostFile{}}
	for f, r := range rows {
		l.at[place{f.Base, r.Path}] = f
	}
	m.hosts[of] = l
	return l, nil
}

// hostFile returns which file of the host's the fork has found at a name; not ok: it does not say.
func (m *merger) hostFile(e *entry) (f sqlvfs.HostFile, ok bool, err error) {
	at := e.ours.place
	if e.theirs.origin() == at {
		return sqlvfs.HostFileOf(at.base, &e.theirs.row.Origin.Fingerprint), true, nil
	}
	theirs, err := m.linksOf(m.theirs)
	if err != nil {
		return f, false, err
	}
	if f, ok = theirs.at[at]; ok {
		return f, true, nil
	}
	was, err := m.agreedAt(at, m.theirs)
	if was == nil || was.Mode&unix.S_IFMT == unix.S_IFDIR || err != nil {
		return f, false, err
	}
	return sqlvfs.HostFileOf(at.base, &was.Fingerprint), true, nil
}

// throughHost has a name of the host's be the row that it leads to in the parent, and in the base.
func (m *merger) throughHost(e *entry) error {
	if !e.ours.ofHost() || e.theirs.rowDir() || e.theirs.ofHost() {
		return nil
	}
	f, ok, err := m.hostFile(e)
	if !ok || err != nil {
		return err
	}
	ours, err := m.linksOf(m.ours)
	if err != nil {
		return err
	}
	r, ok := ours.rows[f]
	if !ok {
		return m.losesName(e, f)
	}
	at := e.ours.place
	e.through = &node{ino: r.Ino}
	if e.isNew() {
		shown, err := m.isShown(at)
		if err != nil {
			return err
		}
		e.uncounted = !shown
	}
	if e.ours, err = m.shownAs(m.ours, r.Ino, at); err != nil || !e.base.ofHost() || e.base.place != at {
		return err
	}
	base, err := m.linksOf(m.base)
	if err != nil {
		return err
	}
	if r, ok := base.rows[f]; ok {
		e.base, err = m.shownAs(m.base, r.Ino, at)
	}
	return err
}

// isShown tells whether what the host has at a place shows somewhere in the parent: it has not hidden that, or a directory above it.
func (m *merger) isShown(at place) (bool, error) {
	for ; ; at.path = path.Dir(at.path) {
		if at.path == "." {
			return true, nil
		}
		if dirs, err := m.dirsAt(at); err != nil || len(dirs) > 0 {
			return err == nil, err
		}
		above, err := m.dirsAt(place{at.base, path.Dir(at.path)})
		if err != nil {
			return false, err
		}
		for _, dir := range above {
			t, err := m.child(dir, path.Base(at.path))
			if err != nil || t.ofHost() && t.place == at {
				return err == nil, err
			}
		}
		if len(above) > 0 {
			return false, nil
		}
	}
}

// dirsAt returns the directories of the parent, wherever they are by now, that show what the host has in one.
func (m *merger) dirsAt(at place) (list []*version, err error) {
	rows, err := m.ours.From(at.base, at.path)
	for _, ino := range rows {
		if err != nil {
			break
		}
		var t *version
		if t, err = m.version(m.ours, ino); t.rowDir() && t.place == at {
			list = append(list, t)
		}
	}
	return list, err
}

// namesBelow finds the names of the host's that go with a directory of its that the fork has removed, of files that have others: the fork has
// a row that comes from there, or has noted what it has removed.
func (m *merger) namesBelow(e *entry) error {
	if e.ours == nil || !e.ours.ofHost() && !e.ours.rowDir() || e.ours.place == (place{}) || e.theirs != nil && e.theirs.place == e.ours.place {
		return nil
	}
	top := e.ours.place
	places, err := m.placesInDirs()
	if err != nil {
		return err
	}
	var below []place
	for at := range places[top] {
		below = append(below, at)
	}
	if len(below) == 0 {
		return nil
	}
	if renamed, err := m.theirs.From(top.base, top.path); err != nil || len(renamed) > 0 {
		return err
	}
	for _, at := range below {
		if err := m.nameBelow(e, at); err != nil {
			return err
		}
	}
	return nil
}

// placesInDirs are the places where such names are or were, as far as the fork knows, by each directory above them. They are looked for once.
func (m *merger) placesInDirs() (map[place]map[place]bool, error) {
	if m.inDirs != nil {
		return m.inDirs, nil
	}
	theirs, err := m.linksOf(m.theirs)
	if err != nil {
		return nil, err
	}
	ours, err := m.linksOf(m.ours)
	if err != nil {
		return nil, err
	}
	all := map[place]map[place]bool{}
	add := func(at place) {
		for dir := at; dir.path != "."; {
			dir.path = path.Dir(dir.path)
			if all[dir] == nil {
				all[dir] = map[place]bool{}
			}
			all[dir][at] = true
		}
	}
	for at := range theirs.at {
		add(at)
	}
	list, err := m.theirs.Workspaces()
	if err != nil {
		return nil, err
	}
	for _, w := range list {
		gone, err := m.theirs.Baselines(w.Tree)
		if err != nil {
			return nil, err
		}
		for at, b := range gone {
			if f := sqlvfs.HostFileOf(w.Name, &b.Fingerprint); ours.rows[f].Ino != 0 || theirs.rows[f].Ino != 0 {
				add(place{w.Name, at})
			}
		}
	}
	m.inDirs = all
	return all, nil
}

// nameBelow is namesBelow for one of them, if the host's shows there.
func (m *merger) nameBelow(e *entry, at place) error {
	rest := strings.TrimPrefix(at.path, e.ours.place.path+"/")
	b := &entry{dir: e.dir, at: path.Join(e.at, rest), was: path.Join(e.was, rest), place: e.ours.place.join(path.Dir(rest)), name: path.Base(rest), base: e.base, ours: e.ours}
	for _, name := range strings.Split(rest, "/") {
		for _, t := range []**version{&b.base, &b.ours} {
			is, err := m.child(*t, name)
			if err != nil {
				return err
			}
			*t = is
		}
	}
	if !b.ours.ofHost() || b.ours.place != at {
		return nil
	}
	e.below = append(e.below, b)
	return m.throughHost(b)
}

// changedBelow tells whether the parent has changed a file, a name of which goes with a directory.
func (m *merger) changedBelow(e *entry) (bool, error) {
	for _, b := range e.below {
		if b.through == nil {
			continue
		}
		if same, err := m.same(b.base, b.ours); err != nil || !same {
			return true, err
		}
	}
	return false, nil
}

// shownAs returns a row as a name of the host's leads to it.
func (m *merger) shownAs(of *sqlvfs.Moment, ino sqlvfs.Ino, at place) (*version, error) {
	t, err := m.version(of, ino)
	if t != nil && t.place != (place{}) {
		t.place = at
	}
	return t, err
}

// losesName notes that the fork has taken a name of the host's away from a file that has others, and is to have a row here that says how
// many.
func (m *merger) losesName(e *entry, f sqlvfs.HostFile) error {
	theirs, err := m.linksOf(m.theirs)
	if err != nil {
		return err
	}
	if r, ok := theirs.rows[f]; ok && (e.theirs == nil || e.theirs.row.Ino != r.Ino) {
		m.counted = append(m.counted, r.Ino)
	}
	return nil
}

// takeUnnamed takes over what the fork has changed of a file of which it has removed the last entry: the host shows it by other names still,
// and no entry leads to it. It tells whether it stays as it is, since both have changed it.
func (m *merger) takeUnnamed(e *entry) (left bool, err error) {
	if e.theirs != nil || e.ours == nil || e.ours.row == nil || e.ours.row.Origin == nil {
		return false, nil
	}
	var ino sqlvfs.Ino
	switch o := e.ours.row.Origin; {
	case e.base != nil && e.base.row != nil:
		if ino = e.base.row.Ino; !m.again && ino > m.top {
			return false, nil
		}
	case m.pending[e.was] == pendingWhole: // the base had removed it, and that was not merged
		theirs, err := m.linksOf(m.theirs)
		if err != nil {
			return false, err
		}
		ino = theirs.rows[sqlvfs.HostFileOf(o.Base, &o.Fingerprint)].Ino
	}
	if ino == 0 || m.made[ino] != nil {
		return false, nil
	}
	t, err := m.version(m.theirs, ino)
	if err != nil || t == nil || t.row.Attr.Nlink == 0 || !t.row.Attr.IsRegular() || !e.ours.row.Attr.IsRegular() {
		return false, err
	}
	if named, err := m.theirs.NameOf(ino); err != nil || named.Dir != 0 {
		return false, err
	}
	if same, err := m.same(e.base, t); err != nil || same {
		return false, err
	}
	is := *e
	is.theirs = t
	base, ours, theirs, err := m.states(&is)
	if err != nil {
		return false, err
	}
	d := classify.Classify(base, ours, theirs)
	if d.Conflict() {
		if d = m.conflict(&is, d); d.Conflict() {
			return true, nil
		}
	}
	if d.Pull() {
		to := &node{ino: e.ours.row.Ino}
		m.made[ino] = to
		m.takes = append(m.takes, take{to, t, d.Content == classify.Guest, d.Mode == classify.Guest, d.Owner == classify.Guest, d.Xattrs == classify.Guest, d.Content == classify.Guest})
	}
	return false, nil
}

// hostNames returns by how many names the host alone shows what is made of a file of the fork's.
func (m *merger) hostNames(from *version) (uint32, error) {
	o := from.row.Origin
	if o == nil || from.row.Attr.IsDir() {
		return 0, nil
	}
	f := sqlvfs.HostFileOf(o.Base, &o.Fingerprint)
	ours, err := m.linksOf(m.ours)
	if err != nil {
		return 0, err
	}
	theirs, err := m.linksOf(m.theirs)
	if err != nil {
		return 0, err
	}
	r := theirs.rows[f]
	if _, has := ours.rows[f]; has || r.Ino != from.row.Ino || r.Links <= r.Names {
		return 0, nil // these lead to that
	}
	return r.Links - r.Names, nil
}

// resolveLinks makes the rows that count names, and has what the fork has not changed of a file be a name of it where other names are.
func (m *merger) resolveLinks() error {
	for _, ino := range m.counted {
		if m.made[ino] != nil {
			continue
		}
		t, err := m.version(m.theirs, ino)
		names := uint32(0)
		if t != nil && err == nil {
			names, err = m.hostNames(t)
		}
		if err != nil {
			return err
		}
		if names > 0 { // else it has come to another place with a pull
			m.make(t)
		}
	}
	for _, n := range m.makes {
		for _, e := range m.asIs[n.from.row.Ino] {
			m.links = append(m.links, link{e, n})
		}
		var err error
		if n.names, err = m.hostNames(n.from); err != nil {
			return err
		}
	}
	return nil
}
