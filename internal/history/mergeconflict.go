package history

import (
	"fmt"
	"path"

	"github.com/riverlytech/art/internal/reconcile/classify"
	"github.com/riverlytech/art/sqlvfs"
)

// pending is how the last merge has left a path in conflict.
type pending int

const (
	settled      pending = iota
	pendingBelow         // something in it
	pendingMarks         // mode, owner or extended attributes of a directory
	pendingWhole         // all of it
)

// unsettled is what there is of that, by path.
type unsettled map[string]pending

func pendingOf(list []sqlvfs.MergeConflict) unsettled {
	all := unsettled{}
	for _, c := range list {
		is := pendingWhole
		if c.Marks {
			is = pendingMarks
		}
		for at := c.Path; ; at, is = path.Dir(at), pendingBelow {
			if all[at] = max(all[at], is); at == "." {
				break
			}
		}
	}
	return all
}

// covers tells whether a path, or what it is in, is in conflict as a whole.
func (p unsettled) covers(at string) bool {
	for ; at != "."; at = path.Dir(at) {
		if p[at] == pendingWhole {
			return true
		}
	}
	return false
}

// What both have changed differently is named, and left alone, unless the user has said whose counts.

// conflict names a path that both have changed, or resolves that as the user has said.
func (m *merger) conflict(e *entry, d classify.Decision) classify.Decision {
	switch {
	case m.opt.Force:
		return d.Resolve(classify.Guest)
	case m.opt.Ours:
		m.markConflict(e)
		return d.Resolve(classify.Host)
	}
	m.markConflict(e)
	why := d.WhyOf("in the fork", "here")
	switch {
	case e.ours.ofHost() && e.ours.let != nil:
		why = "changed in the fork, and pulled here since: what shows is the host's"
	case m.pending[e.was] != settled:
		why = "it was changed in both before the last merge, and still differs"
	}
	m.leave(e.at, e.isAboutMarks(), why)
	return d
}

// markConflict notes that what theirs has at a path is not applied, because of a conflict: where it was before, it stays.
func (m *merger) markConflict(e *entry) {
	t := e.theirs
	switch {
	case e.ours.ofHost():
		m.stays[e.ours.place] = true
	case e.ours == nil && e.base != nil && e.base.place != (place{}): // unless the parent has renamed it
		m.mayStay = append(m.mayStay, e.base.place)
	}
	if t == nil || t.row == nil || e.isAboutMarks() {
		return
	}
	m.unmerged = append(m.unmerged, t.row.Ino)
}

// isAboutMarks tells whether a conflict is about the marks of a directory: what is in it is merged.
func (e *entry) isAboutMarks() bool {
	return e.theirs.rowDir() && e.ours.rowDir() && e.ours.place == e.theirs.place
}

// showsHere tells whether the host's shows at a place, or above it, because that is in conflict.
func (m *merger) showsHere(p place) (bool, error) {
	for ; len(m.mayStay) > 0; m.mayStay = m.mayStay[1:] {
		at := m.mayStay[0]
		shown, err := m.isShown(at)
		if err != nil {
			return false, err
		}
		if shown {
			m.stays[at] = true
		}
	}
	for ; p != (place{}) && len(m.stays) > 0; p.path = path.Dir(p.path) {
		if m.stays[p] {
			return true, nil
		}
		if p.path == "." {
			break
		}
	}
	return false, nil
}

// spreadConflicts notes all that is in directories which are not applied.
func (m *merger) spreadConflicts() error {
	for ; len(m.unmerged) > 0; m.unmerged = m.unmerged[1:] {
		t, err := m.version(m.theirs, m.unmerged[0])
		if err != nil {
			return err
		}
		if t == nil || m.conflicted[t.row.Ino] {
			continue
		}
		m.conflicted[t.row.Ino] = true
		if from := t.origin(); from != (place{}) {
			m.conflicted[from] = true
		}
		if !t.rowDir() {
			continue
		}
		list, err := m.theirs.Entries(t.row.Ino)
		if err != nil {
			return err
		}
		for _, e := range list {
			m.unmerged = append(m.unmerged, e.Ino)
		}
	}
	return nil
}

// inConflict tells whether what the base has at a path is something that theirs has renamed to a path in conflict.
func (m *merger) inConflict(e *entry) bool {
	if e.base.row != nil {
		return m.conflicted[e.base.row.Ino]
	}
	return m.conflicted[e.base.place]
}

func (m *merger) leave(at string, marks bool, why string) {
	m.left = append(m.left, sqlvfs.MergeConflict{Path: at, Marks: marks})
	m.said = append(m.said, said{at: at, conflict: why})
}

// tooLong leaves a path alone that no program can name, with all that is below it.
func (m *merger) tooLong(e *entry) error {
	if same, err := m.same(e.base, e.theirs); err != nil || same && m.pending[e.was] == settled {
		return err
	}
	if same, err := m.same(e.ours, e.theirs); err != nil || same {
		return err
	}
	m.markConflict(e)
	if !m.opt.Ours {
		m.leave(e.at, false, fmt.Sprintf("its path has %d bytes, and no program can name it", len(e.at)))
	}
	return nil
}
