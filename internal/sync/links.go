package sync

import (
	"slices"

	"golang.org/x/sys/unix"
)

// A host file with several names is one inode in the guest too. When the guest changes it under one
// name, the database has a row for that name alone; the others still show through from the host,
// and show the change. Replacing one name on the host would tear them apart: so the others become
// names of the new file.

// shareNames notes a file of the database that the guest may see under names of the host's.
func (p *planner) shareNames(a *action) {
	if o := a.node.Origin; o != nil && a.attr.Nlink > 1 && o.Base == p.name && a.do == write {
		p.shared[object{o.Dev, o.Fingerprint.Ino}] = a
	}
}

// planSharedNames finds the host's names of these files, in one walk over the workspace, and plans
// to link those that the guest sees.
func (p *planner) planSharedNames(root *action, rel string) error {
	if len(p.shared) == 0 {
		return nil
	}
	d, err := p.host.openDir(rel)
	if err != nil {
		p.settle.lacking(&action{path: rel}, err)
		return nil
	}
	self, err := fstat(d)
	var names []string
	if err == nil {
		names, err = entries(d)
	}
	if err != nil {
		p.settle.lacking(&action{path: rel}, err)
	}
	var below []string
	for _, name := range names {
		if err := p.interrupted(); err != nil {
			d.Close()
			return err
		}
		st, err := statAt(d, name)
		at := join(rel, name)
		if err != nil || skipped(at) != "" || p.host.db.has(objectOf(&self), name, &st) {
			continue
		}
		if kind(st.Mode) == unix.S_IFDIR {
			below = append(below, at)
			continue
		}
		first := p.shared[objectOf(&st)]
		if first == nil || first.failed || first.path == at || !p.showsThrough(at) {
			continue
		}
		a := &action{do: hardLink, path: at, in: root, attr: first.attr, other: first}
		p.meet(a, &st)
		if p.permitted(a) {
			p.actions = append(p.actions, a)
		}
	}
	d.Close()
	for _, at := range below {
		if err := p.planSharedNames(root, at); err != nil {
			return err
		}
	}
	return nil
}

// showsThrough tells whether the guest sees the host's object at a path: no row has that name, none
// of the directories above hides it, and they are the host's of the same path.
func (p *planner) showsThrough(rel string) bool {
	dir := p.top
	for end := 0; end < len(rel); end++ {
		start := end
		for end < len(rel) && rel[end] != '/' {
			end++
		}
		next := p.tree.Child(dir, rel[start:end])
		if next == nil {
			return !slices.Contains(dir.Whiteouts, rel[start:end])
		}
		dir = next
		if !dir.Attr.IsDir() || dir.Origin == nil || dir.Origin.Path != rel[:end] {
			return false
		}
	}
	return false
}
