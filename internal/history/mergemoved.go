package history

import (
	"fmt"
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/reconcile/classify"
	"github.com/riverlytech/art/sqlvfs"
)

// resolveDirs decides about directories that were added or removed: which were renamed, and what is in them.
func (m *merger) resolveDirs() error {
	var files []*entry
	for more := true; more; {
		for len(m.added) > 0 {
			if err := m.spreadConflicts(); err != nil {
				return err
			}
			list := m.added
			m.added = nil
			var rest []*entry
			for _, e := range list {
				if !e.theirs.rowDir() {
					files = append(files, e)
				} else if m.staysHere(e) {
					continue
				} else if moved, err := m.moveHere(e); err != nil {
					return err
				} else if !moved {
					rest = append(rest, e)
				}
			}
			for _, e := range rest {
				if err := m.makeDir(e); err != nil {
					return err
				}
			}
		}
		var err error
		if more, err = m.settleReplaced(); err != nil {
			return err
		}
	}
	m.added = files
	for _, e := range m.removedDirs {
		if err := m.removeDir(e); err != nil {
			return err
		}
	}
	return nil
}

// moveHere has a directory that was added be the one that the parent has elsewhere, if it was renamed. It tells whether that is decided.
func (m *merger) moveHere(e *entry) (bool, error) {
	if i := slices.IndexFunc(m.removedDirs, func(g *entry) bool { return g.isBefore(e.theirs) }); i >= 0 {
		from := m.removedDirs[i]
		m.removedDirs = slices.Delete(m.removedDirs, i, i+1)
		return true, m.move(from, e)
	}
	is, err := m.movedByBoth(e)
	switch {
	case is == nil || err != nil:
		return false, err
	case m.opt.Force:
		return true, m.move(is, e)
	}
	if m.markConflict(e); !m.opt.Ours {
		m.leave(e.at, false, fmt.Sprintf("a directory that is %s here, and was renamed to this in the fork", m.shown(is.at)))
	}
	return true, nil
}

// makeDir makes a directory that was added, and what is in it.
func (m *merger) makeDir(e *entry) error {
	if stays, err := m.showsHere(e.theirs.place); err != nil || stays {
		if err == nil {
			m.leaveMoved(e)
		}
		return err
	}
	if err := m.onlyOnce(e); err != nil {
		return err
	}
	to := m.make(e.theirs)
	m.links = append(m.links, link{e, to})
	base := &version{m: m.base, place: e.theirs.place} // as shows through what is made
	if e.theirs.place == (place{}) {
		base = nil
	}
	ours := base
	if !e.base.rowDir() {
		var err error
		if to.pull, err = m.pulledHere(e); err != nil {
			return err
		}
	}
	if to.pull != nil {
		base, ours = &version{m: m.base, place: e.ours.place}, e.ours
	} else {
		m.say(e, "made")
	}
	return m.walk(e.at, e.was, base, ours, e.theirs, to)
}

// movedByBoth returns where the parent has a directory that the fork has moved to another name, if the parent has, too; nil: it has not.
func (m *merger) movedByBoth(e *entry) (*entry, error) {
	t := e.theirs
	var list []sqlvfs.Ino
	if ino := t.row.Ino; ino <= m.top {
		list = append(list, ino)
	} else if ino = m.pairs[ino]; ino != 0 {
		list = append(list, ino)
	} else if t.place != (place{}) {
		var err error
		if list, err = m.ours.From(t.place.base, t.place.path); err != nil {
			return nil, err
		}
	}
	for _, ino := range list {
		is, err := m.version(m.ours, ino)
		if err != nil {
			return nil, err
		}
		if !is.rowDir() || is.place != t.place || m.moved[ino] {
			continue
		}
		from, err := m.entryOf(ino)
		if err != nil || from == nil {
			return nil, err
		}
		if from.at == e.at || from.theirs != nil && (from.theirs.row != nil || from.theirs.place == is.place) {
			continue
		}
		if from.base, err = m.baseOf(t); err != nil {
			return nil, err
		}
		if kept, err := m.isWhereItWas(from); err != nil || !kept {
			return from, err
		}
	}
	return nil, nil
}

// isWhereItWas tells whether the parent has not moved a directory.
func (m *merger) isWhereItWas(e *entry) (bool, error) {
	if e.base == nil || e.base.row == nil {
		return e.at == path.Join(e.ours.place.base, e.ours.place.path), nil
	}
	was, err := m.base.NameOf(e.base.row.Ino)
	return was == sqlvfs.NameIn{Dir: e.dir.ino, Name: e.name}, err
}

