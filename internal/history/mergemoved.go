package history

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/reconcile/classify"
)

// settleDirs decides about directories that have come or gone: which have moved, and what is in them.
func (m *merger) settleDirs() error {
	var files []*entry
	for len(m.came) > 0 {
		list := m.came
		m.came = nil
		var rest []*entry
		for _, e := range list {
			if !e.theirs.rowDir() {
				files = append(files, e)
				continue
			}
			i := slices.IndexFunc(m.gone, func(g *entry) bool { return g.isBefore(e.theirs) })
			if i < 0 {
				rest = append(rest, e)
				continue
			}
			g := m.gone[i]
			m.gone = slices.Delete(m.gone, i, i+1)
			if err := m.move(g, e); err != nil {
				return err
			}
		}
		for _, e := range rest {
			if err := m.onlyOnce(e); err != nil {
				return err
			}
			to := m.make(e.theirs.row)
			m.links = append(m.links, link{e, to})
			m.say(e, "made")
			shown := &thing{m: m.theirs, place: e.theirs.place}
			if e.theirs.place == (place{}) {
				shown = nil
			}
			if err := m.walk(e.at, shown, shown, e.theirs, to); err != nil {
				return err
			}
		}
	}
	m.came = files
	for _, e := range m.gone {
		if err := m.depart(e); err != nil {
			return err
		}
	}
	return nil
}

// isBefore tells whether a directory that has gone is one that has come.
func (e *entry) isBefore(t *thing) bool {
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
	m.said = append(m.said, said{at: from.at, change: "deleted"})
	m.say(to, "made")
	m.pair(from.base, from.ours)
	e := *to
	e.base, e.ours = from.base, from.ours
	if err := m.dirMarks(&e, e.base, is); err != nil {
		return err
	}
	return m.walk(to.at, e.base, e.ours, e.theirs, is)
}

// depart decides about a directory that the fork has removed.
func (m *merger) depart(e *entry) error {
	base, ours, theirs, err := m.states(e)
	if err != nil {
		return err
	}
	d := classify.Classify(base, ours, theirs)
	if d.Conflict() {
		if d = m.conflict(e, d); d.Conflict() {
			return nil
		}
	}
	if d.Kind == classify.Guest {
		return m.bring(e)
	}
	return nil
}

// settleFiles finds out what the names of files lead to that have come: a file of the parent's that is the same one, or one to be made.
func (m *merger) settleFiles() error {
	for _, e := range m.came {
		to := m.made[e.theirs.row.Ino]
		if to == nil {
			var err error
			if to, err = m.known(e); err != nil {
				return err
			}
		}
		if to == nil {
			to = m.make(e.theirs.row)
		}
		m.links = append(m.links, link{e, to})
		change := "made"
		if e.ours != nil {
			change = "changed"
		}
		m.say(e, change)
	}
	return nil
}

// dropLost removes the files that the fork has removed, but for those that it has moved to where they do not come.
func (m *merger) dropLost() {
	for _, e := range m.lost {
		var was any
		if was = e.base.place; e.base.row != nil {
			was = e.base.row.Ino
		}
		switch {
		case !m.stuck[was]:
			m.drop(e)
		case !m.opt.Ours:
			m.leave(e.at, "the fork has moved it to a path that is in conflict")
		}
	}
}

// known returns the parent's inode that a file of the fork's is, if it has not changed it, or neither side has.
func (m *merger) known(e *entry) (*node, error) {
	t := e.theirs
	ino := t.row.Ino
	if ino > m.top {
		ino = m.pairs[ino]
	}
	if ino == 0 {
		return nil, nil
	}
	ours, err := m.thing(m.ours, ino)
	if err != nil || ours == nil || (ours.row.Attr.Mode^t.row.Attr.Mode)&unix.S_IFMT != 0 {
		return nil, err
	}
	is := &node{ino: ino}
	if same, err := m.same(ours, t); err != nil || same {
		m.made[t.row.Ino] = is
		return is, err
	}
	was := t.row.Ino
	if !m.again && was > m.top {
		return nil, nil
	}
	base, err := m.thing(m.base, was)
	if err != nil || base == nil {
		return nil, err
	}
	if kept, err := m.same(base, ours); err != nil || !kept || !t.row.Attr.IsRegular() {
		return nil, err
	}
	m.made[t.row.Ino] = is
	m.takes = append(m.takes, take{is, t.row, true, true, true, true, true})
	return is, nil
}
