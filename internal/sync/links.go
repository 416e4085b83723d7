package sync

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/sync/classify"
	"github.com/riverlytech/art/sqlvfs"
)

// Names that are hard links of each other, on one of the sides, are one object: what is decided about the
// content of one holds for all.
//
// A host file with several names is one inode in the guest too. When the guest changes it under one
// name, the database has a row for that name alone; the others still show through from the host,
// and show the change. Replacing one name on the host would tear them apart: so the others become
// names of the new file.

// gatherLinks finds the names that show through of files that the guest wrote to, in one walk over the
// workspace, and has names of one object share what is in conflict.
func (p *planner) gatherLinks(root *item) error {
	first := map[object]*item{}
	for _, a := range p.items {
		if a.node == nil || !a.attr.IsRegular() || a.attr.Nlink < 2 && (a.there == 0 || a.host.Nlink < 2) {
			continue
		}
		if o := a.node.Origin; o != nil && o.Base == p.name && p.sameTree && rewritten(a) {
			first[object{o.Dev, o.Fingerprint.Ino}] = a
		}
	}
	if len(first) > 0 {
		if err := p.gatherNames(root, ".", first); err != nil {
			return err
		}
	}
	p.shareConflicts()
	return nil
}

// rewritten tells whether the host's file is to be replaced, or would be but for a conflict.
func rewritten(a *item) bool {
	d := a.decision
	return !a.gone() && (d.Pull() || d.Conflict())
}

// gatherNames finds the host's names of files that the guest sees.
func (p *planner) gatherNames(root *item, rel string, first map[object]*item) error {
	d, err := p.host.openDir(rel)
	if err != nil {
		p.settle.lacking(&item{path: rel}, err)
		return nil
	}
	self, err := fstat(d)
	var names []string
	if err == nil {
		names, err = entries(d)
	}
	if err != nil {
		p.settle.lacking(&item{path: rel}, err)
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
		f := first[objectOf(&st)]
		if f == nil || f.path == at || !p.showsThrough(at) {
			continue
		}
		a := &item{path: at, in: root, attr: f.attr, link: f}
		p.meet(a, &st)
		a.decision = f.decision
		if o := f.node.Origin; o.Fingerprint.Size != st.Size || o.Fingerprint.Mtime != timespec(st.Mtim) {
			a.decision.Content, a.decision.Host = classify.Conflict, classify.Written
		}
		p.items = append(p.items, a)
	}
	d.Close()
	for _, at := range below {
		if err := p.gatherNames(root, at, first); err != nil {
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

// shareConflicts has a conflict about the content of a file hold for all of its names whose content would
// change.
func (p *planner) shareConflicts() {
	rows, objects := map[sqlvfs.Ino][]*item{}, map[object][]*item{}
	var todo []*item
	for _, a := range p.items {
		if a.gone() || !a.attr.IsRegular() {
			continue
		}
		if n := a.row(); n != nil && a.attr.Nlink > 1 {
			rows[n.Ino] = append(rows[n.Ino], a)
		}
		if a.there == unix.S_IFREG && a.host.Nlink > 1 {
			objects[object{a.now.Dev, a.now.Ino}] = append(objects[object{a.now.Dev, a.now.Ino}], a)
		}
		if d := a.decision; d.Kind == classify.Conflict || d.Content == classify.Conflict {
			a.conflict = p.why(a)
			todo = append(todo, a)
		}
	}
	for len(todo) > 0 {
		a := todo[0]
		todo = todo[1:]
		var names []*item
		if n := a.row(); n != nil {
			names = append(names, rows[n.Ino]...)
		}
		names = append(names, objects[object{a.now.Dev, a.now.Ino}]...)
		for _, b := range names {
			if d := &b.decision; b.conflict == "" && (d.Kind == classify.Guest || d.Content == classify.Guest) {
				b.conflict, d.Content = a.conflict, classify.Conflict
				todo = append(todo, b)
			}
		}
	}
}

// row returns the row that an item shows, if any.
func (a *item) row() *sqlvfs.Node {
	if a.link != nil {
		return a.link.node
	}
	return a.node
}
