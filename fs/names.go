package fs

import (
	"strings"
	"syscall"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/sqlvfs"
)

// A row that stands for a file of the host has some names by entries of the delta, and the others because the host shows the file by them. It
// counts those that there were when it was made. What the host links since is found when it is looked up, as everything is before it is
// removed or renamed.

// countName has a row count a path in the base by which it was found, and not by an entry, where the host has as many names of the object as
// links says. It never counts less than the entries that lead to it and the names that have shown it: or the last of these that is removed
// would take the row with it while entries lead there.
func (t *tx) countName(n *node, path string, links uint32) error {
	if t.db.ReadOnly() {
		return nil
	}
	entries, err := t.db.Entries(n.in)
	if err != nil {
		return err
	}
	if n.base.names == nil {
		n.base.names = map[string]bool{}
	}
	n.base.names[path] = true
	if most := uint32(entries) + min(uint32(len(n.base.names)), links); n.in.Attr.Nlink < most {
		n.in.Attr.Nlink = most
		t.db.Dirty(n.in)
		t.pending.inode(n) // entries that are listed with it may have shown the count of before
	}
	return nil
}

// uncountName notes that the base shows a node by a name no more.
func (t *tx) uncountName(p *node, name string, n *node) {
	if path, ok := t.baseChild(p, name); ok && n.base != nil {
		delete(n.base.names, path)
	}
}

// recount has a row that is about to lose a name count no names any more that the host has removed since: it would stay without any. That the
// host's own name of its origin is hidden, an entry says, or a whiteout.
func (t *tx) recount(n *node, from dentry) error {
	if n.in == nil || n.in.Attr.Nlink < 2 || n.in.Origin == nil || n.in.Attr.IsDir() || !n.inBase() {
		return nil
	}
	now, err := t.lstat(n.base.path)
	if err != nil || now.err != nil || !hostfs.SameObject(now.fp, n.in.Origin.Fingerprint) {
		return err
	}
	entries, err := t.db.Entries(n.in)
	if err != nil {
		return err
	}
	entry, err := t.hasEntry(from, n)
	most := uint32(entries) + now.attr.Nlink - 1
	if !entry {
		most = max(most, uint32(entries)+1) // the host may have removed just this one
	}
	if err == nil && n.in.Attr.Nlink > most {
		n.in.Attr.Nlink = most
		t.db.Dirty(n.in)
	}
	return err
}

// KeepNames has entries of the delta lead to rows by those paths of a workspace at which the base shows them. What the host gets there is another
// file then, see [sqlvfs.Store.NamesToKeep].
func KeepNames(overlays []*Overlay, workspace sqlvfs.Tree, paths []string) error {
	for _, o := range overlays {
		if o.host == nil || o.tree() != workspace {
			continue
		}
		for _, path := range paths {
			if err := o.update(nobody, func(t *tx) error { return t.keepName(path) }); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *tx) keepName(path string) error {
	way := strings.Split(path, "/")
	if !t.inner {
		way = append([]string{t.name}, way...)
	}
	name := way[len(way)-1]
	p := t.nodes[RootIno]
	n := p
	for _, next := range way {
		var err error
		p = n
		if n, err = t.lookup(p, next); oneOf(err, syscall.ENOENT, syscall.ENOTDIR) {
			return nil
		} else if err != nil {
			return err
		}
	}
	if at, ok := t.baseChild(p, name); !ok || at != path || n.in == nil {
		return nil // what is there is another one, or has no row
	}
	if err := t.copyUp(p); err != nil {
		return err
	}
	if entry, err := t.hasEntry(dentry{p, name}, n); entry || err != nil {
		return err
	}
	seen := t.baseline(n)
	if err := t.db.Link(p.in, name, n.in); err != nil {
		return err
	}
	t.uncountName(p, name, n)
	t.forgetDentry(p, name)
	if seen != nil {
		t.db.AddBaseline(t.tree(), path, seen)
	}
	t.db.Dirty(n.in)
	return nil
}