// baseOf returns what the base has a directory of the fork as, wherever that is; nil: it does not have it.
func (m *merger) baseOf(theirs *version) (*version, error) {
	if ino := theirs.row.Ino; m.again || ino <= m.top {
		base, err := m.version(m.base, ino)
		if err != nil || base.rowDir() && base.place == theirs.place {
			return base, err
		}
	}
	if theirs.place == (place{}) {
		return nil, nil
	}
	list, err := m.base.From(theirs.place.base, theirs.place.path)
	for _, ino := range list {
		if err != nil {
			return nil, err
		}
		base, err := m.version(m.base, ino)
		if err != nil || base.rowDir() && base.place == theirs.place {
			return base, err
		}
	}
	return &version{m: m.base, place: theirs.place}, err
}

// entryOf returns the name of a directory of the parent; nil: it has none.
func (m *merger) entryOf(ino sqlvfs.Ino) (*entry, error) {
	var names []sqlvfs.NameIn // from the root on
	for at := ino; at != sqlvfs.RootIno; at = names[0].Dir {
		n, err := m.ours.NameOf(at)
		if err != nil || n.Dir == 0 || len(names) > unix.PathMax {
			return nil, err
		}
		names = slices.Insert(names, 0, n)
	}
	var trees [2]*version
	var err error
	for i, of := range []*sqlvfs.Moment{m.ours, m.theirs} {
		if trees[i], err = m.version(of, sqlvfs.RootIno); err != nil {
			return nil, err
		}
	}
	e := &entry{}
	for _, n := range names {
		e.at, e.name, e.dir, e.place = path.Join(e.at, n.Name), n.Name, &node{ino: n.Dir}, place{}
		if trees[0] != nil {
			e.place = trees[0].place
		}
		if e.at == n.Name && m.spaces[n.Name] {
			e.place = place{n.Name, ""}
		}
		for i := range trees {
			if trees[i], err = m.child(trees[i], n.Name); err != nil {
				return nil, err
			}
		}
	}
	e.ours, e.theirs, e.was = trees[0], trees[1], e.at
	if e.ours == nil || e.ours.row == nil || e.ours.row.Ino != ino {
		return nil, nil
	}
	return e, nil
}

// isBefore tells whether a directory that was removed is one that was added elsewhere, so that it was renamed.
func (e *entry) isBefore(t *version) bool {
	if e.ours.place != t.place {
		return false
	}
	if e.base.row != nil {
		return e.base.row.Ino == t.row.Ino
	}
	return t.place != (place{}) && e.base.place == t.place
}

// move has a directory that the fork has renamed lie where that has it, with what the parent has changed in it.
func (m *merger) move(from, to *entry) error {
	if err := m.onlyOnce(to); err != nil {
		return err
	}
	is := &node{ino: from.ours.row.Ino}
	m.made[to.theirs.row.Ino] = is
	m.moved[is.ino] = true
	m.unlinks = append(m.unlinks, from)
	if from.theirs == nil && from.place != (place{}) {
		m.hides = append(m.hides, from)
	}
	m.links = append(m.links, link{to, is})
	if from.whole == nil {
		m.said = append(m.said, said{at: from.at, change: "deleted"})
	}
	m.hasGone(from)
	m.say(to, "made")
	m.pair(from.base, from.ours)
	e := *to
	e.base, e.ours, e.was = from.base, from.ours, from.was
	if err := m.dirMarks(&e, e.base, is); err != nil {
		return err
	}
	return m.walk(to.at, from.was, e.base, e.ours, e.theirs, is)
}

// removeDir decides about a directory that the fork has removed.
func (m *merger) removeDir(e *entry) error {
	if m.inConflict(e) {
		if !m.opt.Ours {
			m.leave(e.at, false, movedToConflict)
		}
		return nil
	}
	if err := m.namesBelow(e); err != nil {
		return err
	}
	linked, err := m.changedBelow(e)
	if err != nil {
		return err
	}
	base, ours, theirs, err := m.states(e)
	if err != nil {
		return err
	}
	d := classify.Classify(base, ours, theirs)
	if linked {
		d.Kind = classify.Conflict
	}
	if d.Conflict() {
		if d = m.conflict(e, d); d.Conflict() {
			return nil
		}
	}
	if d.Kind == classify.Guest {
		return m.takeTheirs(e)
	}
	return nil
}

