package reconcile

import (
	"cmp"
	"errors"
	"maps"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/reconcile/classify"
	"github.com/riverlytech/art/sqlvfs"
)

// found is a file or a symbolic link that push has found on the host.
type found struct {
	in       *folder
	at, name string
	st       unix.Stat_t
	err      error     // why there is none of it
	dir      *os.File  // that it is in, while that one is read
	content  *hostFile // nil: it was not read ahead

	*item        // what both sides have; nil: it was not looked for yet
	here    bool // the guest has a row at its path
	removed bool // the guest has no such name any more
}

// find finds out what the guest has of a host file, and decides whose version counts.
func (p *pusher) find(f *found) (err error) {
	var hidden bool
	if f.item, hidden, err = p.at(f.at, &f.st); err != nil {
		return p.storeFailed(err)
	}
	a := f.item
	f.here = a.node != nil
	if !f.here {
		hidden = (hidden || f.in.hidden) && !f.in.fresh
		if p.sees(f) {
			f.left = true
			return nil
		}
		f.removed = hidden || a.was != nil && a.was.Row != 0
		if a.there == unix.S_IFREG {
			var n *sqlvfs.Node
			n, was := p.elsewhere(a, f.removed)
			a.has(n)
			if n != nil {
				a.was = was
			}
		}
		f.left = f.in.left || a.node == nil && f.in.live // the guest sees it where it has moved the directory to
	}
	base, host, guest := p.states(a, f.removed)
	f.decision = classify.Classify(base, host, guest)
	return nil
}

// linkGroup are names of host files and rows that belong together: what is decided about one is decided about all.
type linkGroup struct{ all []*found }

// shared reports whether a file has other names on one of the sides, or the guest's had another one.
func (p *pusher) shared(f *found) bool {
	n := f.node
	switch {
	case f.there != unix.S_IFREG || f.st.Nlink > 1 || n == nil || !n.Attr.IsRegular():
		return f.there == unix.S_IFREG && f.st.Nlink > 1
	case !f.here || f.was == nil || f.was.Row != n.Ino:
		return true
	}
	return n.Attr.Nlink > 1 && len(p.names(n.Ino)) > 1 || len(p.basePaths(n.Ino)) > 1
}

// postpone keeps a file until all of the workspace was met, with those that share a file or a row with it.
func (p *pusher) postpone(f *found) {
	f.dir, f.content = nil, nil
	k := p.groups[objectOf(&f.st)]
	if k == nil {
		k = &linkGroup{}
		p.groups[objectOf(&f.st)] = k
	}
	k.all = append(k.all, f)
}

// postponed brings what was postponed, in the order of the tree.
func (p *pusher) postponed() error {
	rows := map[sqlvfs.Ino]*linkGroup{}
	for o, k := range p.groups {
		if !slices.ContainsFunc(k.all, func(f *found) bool { return !p.known(f) }) {
			delete(p.groups, o)
			continue
		}
		for _, f := range k.all {
			if f.item == nil {
				if err := p.find(f); err != nil {
					return err
				}
			}
			if f.node == nil || rows[f.node.Ino] == k {
				continue
			}
			if other := rows[f.node.Ino]; other != nil {
				k.all = append(k.all, other.all...)
				for _, g := range other.all {
					p.groups[objectOf(&g.st)] = k
				}
			}
			for _, g := range k.all {
				if g.item != nil && g.node != nil {
					rows[g.node.Ino] = k
				}
			}
		}
	}
	distinct := map[*linkGroup]bool{}
	for _, k := range p.groups {
		slices.SortFunc(k.all, func(f, g *found) int { return cmp.Compare(f.at, g.at) })
		distinct[k] = true
	}
	order := slices.SortedFunc(maps.Keys(distinct), func(k, l *linkGroup) int { return cmp.Compare(k.all[0].at, l.all[0].at) })
	for _, k := range order {
		if p.ctx.Err() != nil {
			return errInterrupted
		}
		if err := p.storeGroup(k.all); err != nil {
			return err
		}
	}
	return p.finishAgain()
}

// known reports whether the host's file is as it was when both sides last agreed.
func (p *pusher) known(f *found) bool {
	b := p.base[f.at]
	return b != nil && b.Fingerprint == hostfs.Fingerprint(&f.st)
}

// storeGroup does what was decided about files that belong together.
func (p *pusher) storeGroup(all []*found) error {
	p.leaveLinked(all)
	p.resolveConflicts(all)
	for i, f := range all {
		var same []*found // names of one host file
		for _, g := range all[i:] {
			if !g.left && objectOf(&g.st) == objectOf(&f.st) {
				same = append(same, g)
			}
		}
		for _, g := range same {
			g.left = true
		}
		if len(same) == 0 {
			continue
		}
		if err := p.reportError(f.at, p.storeNames(same)); err != nil {
			return err
		}
	}
	return nil
}

// reportError names a path that could not be stored, and returns what ends the run.
func (p *pusher) reportError(at string, err error) error {
	switch {
	case errors.As(err, new(*storeError)), errors.Is(err, errInterrupted):
		return err
	case errors.Is(err, unix.ENOENT):
		// It was deleted since the directory was read: then it is not part of the workspace.
	case err != nil:
		p.report.Fail(p.guestPath(at), err)
	}
	return nil
}

