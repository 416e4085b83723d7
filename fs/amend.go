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
	moved := false
	for _, n := range t.nodes {
		if n.in == nil {
			continue
		}
		if changed[n.in.Ino] {
			if n.base != nil && n.in.Attr.IsDir() && n.in.Attr.Nlink == 0 {
				n.base.gone = true // as in unlink
			}
			moved = t.refer(n) || moved
			t.cache.InvalidateAttr(n.ino)
		}
		if contents[n.in.Ino] {
			t.pending.inode(n)
		}
		if list := names[n.in.Ino]; list != nil {
			t.dropList(n)
			t.pending.inode(n)
			cache, dir := t.cache, n.ino
			for _, name := range list {
				forget = append(forget, func() { cache.InvalidateEntry(dir, name) })
			}
		}
	}
	if moved {
		t.repathAll()
	}
	return forget
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
