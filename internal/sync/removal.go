package sync

import (
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// gone lists the names that a directory of the guest may have no more, in order: those that it hides,
// those that it had when both sides last agreed, and where another directory has taken the place of
// the host's, all that the host has. shown are the names that it has.
func (p *planner) gone(a *action, d thereDir, shown map[string]bool) []string {
	var names, all []string
	if o := a.node.Origin; d.f != nil && (o == nil || o.Path != a.path) {
		all, _ = entries(d.f) // what cannot be read stays
	}
	for _, list := range [3][]string{a.node.Whiteouts, p.byDir[a.path], all} {
		for _, name := range list {
			if !shown[name] && sqlvfs.ValidName(name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// planRemovals plans to remove from a directory what the guest has removed from it. The error is
// one that ends the run.
func (p *planner) planRemovals(dir *action, d thereDir, names []string) error {
	for _, name := range names {
		if err := p.interrupted(); err != nil {
			return err
		}
		a := &action{do: remove, path: join(dir.path, name), in: dir}
		st, err := d.stat(name)
		if err != nil {
			p.settle.fail(a, err)
			continue
		}
		p.meet(a, &st)
		a.was = p.baselineOf(a)
		if a.there == 0 {
			if p.limit.has(a.path) {
				a.do, a.agreed, a.done = keep, true, true
				p.actions = append(p.actions, a)
			}
			continue
		}
		if !slices.Contains(dir.node.Whiteouts, name) && (a.was == nil || a.there != unix.S_IFDIR && p.hostChanged(a)) {
			continue // it is the host's alone, perhaps after both have removed what was there before
		}
		if skipped(a.path) != "" || p.host.db.has(d.self, name, &st) {
			continue
		}
		if err := p.planRemoval(a, false); err != nil {
			return err
		}
	}
	return nil
}

// planRemoval plans to remove what the host has at a path, with all that is below it. What the
// guest never saw, or saw otherwise, is a conflict. With seen, it is known that the guest has all of
// it, in another place.
func (p *planner) planRemoval(a *action, seen bool) error {
	if a.there != unix.S_IFDIR {
		if !seen && p.hostChanged(a) && !p.settleConflict(a) {
			return nil
		}
		if p.permitted(a) {
			p.add(a)
		}
		return nil
	}
	known := seen || a.was != nil || p.force()
	d, err := p.openThere(a, true)
	if err != nil {
		p.settle.fail(a, err)
		return nil
	}
	names, err := entries(d.f)
	if err != nil {
		d.close()
		p.settle.fail(a, err)
		return nil
	}
	var below []*action
	var live []bool
	for _, name := range names {
		c := &action{do: remove, path: join(a.path, name), in: a}
		st, err := d.stat(name)
		if err != nil {
			p.settle.fail(c, err)
			continue
		}
		if st.Mode == 0 {
			continue
		}
		if p.host.db.has(d.self, name, &st) || skipped(c.path) != "" {
			p.leave(c)
			continue
		}
		p.meet(c, &st)
		c.was = p.baselineOf(c)
		below, live = append(below, c), append(live, seen || p.live(c.path))
	}
	d.close()
	if len(names) == 0 && !known && !p.settleConflict(a) {
		return nil // an empty directory that only the host knows
	}
	for i, c := range below {
		if err := p.interrupted(); err != nil {
			return err
		}
		if err := p.planRemoval(c, live[i]); err != nil {
			return err
		}
	}
	if !a.incomplete && p.permitted(a) {
		p.add(a)
	}
	return nil
}

// planReplaced plans to remove a directory of the host that something else takes the place of.
func (p *planner) planReplaced(a *action) bool {
	r := &action{do: remove, path: a.path, in: a.in, there: a.there, host: a.host, now: a.now, was: a.was}
	a.instead = r
	err := p.planRemoval(r, false)
	if err != nil || r.incomplete || r.failed {
		p.leave(a)
		return false
	}
	return true
}

// live tells whether the guest sees an untouched object of the host, in a directory that it has
// renamed.
func (p *planner) live(rel string) bool {
	for rel != "." && p.sameTree {
		dir, name := path.Dir(rel), path.Base(rel)
		if n := p.origins[dir]; n != nil {
			return n.Attr.IsDir() && p.places[n.Ino] != dir && p.tree.Child(n, name) == nil && !slices.Contains(n.Whiteouts, name)
		}
		rel = dir
	}
	return false
}

func (p *planner) force() bool { return p.opt.Force }
