package sync

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// planMkdir plans a directory. It returns false if nothing in it can be planned.
func (p *planner) planMkdir(a *action) bool {
	switch {
	case a.there == unix.S_IFDIR:
		p.dirs = append(p.dirs, a)
		p.planMode(a)
		return true
	case a.was != nil && kind(a.was.Mode) == unix.S_IFDIR && !p.within(a):
		// The guest's directory is the one that the host had: whatever changed in it says whether it
		// is needed.
		a.do, a.lazy = mkdir, true
		return true
	}
	a.do = mkdir
	if a.there != 0 && p.hostChanged(a) && !p.settleConflict(a) || !p.permitted(a) {
		return false
	}
	p.add(a)
	p.dirs = append(p.dirs, a)
	return true
}

// within tells whether a directory came to its place by being renamed, or is all new: then it is
// made even if it is empty.
func (p *planner) within(a *action) bool {
	return a.was == nil || a.node == nil || a.was.Row != a.node.Ino
}

// planMode plans the mode of a directory that both sides have.
func (p *planner) planMode(a *action) {
	if !p.limit.has(a.path) || p.sameModeAndOwner(a) {
		return
	}
	if b := a.was; b != nil && kind(b.Mode) == unix.S_IFDIR && b.Mode&0o7777 != 0 {
		if (b.Mode^a.attr.Mode)&modeBits == 0 || (b.Mode^a.host.Mode)&modeBits != 0 && !p.settleConflict(a) {
			return
		}
	}
	a.do = chmodDir
	if p.permitted(a) {
		p.actions = append(p.actions, a)
	}
}

func (p *planner) planSymlink(a *action) {
	a.do = symlink
	if !p.guestChanged(a) {
		return
	}
	if a.there == unix.S_IFLNK && p.sameTarget(a) && (!p.asRoot || sameOwner(a)) {
		if a.host.Mtime == a.attr.Mtime || p.hostChanged(a) {
			p.agree(a)
			return
		}
	} else if p.hostChanged(a) && !p.settleConflict(a) {
		return
	}
	p.replace(a)
}

func (p *planner) planFile(a *action) {
	a.do = write
	if !p.guestChanged(a) && !p.stale(a) {
		if a.attr.Nlink > 1 && a.there == unix.S_IFREG {
			a.do = keep // what other names of the row are linked to
			p.files[a.node.Ino] = a
		}
		return
	}
	if o := a.node.Origin; o != nil && o.Limit > 0 {
		a.source, a.version = o.Path, o.Fingerprint
		if o.Base != p.name {
			p.settle.fail(a, fmt.Errorf("its content is in another workspace: %s", o.Base))
			return
		}
	}
	if a.attr.Nlink > 1 {
		if first := p.files[a.node.Ino]; first != nil && !first.failed {
			p.planHardLink(a, first)
			return
		}
		p.files[a.node.Ino] = a
	}
	changed := p.hostChanged(a)
	if changed && a.there != 0 {
		same, err := p.equal(a)
		if err == nil && same || brokenSource(err) && p.placedBefore(a) {
			p.agree(a)
			return
		}
	} else if p.same(a) && !p.elsewhere(a) && p.sameContent(a) {
		p.agree(a)
		return
	}
	if changed && !p.settleConflict(a) {
		return
	}
	if a.source != "" && !p.sourceThere(a) {
		if p.limit.has(a.path) {
			p.settle.broken(a)
		}
		p.leave(a)
		return
	}
	if p.onlyAttributes(a) {
		a.do, a.source = touch, ""
	}
	p.shareNames(a)
	p.replace(a)
}

// agree notes that both sides are equal.
func (p *planner) agree(a *action) {
	a.do, a.agreed = keep, true
	if p.limit.has(a.path) {
		a.done = true
		p.actions = append(p.actions, a)
	}
}

// planHardLink makes a file another name of one that was planned before.
func (p *planner) planHardLink(a, first *action) {
	a.do, a.other, a.source = hardLink, first, ""
	placed := first.do == keep || first.do == touch
	if placed && a.there == unix.S_IFREG && sameObject(a, first) {
		p.agree(a)
		return
	}
	if p.hostChanged(a) {
		same := false
		if a.there != 0 {
			same, _ = p.equal(a)
		}
		if !same && !p.settleConflict(a) {
			return
		}
	}
	p.replace(a)
}

// replace adds what is to take the place of whatever is there.
func (p *planner) replace(a *action) {
	if !p.permitted(a) {
		return
	}
	if a.there == unix.S_IFDIR && !p.planReplaced(a) {
		return
	}
	p.add(a)
}

// add plans an action, and before it the directories that it needs.
func (p *planner) add(a *action) {
	if !p.need(a.in) {
		p.leave(a)
		return
	}
	if a.in != nil {
		a.in.touched = true
	}
	p.actions = append(p.actions, a)
}

// need plans a directory that the host has no more, or has something else in the place of.
func (p *planner) need(d *action) bool {
	if d == nil || d.failed {
		return d == nil
	}
	if !d.lazy {
		return true
	}
	d.lazy = false
	if !p.need(d.in) || d.there != 0 && !p.settleConflict(d) || !p.permitted(d) {
		d.failed = true
		return false
	}
	p.actions = append(p.actions, d)
	p.dirs = append(p.dirs, d)
	return true
}