// resolveConflicts decides about conflicts: one name's is that of all that would change with it. A name that the
// guest removed is none, if it kept others.
func (p *pusher) resolveConflicts(all []*found) {
	why := ""
	for _, f := range all {
		f.left = p.gitKeeps(f) || f.left
		if f.removed && f.node == nil && slices.ContainsFunc(all, func(g *found) bool {
			return objectOf(&g.st) == objectOf(&f.st) && (g.node != nil || !g.removed)
		}) {
			f.left = true
		}
		if !f.left && p.takesLast(f) {
			f.decision.Kind, f.conflict = classify.Conflict, manyNames
		}
		if !f.left && f.decision.Conflict() {
			why = cmp.Or(f.conflict, f.decision.Why())
		}
	}
	for _, f := range all {
		switch d := f.decision; {
		case why == "" || f.left:
		case p.opt.Force:
			f.decision = d.Resolve(classify.Host)
			f.removed = f.removed && f.node != nil
		case d.Conflict():
			f.left = true
			p.report.Conflict(p.guestPath(f.at), cmp.Or(f.conflict, d.Why()))
		case d.Kind == classify.Host || d.Content == classify.Host:
			f.left = true
			p.report.Conflict(p.guestPath(f.at), why)
		}
	}
}

// takesLast is what keepLast looks for, of the guest: what the host has removed or replaced is the last name of a
// row there, and the guest has removed one that the host has left.
func (p *pusher) takesLast(f *found) bool {
	n := f.node
	if n == nil || !n.Attr.IsRegular() || f.decision.Kind != classify.Host && f.decision.Content != classify.Host {
		return false
	}
	has := func(at string) bool { // the host has what both had there
		st, err := p.host.stat(at)
		return err == nil && !p.hostWrote(&item{path: at, was: p.base[at], there: kind(st.Mode), now: hostfs.Fingerprint(&st)})
	}
	left := func(at string) bool { // the host has it still, if with other content
		st, err := p.host.stat(at)
		return err == nil && (has(at) || p.written[n.Ino] && kind(st.Mode) == unix.S_IFREG)
	}
	if slices.ContainsFunc(p.names(n.Ino), func(at string) bool { return at != f.at && (p.base[at] == nil || has(at)) }) {
		return false
	}
	return slices.ContainsFunc(p.basePaths(n.Ino), func(at string) bool {
		m, _ := p.node(at)
		return (m == nil || m.Ino != n.Ino) && left(at)
	})
}

// storeNames brings a host file, or a symbolic link, to those of its names that are given.
func (p *pusher) storeNames(same []*found) error {
	var take, keep []*found
	for _, f := range same {
		d := f.decision
		switch {
		case d.Kind == classify.Guest:
		case d.Kind == classify.Agreed && d.Content == classify.Guest:
			keep = append(keep, f)
		default:
			take = append(take, f)
			if f.here && f.node.Attr.IsDir() {
				p.replaced[f.at] = true
			}
			continue // it may get another row
		}
		if f.node != nil && !f.removed {
			p.kept[f.node.Ino] = true
		}
	}
	for len(take) > 0 {
		row := p.target(take)
		// Of what the guest has under other names only, these get the content.
		now := slices.DeleteFunc(slices.Clone(take), func(f *found) bool { return f.removed && f.node != row })
		take = slices.DeleteFunc(take, func(f *found) bool { return slices.Contains(now, f) })
		if len(now) == 0 {
			break
		}
		if now[0].there == unix.S_IFLNK {
			return p.symlink(now[0])
		}
		if row != nil && slices.ContainsFunc(now, func(f *found) bool { return !f.removed }) {
			p.kept[row.Ino] = true
		}
		if err := p.file(now, row); err != nil {
			return err
		}
	}
	// After the others, whose row it may be: then each tells the same in a dry run.
	for _, f := range keep {
		if err := p.keep(f); err != nil {
			return err
		}
	}
	return nil
}

// target returns the row that a host file goes into: one that its names have already, and that stands for no
// other file of the host; or nil for a new one.
func (p *pusher) target(take []*found) *sqlvfs.Node {
	for _, f := range take {
		if n := f.node; n != nil && n.Attr.IsRegular() && !p.standsForOther(n, take) {
			return n
		}
	}
	return nil
}

func (p *pusher) standsForOther(n *sqlvfs.Node, take []*found) bool {
	own := objectOf(&take[0].st)
	if o, taken := p.owner[n.Ino]; taken && o != own {
		return true
	}
	if len(take) == 1 && take[0].here && n.Attr.Nlink == 1 {
		return false
	}
	return slices.ContainsFunc(p.names(n.Ino), func(at string) bool {
		if slices.ContainsFunc(take, func(f *found) bool { return f.at == at }) {
			return false
		}
		b := p.base[at]
		if b != nil && b.Row != 0 && b.Row != n.Ino {
			return true // the guest has put it in the place of another file, which the host knows by that name
		}
		st, err := p.host.stat(at)
		return err == nil && objectOf(&st) != own && b != nil && b.Row == n.Ino
	})
}
