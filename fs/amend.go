package fs

import (
	"syscall"

	"github.com/riverlytech/art/sqlvfs"
)

// Amend makes changes that another process has decided on beside the session, see [sqlvfs.Tx.Amend], as one step of all
// overlays of a store, and has the kernel follow.
func Amend(store *sqlvfs.Store, overlays []*Overlay, c *sqlvfs.Changes, k *sqlvfs.Intake) error {
	return hold(store, overlays, k, func(amend func(*sqlvfs.Changes) error) error { return amend(c) })
}

// Freeze is [sqlvfs.Store.Freeze] of a store that overlays show: what is decided on that commit may remove files of the host
// that are open in a session.
func Freeze(store *sqlvfs.Store, overlays []*Overlay, f func()) error {
	return store.Freeze(func() {
		for _, o := range overlays {
			o.keepRemoved()
		}
		f()
	})
}

// Hold runs f as one step of all overlays of a store: no operation of theirs goes on before f has returned. f may call
// amend, as [Amend] for the step, which makes no files.
func Hold(store *sqlvfs.Store, overlays []*Overlay, f func(amend func(*sqlvfs.Changes) error) error) error {
	return hold(store, overlays, nil, f)
}

func hold(store *sqlvfs.Store, overlays []*Overlay, k *sqlvfs.Intake, f func(amend func(*sqlvfs.Changes) error) error) error {
	var forget []func()
	err := store.Update(func(db *sqlvfs.Tx) error {
		for _, o := range overlays {
			o.tx.keepRemoved()
		}
		return f(func(c *sqlvfs.Changes) error {
			done, err := db.Amend(c, k)
			for _, o := range overlays {
				o.tx.db = db
				forget = append(forget, o.tx.amended(done)...)
				o.tx.db = nil
			}
			return err
		})
	})
	for _, entry := range forget {
		entry() // waits for operations
	}
	return err
}

// amended brings up to date what is known of nodes whose rows were changed beside the overlay. It returns what is to have
// the kernel forget entries, once no step is running.
func (t *tx) amended(done sqlvfs.Amended) (forget []func()) {
	t.amends++
	changed := map[sqlvfs.Ino]bool{}
	for _, ino := range done.Inodes {
		changed[ino] = true
	}
	contents := map[sqlvfs.Ino]bool{}
	for _, ino := range done.Contents {
		contents[ino] = true
	}
	names := map[sqlvfs.Ino][]string{}
	for _, w := range done.Names {
		names[w.Dir] = append(names[w.Dir], w.Name)
	}
	inUse := map[sqlvfs.Ino]sqlvfs.Release{}
	for _, r := range done.InUse {
		inUse[r.Ino] = r
	}
	moved := false
	var used, renamed []dentry
	var removed []*node
	for _, n := range t.nodes {
		if n.in == nil {
			continue
		}
		if r, ok := inUse[n.in.Ino]; ok {
			if t.releases == nil {
				t.releases = map[sqlvfs.Ino]sqlvfs.Release{}
			}
			t.releases[r.Ino] = r
			used = append(used, dentry{n, r.Name})
		}
		if changed[n.in.Ino] {
			if n.base != nil && n.in.Attr.IsDir() && n.in.Attr.Nlink == 0 {
				n.base.gone = true // as in unlink
				if !n.deadDir {
					removed = append(removed, n)
				}
			}
			moved = t.refer(n) || moved
			t.noteRemoved(n)
			t.cache.InvalidateAttr(n.ino)
		}
		if contents[n.in.Ino] {
			t.pending.inode(n)
		}
		if list := names[n.in.Ino]; list != nil {
			t.dropList(n)
			t.pending.inode(n)
			for _, name := range list {
				renamed = append(renamed, dentry{n, name})
			}
		}
	}
	same := t.fallBack(removed)
	cache := t.cache
	for _, d := range renamed {
		if dir, name := d.dir.ino, d.name; !same[d] {
			forget = append(forget, func() { cache.InvalidateEntry(dir, name) })
		}
	}
	if moved {
		t.repathAll()
	}
	if len(used) > 0 {
		forget = append(forget, t.letGoOf(used))
	}
	return forget
}

// fallBack has directories whose rows were removed be those of the base that show in their place now, so that programs that are in
// them go on there. It returns the names that mean what they did.
func (t *tx) fallBack(removed []*node) (same map[dentry]bool) {
	same = map[dentry]bool{}
	if len(removed) == 0 {
		return same
	}
	w := newWayBack(t)
	for _, n := range parentsFirst(removed) {
		if w.fallBack(n); n.in == nil {
			same[dentry{n.base.parent, n.base.name}] = true
			t.dropList(n)
			t.pending.inode(n)
		}
	}
	return same
}

// letGoOf returns what has the kernel let go of inodes that nobody uses, so that their entries can go. Those that it keeps are
// released when it forgets them.
func (t *tx) letGoOf(used []dentry) func() {
	cache := t.cache
	var inos, dirs []Ino
	for _, u := range used {
		inos, dirs = append(inos, u.dir.ino), append(dirs, u.dir.parentIno)
	}
	return func() {
		if cache.Prune(inos) == nil {
			return
		}
		for i, u := range used { // before Linux 6.18
			cache.InvalidateEntry(dirs[i], u.name)
		}
	}
}

// released removes a node's entry, which the kernel has forgotten, if the host has the same.
func (t *tx) released(n *node) {
	r, ok := t.releases[n.in.Ino]
	if !ok {
		return
	}
	delete(t.releases, r.Ino)
	if done, _, err := t.db.Release(&r); err != nil || !done {
		return // it is a row like others then
	}
	if p := t.nodes[n.parentIno]; p != nil && p.in != nil && p.in.Ino == r.Dir {
		t.dropList(p)
		t.pending.inode(p)
	}
}

// refer has a node have its place in the base where its row's origin is, and tells whether that is another one.
func (t *tx) refer(n *node) (moved bool) {
	o := n.in.Origin
	if o == nil || o.Base != t.name || t.host == nil || n.gone() {
		return false
	}
	if n.base == nil {
		n.base = &base{path: o.Path}
		t.dropList(n)
		t.pending.inode(n)
		return false
	}
	n.base.refused = sqlvfs.Fingerprint{}
	if n.base.path == o.Path || n.base.path == top {
		return false
	}
	t.closeFile(n)
	t.dropList(n)
	n.base.path = o.Path
	if n.in.Attr.IsDir() {
		t.revoke(n)
	}
	return true
}

// repathAll corrects where untouched nodes are in the base, after the place of a directory above some has changed.
func (t *tx) repathAll() {
	was := map[*node]string{}
	for _, n := range t.nodes {
		if n.in == nil && !n.base.gone {
			was[n] = n.base.path
		}
	}
	for n := range was {
		n.repath()
	}
	for n, path := range was {
		if n.base.path != path && n.base.attr.Mode&syscall.S_IFMT == syscall.S_IFDIR {
			t.dropList(n)
			t.revoke(n)
		}
	}
}
