package reconcile

import (
	"cmp"
	"maps"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/reconcile/classify"
	"github.com/riverlytech/art/sqlvfs"
)

// Names that are hard links of each other, on one of the sides, are one object: what is decided about the
// content of one holds for all.
//
// A host file with several names is one inode in the guest too. When the guest changes it under one
// name, the database has a row for that name alone; the others still show through from the host,
// and show the change. Replacing one name on the host would tear them apart: so the others become
// names of the new file. So do names that come along with a directory which the guest renames; those become names of the host's file where
// that stays under another one.

// gatherLinks finds the names that show through of files that the guest wrote to, in one walk over the
// workspace, and has names of one object share what is in conflict.
func (p *planner) gatherLinks(root *item) error {
	first := map[object]*item{}
	for _, a := range p.items {
		if a.node == nil || !a.attr.IsRegular() || a.attr.Nlink < 2 && (a.there == 0 || a.host.Nlink < 2) {
			continue
		}
		if o := a.node.Origin; o != nil && o.Base == p.name && p.sameTree && rewritten(a) {
			first[objectAt(o.Fingerprint)] = a
		}
	}
	moved, nameless := p.linkMoved(), p.nameless()
	if len(first)+len(moved)+len(nameless) > 0 {
		if err := p.gatherNames(root, ".", first, moved, nameless); err != nil {
			return err
		}
	}
	p.keepLast()
	p.shareConflicts()
	return nil
}

// rewritten reports whether the host's file is to be replaced, or would be but for a conflict.
func rewritten(a *item) bool {
	d := a.decision
	return !a.gone() && (d.Pull() || d.Conflict())
}

// nameless returns the files that the guest has changed by names which it has removed since. They show by other names of the host's file.
func (p *planner) nameless() map[object]*sqlvfs.Node {
	list := map[object]*sqlvfs.Node{}
	if !p.sameTree {
		return list
	}
	for _, n := range p.origins {
		if p.named[n.Ino] == 0 && n.Attr.IsRegular() && n.Attr.Nlink > 0 && p.guestChanged(&item{node: n, was: p.agreedRow(n)}) {
			list[objectAt(n.Origin.Fingerprint)] = n
		}
	}
	return list
}

// gatherNames finds the host's names of files that the guest sees: those of what was rewritten, for what was moved one that stays, and
// those by which a file shows that has none of its own.
func (p *planner) gatherNames(root *item, rel string, first, moved map[object]*item, nameless map[object]*sqlvfs.Node) error {
	d, err := p.host.read(rel)
	var names []string
	if err == nil {
		names, err = d.names()
	}
	if err != nil {
		p.policy.lacking(&item{path: rel}, err)
	}
	var below []string
	for _, name := range names {
		if err := p.interrupted(); err != nil {
			d.close()
			return err
		}
		st, err := d.stat(name)
		at := join(rel, name)
		if err != nil || skipped(at) != "" || d.hasDatabase(name, &st) {
			continue
		}
		if kind(st.Mode) == unix.S_IFDIR {
			below = append(below, at)
			continue
		}
		of := objectOf(&st)
		f, m, row := first[of], moved[of], nameless[of]
		if (f == nil || f.path == at) && m == nil && row == nil {
			continue
		}
		if n, from := p.guestAt(at); n != nil || from != at {
			continue
		}
		if row != nil && f == nil && p.showsRow(root, at, &st, row, first) || f == nil && m == nil {
			continue
		}
		a := &item{path: at, in: root, attr: attrOf(&st)}
		p.meet(a, &st)
		if m != nil {
			p.copies[a.now] = a
			continue
		}
		a.decision = f.decision
		p.linkTo(a, f, a.now)
		p.items = append(p.items, a)
	}
	d.close()
	for _, at := range below {
		if err := p.gatherNames(root, at, first, moved, nameless); err != nil {
			return err
		}
	}
	return nil
}

// showsRow has a name of the host's show a file of the guest's that has none of its own. It returns false if the host has the same.
func (p *planner) showsRow(root *item, at string, st *unix.Stat_t, row *sqlvfs.Node, first map[object]*item) bool {
	a := &item{path: at, in: root, node: row, attr: row.Attr, xattrs: row.Xattrs, was: p.agreedRow(row)}
	p.meet(a, st)
	before := len(p.items)
	p.gatherFile(a)
	if !rewritten(a) {
		p.items = p.items[:before]
		return false
	}
	first[objectOf(st)], p.showing[row.Ino] = a, true
	if a.source != "" { // the host's file has this name too, and keeps it
		a.source = at
	}
	return true
}

// agreedRow returns what both sides last agreed of a row, by whatever name it had then.
func (p *planner) agreedRow(row *sqlvfs.Node) *sqlvfs.Baseline {
	if at, ok := p.rowPaths[row.Ino]; ok {
		return p.base[at]
	}
	return row.Baseline()
}

// linkTo has an item be another name of a row's, since it shows through from an object of the host, which is now, that the row stands for.
func (p *planner) linkTo(a, row *item, now sqlvfs.Fingerprint) {
	a.link, a.attr = row, row.attr
	if d := &a.decision; a.there == unix.S_IFREG && d.Kind == classify.Guest { // the name of the row is new, this one is not
		d.Kind, d.Content = classify.Agreed, classify.Guest
	}
	if o := row.node.Origin; o.Size != now.Size || o.Mtime != now.Mtime {
		a.decision.Content, a.decision.Host = classify.Conflict, classify.Written
	}
}

