package history

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/reconcile/classify"
	"github.com/riverlytech/art/sqlvfs"
)

// What a name of the parent's is to lead to, once it is decided that it takes over what the fork has there.

// takeTheirs has a name lead to what theirs has there.
func (m *merger) takeTheirs(e *entry) error {
	if e.theirs != nil && e.theirs.row != nil {
		if e.ours != nil && e.ours.row != nil && !e.ours.rowDir() && e.base != nil && m.takeInto(e, classify.Decision{
			Content: classify.Guest, Mode: classify.Guest, Owner: classify.Guest, Xattrs: classify.Guest,
		}) {
			return nil
		}
		m.replace(e)
		return nil
	}
	if e.base != nil && !e.ours.rowDir() && !e.isNew() {
		m.removedFiles = append(m.removedFiles, e)
		return nil
	}
	left, err := m.takeUnnamed(e)
	if err == nil && !left {
		m.drop(e)
	}
	return err
}

// unlink has a name lead to nothing of the parent's.
func (m *merger) unlink(e *entry) {
	switch {
	case e.through != nil && e.uncounted: // it was none
	case e.through != nil:
		m.loses = append(m.loses, e.through)
	case e.ours != nil && e.ours.row != nil:
		m.unlinks = append(m.unlinks, e)
	}
	for _, b := range e.below {
		if b.through != nil && !b.uncounted {
			m.loses = append(m.loses, b.through)
		}
	}
}

// drop has a name lead to nothing, or to what the host has.
func (m *merger) drop(e *entry) {
	m.unlink(e)
	if e.theirs != nil { // the host's
		m.shows = append(m.shows, e)
		m.said = append(m.said, said{at: e.at, change: "deleted"})
		return
	}
	if e.place != (place{}) {
		m.hides = append(m.hides, e)
	}
	if !e.isNew() {
		m.said = append(m.said, said{at: e.at, change: "deleted"})
	}
}

// isNew tells whether the directory of a name is made by the merge: then what it hides was not there.
func (e *entry) isNew() bool {
	return e.dir.from != nil && !e.dir.host && (e.ours.ofHost() || e.through != nil)
}

// takeInto has the inode that the parent has at a name take over what the fork has there, where the fork has changed that and not replaced
// it. It tells whether that is so; else the name is to lead to another inode.
func (m *merger) takeInto(e *entry, d classify.Decision) bool {
	o, t := e.ours.row, e.theirs.row
	if (o.Attr.Mode^t.Attr.Mode)&unix.S_IFMT != 0 || !o.Attr.IsRegular() && !o.Attr.IsSymlink() {
		return false
	}
	to := &node{ino: o.Ino}
	switch is := m.made[t.Ino]; {
	case is != nil && is.ino == o.Ino:
		m.say(e, "changed")
		return true
	case is == nil && m.isKept(e) && (t.Ino > m.top || t.Ino == o.Ino):
		m.made[t.Ino] = to
	case o.Attr.Nlink > 1 || !m.isKept(e) && d.Content == classify.Guest:
		return false
	}
	m.takes = append(m.takes, take{to, e.theirs, d.Content == classify.Guest, d.Mode == classify.Guest, d.Owner == classify.Guest, d.Xattrs == classify.Guest, d.Content == classify.Guest})
	m.say(e, "changed")
	return true
}

// isKept tells whether the fork has the inode at a name that the base has there.
func (m *merger) isKept(e *entry) bool {
	if e.base == nil || e.theirs == nil || e.theirs.row == nil {
		return false
	}
	if e.base.row == nil {
		return e.base.place == e.theirs.origin()
	}
	return e.base.row.Ino == e.theirs.row.Ino && (m.again || e.theirs.row.Ino <= m.top)
}

// takeMarked has a name lead to what the fork has put there in place of what the base has, with those marks that the parent has given that.
// It tells whether no other name leads to either.
func (m *merger) takeMarked(e *entry, d classify.Decision) bool {
	o, t := e.ours.row, e.theirs.row
	if d.Content != classify.Guest || o.Attr.Nlink > 1 || t.Attr.Nlink > 1 || m.made[t.Ino] != nil || (o.Attr.Mode^t.Attr.Mode)&unix.S_IFMT != 0 {
		return false
	}
	to := m.make(e.theirs)
	m.takes = append(m.takes, take{into: to, from: e.ours, mode: d.Mode == classify.Host, owner: d.Owner == classify.Host, xattrs: d.Xattrs == classify.Host})
	m.replace(e)
	return true
}

// replace has a name lead to another object than the one that the parent has there, unless that turns out to stay (see staysHere).
func (m *merger) replace(e *entry) {
	e.over = true
	m.added = append(m.added, e)
}

// staysHere leaves a name alone that is to lead to another object, if the fork has moved what is there to a path in conflict. Else that goes.
func (m *merger) staysHere(e *entry) bool {
	if !e.over {
		return false
	}
	if e.base != nil && m.made[e.theirs.row.Ino] == nil && m.inConflict(e) {
		if m.markConflict(e); !m.opt.Ours {
			m.leave(e.at, false, movedToConflict)
		}
		return true
	}
	m.unlink(e)
	return false
}

// say tells of a path that leads to what the fork has there.
func (m *merger) say(e *entry, change string) {
	n := e.theirs.row
	m.said = append(m.said, said{at: e.at, change: change, dir: n.Attr.IsDir(), target: n.Target, size: n.Attr.Size})
}

// onlyOnce makes sure that a directory of the fork has one name, and so is not below itself.
func (m *merger) onlyOnce(e *entry) error {
	if m.made[e.theirs.row.Ino] != nil {
		return fmt.Errorf("%w: directory %d of the fork has several names", sqlvfs.ErrCorrupt, e.theirs.row.Ino)
	}
	return nil
}

// make is what is to be made of an inode of the fork.
func (m *merger) make(from *version) *node {
	n := &node{from: from}
	m.made[from.row.Ino] = n
	m.makes = append(m.makes, n)
	return n
}