// resolveFiles finds out what the names of files lead to that were added: a file of the parent's that is the same one, or one to be made.
func (m *merger) resolveFiles() error {
	m.newNames, m.oldNames = map[sqlvfs.Ino]uint32{}, map[sqlvfs.Ino]bool{}
	m.added = slices.DeleteFunc(m.added, m.staysHere)
	for _, e := range m.added {
		m.newNames[e.theirs.row.Ino]++
	}
	for _, e := range m.removedFiles {
		if e.ours != nil && e.ours.row != nil {
			m.oldNames[e.ours.row.Ino] = true
		}
	}
	for _, e := range m.added {
		to := m.made[e.theirs.row.Ino]
		if to == nil {
			var err error
			if to, err = m.known(e); err != nil {
				return err
			}
		}
		if to == nil {
			stays, err := m.showsHere(e.theirs.origin())
			if err != nil {
				return err
			}
			if stays {
				m.leaveMoved(e)
				continue
			}
			to = m.make(e.theirs)
		}
		m.links = append(m.links, link{e, to})
		was, err := m.had(e)
		if err != nil {
			return err
		}
		if was {
			m.say(e, "changed")
		} else {
			m.say(e, "made")
		}
	}
	return nil
}

// had tells whether there was something at a name in the parent, as far as rows say that.
func (m *merger) had(e *entry) (bool, error) {
	if !e.ours.ofHost() || e.theirs.origin() == e.ours.place {
		return e.ours != nil, nil
	}
	was, err := m.agreedAt(e.ours.place, m.ours, m.theirs)
	return was != nil, err
}

// leaveMoved leaves alone what the fork has moved from a path in conflict: it would be there and here.
func (m *merger) leaveMoved(e *entry) {
	if m.markConflict(e); !m.opt.Ours {
		m.leave(e.at, false, "the fork has moved it from a path that is in conflict")
	}
}

const movedToConflict = "the fork has moved it to a path that is in conflict"

// removeFiles removes the files that theirs has removed, but for those that it has renamed to a path in conflict.
func (m *merger) removeFiles() error {
	for _, e := range m.removedFiles {
		if m.inConflict(e) {
			if !m.opt.Ours {
				m.leave(e.at, false, movedToConflict)
			}
			continue
		}
		left, err := m.takeUnnamed(e)
		if err != nil {
			return err
		}
		if !left {
			m.drop(e)
		}
	}
	return nil
}

// known returns the parent's inode that a file of the fork's is, if it has not changed it, or neither side has.
func (m *merger) known(e *entry) (*node, error) {
	t := e.theirs
	ours, base, err := m.counterparts(t)
	// Where the base has it at the name, and the parent another one, that is not to become a name of it.
	if err != nil || ours == nil || m.isKept(e) || ours.row.Attr.Nlink == 0 || (ours.row.Attr.Mode^t.row.Attr.Mode)&unix.S_IFMT != 0 {
		return nil, err
	}
	if !m.isStillOne(ours, t) {
		return nil, nil
	}
	is := &node{ino: ours.row.Ino}
	if same, err := m.same(ours, t); err != nil || same {
		m.made[t.row.Ino] = is
		return is, err
	}
	if base == nil {
		return nil, nil
	}
	if kept, err := m.same(base, ours); err != nil || !kept || !t.row.Attr.IsRegular() {
		return nil, err
	}
	m.made[t.row.Ino] = is
	m.takes = append(m.takes, take{is, t, true, true, true, true, true})
	return is, nil
}

// isStillOne tells whether a file of the parent's and the fork's has a name in both, or had one that the fork has renamed. Else both have
// renamed it, to different names: these are not to be names of one file, which it never had.
func (m *merger) isStillOne(ours, theirs *version) bool {
	return m.newNames[theirs.row.Ino] < theirs.row.Attr.Nlink || m.oldNames[ours.row.Ino]
}

// counterparts returns what the parent and the base have a file of the fork's as; nil: they do not have it, as far as is known.
func (m *merger) counterparts(t *version) (ours, base *version, err error) {
	ino := t.row.Ino
	if m.again || ino <= m.top {
		if base, err = m.version(m.base, ino); err != nil {
			return nil, nil, err
		}
	}
	if ino > m.top {
		ino = m.pairs[ino]
	}
	if o := t.row.Origin; ino == 0 && o != nil {
		list, err := m.linksOf(m.ours)
		if err != nil {
			return nil, nil, err
		}
		at := place{o.Base, o.Path}
		if base == nil {
			base = &version{m: m.base, place: at}
		}
		ours, err = m.shownAs(m.ours, list.rows[sqlvfs.HostFileOf(o.Base, &o.Fingerprint)].Ino, at)
		return ours, base, err
	}
	ours, err = m.version(m.ours, ino)
	return ours, base, err
}
