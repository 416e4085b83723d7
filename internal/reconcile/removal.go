package reconcile

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/reconcile/classify"
	"github.com/riverlytech/art/sqlvfs"
)

// gone lists the names that a directory of the guest may have no more, in order: those that it hides,
// those that it had when both sides last agreed, and where another directory has taken the place of
// the host's, all that the host has. shown are the names that it has.
func (p *planner) gone(a *item, d dir, shown map[string]bool) []string {
	var names, all []string
	if o := a.node.Origin; o == nil || o.Path != a.path {
		all, _ = d.names() // what cannot be read stays
	}
	come := p.come(a.node, a.path)
	for _, list := range [3][]string{a.node.Whiteouts, p.byDir[a.path], all} {
		for _, name := range list {
			if !shown[name] && !come[name] && sqlvfs.ValidName(name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// showsHost tells whether a directory of the guest shows what the host has there, but for what it hides: then nothing that it does not hide
// is gone, whatever both sides have agreed on.
func (p *planner) showsHost(in *item) bool {
	if in.node == nil || !p.sameTree || p.exports {
		return false
	}
	o := in.node.Origin
	return o != nil && o.Base == p.name && o.Path == in.path
}

// come reports which names a directory shows of the host's, from where the guest has renamed it.
func (p *planner) come(n *sqlvfs.Node, at string) map[string]bool {
	come := map[string]bool{}
	o := n.Origin
	if o == nil || o.Path == at || o.Base != p.name {
		return come
	}
	from, err := p.host.read(o.Path)
	if err != nil {
		return come // that is reported when they are gathered
	}
	defer from.close()
	names, _ := from.names()
	for _, name := range names {
		come[name] = !slices.Contains(n.Whiteouts, name)
	}
	return come
}

// gatherGone gathers what the guest has removed from a directory. The error is one that ends the run.
func (p *planner) gatherGone(in *item, d dir, names []string) error {
	for _, name := range names {
		if err := p.interrupted(); err != nil {
			return err
		}
		a := &item{path: join(in.path, name), in: in}
		st, err := d.stat(name)
		if p.ofGit(a.path) {
			continue
		}
		if err != nil {
			p.policy.fail(a, err)
			continue
		}
		p.meet(a, &st)
		a.was = p.baselineOf(a)
		if a.there == 0 {
			p.addItem(a)
			continue
		}
		hidden := in.node != nil && slices.Contains(in.node.Whiteouts, name)
		if !hidden && (p.showsHost(in) || a.was == nil || a.there != unix.S_IFDIR && p.hostChanged(a)) {
			continue // the guest sees it, or it is the host's alone, perhaps after both have removed what was there before
		}
		if skipped(a.path) != "" || d.hasDatabase(name, &st) {
			continue
		}
		if p.hides(a.path, a.now) {
			p.leaveHidden(a, a.path)
			continue
		}
		if err := p.gatherRemoval(a, false); err != nil {
			return err
		}
	}
	return nil
}

// gatherRemoval gathers what the host has at a path that the guest has removed, all that is below it first.
// What the guest never saw, or saw otherwise, is in conflict. With seen, it is known that the guest has all
// of it, in another place.
func (p *planner) gatherRemoval(a *item, seen bool) error {
	if seen {
		a.was = &sqlvfs.Baseline{Mode: a.host.Mode, Fingerprint: a.now}
	}
	if a.there != unix.S_IFDIR {
		p.addItem(a)
		return nil
	}
	d, err := p.openThere(a)
	if err != nil {
		p.policy.fail(a, err)
		return nil
	}
	names, err := d.names()
	if err != nil {
		d.close()
		p.policy.fail(a, err)
		return nil
	}
	var below []*item
	for _, name := range names {
		c := &item{path: join(a.path, name), in: a}
		st, err := d.stat(name)
		switch {
		case err != nil:
			p.policy.fail(c, err)
		case st.Mode == 0: // it is gone meanwhile
		case d.hasDatabase(name, &st) || skipped(c.path) != "" || p.ofGit(c.path):
			p.leave(c)
		case p.hides(c.path, hostfs.Fingerprint(&st)):
			p.leaveHidden(c, c.path)
		default:
			p.meet(c, &st)
			c.was = p.baselineOf(c)
			below = append(below, c)
		}
	}
	d.close()
	for _, c := range below {
		if err := p.interrupted(); err != nil {
			return err
		}
		if err := p.gatherRemoval(c, seen || p.live(c.path)); err != nil {
			return err
		}
	}
	p.addItem(a)
	if len(names) == 0 && a.was == nil { // an empty directory that only the host knows
		a.decision.Kind = classify.Conflict
	}
	return nil
}

// live reports whether the guest sees an untouched object of the host, in a directory that it has
// renamed.
func (p *planner) live(rel string) bool {
	for rel != "." && p.sameTree {
		dir, name := parent(rel)
		if n := p.origins[dir]; n != nil {
			return n.Attr.IsDir() && p.places[n.Ino] != dir && p.tree.Child(n, name) == nil && !slices.Contains(n.Whiteouts, name)
		}
		rel = dir
	}
	return false
}
