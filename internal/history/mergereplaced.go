package history

import (
	"fmt"
	"slices"

	"github.com/riverlytech/art/sqlvfs"
)

// A fork may have renamed a directory and put something else at its name. To a merge these are two things: the directory goes from there, as
// any that was renamed, with what the parent has in it; and what the fork has put there is a new name. That waits until the directory has
// gone, since a name leads to one thing.

// takeApart has such an entry be two. It tells whether it is one.
func (m *merger) takeApart(e *entry) (bool, error) {
	if !e.ours.rowDir() || e.base == nil || e.fork.row == nil || e.ours.place != e.base.place || e.theirs == nil || e.theirs.row == nil || e.name == ".git" || m.pending[e.was] >= pendingMarks {
		return false, nil
	}
	if e.base.row != nil && (!e.base.rowDir() || e.ours.row.Ino != e.base.row.Ino && m.pairs[e.base.row.Ino] != e.ours.row.Ino) {
		return false, nil // the parent has put another one there
	}
	if renamed, err := m.hasRenamed(e); err != nil || !renamed {
		return false, err
	}
	gone, put := *e, *e
	put.base, put.ours = nil, nil
	gone.theirs, gone.put, gone.whole = nil, &put, e
	m.removedDirs = append(m.removedDirs, &gone)
	return true, nil
}

// hasRenamed tells whether the fork has the directory that the base has at a name at another one.
func (m *merger) hasRenamed(e *entry) (bool, error) {
	if m.isKept(e) {
		return false, nil
	}
	var list []sqlvfs.Ino
	switch {
	case e.base.row == nil:
		var err error
		if list, err = m.theirs.From(e.base.place.base, e.base.place.path); err != nil {
			return false, err
		}
	case m.again || e.base.row.Ino <= m.top:
		list = append(list, e.base.row.Ino)
	}
	for _, ino := range list {
		t, err := m.version(m.theirs, ino)
		if err != nil {
			return false, err
		}
		if !t.rowDir() || t.place != e.ours.place {
			continue
		}
		at, err := m.theirs.NameOf(ino)
		if err != nil || at.Dir != 0 && at != (sqlvfs.NameIn{Dir: e.fork.row.Ino, Name: e.name}) {
			return err == nil, err
		}
	}
	return false, nil
}

// hasGone has what was put at the name of a directory take its place.
func (m *merger) hasGone(e *entry) {
	if e.put != nil {
		m.added = append(m.added, e.put)
		e.put = nil
	}
}

// settleReplaced goes on with those whose directory has not gone, though all that was added was looked at. It tells whether more was added.
func (m *merger) settleReplaced() (bool, error) {
	if m.takeTurns() {
		return true, nil
	}
	for {
		if err := m.spreadConflicts(); err != nil {
			return false, err
		}
		i := slices.IndexFunc(m.removedDirs, func(e *entry) bool { return e.put != nil && m.inConflict(e) })
		if i < 0 {
			break
		}
		e := m.removedDirs[i]
		m.removedDirs = slices.Delete(m.removedDirs, i, i+1)
		if m.markConflict(e.whole); !m.opt.Ours {
			m.leave(e.at, false, movedToConflict)
		}
	}
	var rest, whole []*entry
	for _, e := range m.removedDirs {
		switch {
		case e.put != nil: // it is in what is taken as one thing
			whole = append(whole, e.whole)
		case e.whole != nil:
			return false, fmt.Errorf("%w: two directories of the fork come from %q", sqlvfs.ErrCorrupt, e.at)
		default:
			rest = append(rest, e)
		}
	}
	m.removedDirs = rest
	for _, e := range whole {
		if err := m.mergeWhole(e); err != nil {
			return false, err
		}
	}
	return len(m.added) > 0, nil
}

// takeTurns has directories go that have taken each other's places, so that each waits for another one.
func (m *merger) takeTurns() bool {
	var turn []*entry
	for _, e := range m.removedDirs {
		if e.put != nil {
			turn = append(turn, e)
		}
	}
	for n := -1; n != len(turn); {
		n = len(turn)
		turn = slices.DeleteFunc(turn, func(e *entry) bool {
			return !slices.ContainsFunc(turn, func(f *entry) bool { return f.put.theirs.rowDir() && e.isBefore(f.put.theirs) })
		})
	}
	for _, e := range turn {
		m.hasGone(e)
	}
	return len(turn) > 0
}