// linkMoved has files that a directory which the guest has renamed shows be names of the rows that stand for them, or of the host's files
// that these leave in place. It returns the others that have more names than came along: what stays of these is found by gatherNames.
func (p *planner) linkMoved() map[object]*item {
	rows, moved, names := map[object]*item{}, map[object]*item{}, map[object]uint32{}
	for _, a := range p.items {
		if a.node == nil || !a.attr.IsRegular() || a.node.Origin == nil || a.node.Origin.Base != p.name || !p.sameTree {
			continue
		}
		if of := objectAt(a.node.Origin.Fingerprint); rows[of] == nil {
			rows[of] = a
		}
	}
	var linked []*item // after the rows, by which they are decided
	p.items = slices.DeleteFunc(p.items, func(a *item) bool {
		if a.node != nil || a.from == "" || !a.attr.IsRegular() || a.attr.Nlink < 2 {
			return false
		}
		of := objectAt(a.version)
		row := rows[of]
		switch {
		case row != nil && rewritten(row):
			p.linkTo(a, row, a.version)
			linked = append(linked, a)
			return true
		case !p.linkable(a):
		case row != nil && objectAt(row.now) == of:
			p.copies[a.version] = row
		default:
			moved[of] = a
			names[of]++
		}
		return false
	})
	p.items = append(p.items, linked...)
	maps.DeleteFunc(moved, func(of object, a *item) bool { return names[of] == a.attr.Nlink })
	return moved
}

// linkable tells whether the host's file that an item shows may get another name at the item's path: link(2) gives none across mounts, nor
// to files of others, and what lends its caller rights gets none.
func (p *planner) linkable(a *item) bool {
	if a.attr.Mode&setID != 0 || !p.asRoot && a.attr.UID != uint32(os.Geteuid()) {
		return false
	}
	d := a.in
	for d.there != unix.S_IFDIR {
		d = d.in
	}
	return d.now.Dev == a.version.Dev && p.items[0].now.Dev == a.version.Dev
}

func objectAt(f sqlvfs.Fingerprint) object { return object{f.Dev, f.Ino} }

// findPlaced finds the names of rows with several that the host has as the guest has them: the others become names of these files.
func (p *planner) findPlaced() {
	for _, a := range p.items {
		if a.node == nil || a.attr.Nlink < 2 || a.there != unix.S_IFREG || !a.attr.IsRegular() || p.files[a.node.Ino] != nil || p.guestChanged(a) {
			continue
		}
		if d := a.decision; d.Kind == classify.Agreed && d.Content == classify.Agreed {
			p.files[a.node.Ino] = a
		}
	}
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
			a.conflict = cmp.Or(a.conflict, p.why(a))
			todo = append(todo, a)
		}
	}
	for _, names := range rows {
		p.shareAttributes(names)
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

// keepLast makes a conflict of what would take away the last name of a file on the host, one with several names
// of which each side has removed or replaced some: neither meant to give up the content.
func (p *planner) keepLast() {
	rows := map[sqlvfs.Ino][]*item{}
	for _, a := range p.items {
		if n := a.row(); n != nil {
			rows[n.Ino] = append(rows[n.Ino], a)
		}
	}
	for _, a := range p.items {
		d := &a.decision
		if a.there != unix.S_IFREG || a.host.Nlink > 1 || a.was == nil || d.Kind != classify.Guest && d.Content != classify.Guest {
			continue
		}
		n := p.tree.Node(a.was.Row)
		if n == nil {
			n = p.origins[a.path]
		}
		if n != nil && n != a.row() && n.Attr.IsRegular() && n.Attr.Nlink > 0 && !p.livesOn(n, a, rows[n.Ino]) {
			a.conflict = manyNames
			if d.Kind == classify.Guest {
				d.Kind = classify.Conflict
			} else {
				d.Content = classify.Conflict
			}
		}
	}
}

// livesOn reports whether what both sides had at a's path, of which the guest has removed this name, stays under
// another one, or was given up by the guest, which has written to it.
func (p *planner) livesOn(n *sqlvfs.Node, a *item, names []*item) bool {
	another := func(at string) bool { return at != a.path }
	switch {
	case p.named[n.Ino] == 0:
		return false
	case !slices.ContainsFunc(p.basePaths(n.Ino), another) && (n.Origin == nil || !another(n.Origin.Path)):
		return true // it had this name alone
	case slices.ContainsFunc(names, func(b *item) bool { return b.decision.Guest&classify.Written != 0 }):
		return true
	case len(names) > 0 && !slices.ContainsFunc(names, func(b *item) bool {
		return b.decision.Kind != classify.Host && b.decision.Content != classify.Host
	}):
		return false
	}
	b := &item{path: a.path, there: a.there, host: a.host, now: a.now}
	b.has(n)
	same, err := p.equalContent(b)
	return err == nil && same
}

// basePaths returns the paths that have a baseline of a row.
func (p *planner) basePaths(ino sqlvfs.Ino) []string {
	if p.pathsOf == nil {
		p.pathsOf = map[sqlvfs.Ino][]string{}
		for at, b := range p.base {
			p.pathsOf[b.Row] = append(p.pathsOf[b.Row], at)
		}
	}
	return p.pathsOf[ino]
}

const manyNames = "it has several names, of which each side has removed others"

// shareAttributes gives a row's new names what the host has changed of the object beside its content.
func (p *planner) shareAttributes(names []*item) {
	for _, a := range names {
		d := a.decision
		if a.there != unix.S_IFREG || d.Mode != classify.Host && d.Owner != classify.Host && d.Xattrs != classify.Host {
			continue
		}
		for _, b := range names {
			if b.there == 0 {
				b.decision.Mode, b.decision.Owner, b.decision.Xattrs = d.Mode, d.Owner, d.Xattrs
				p.mergeAttributes(b, a)
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
