package fs

import (
	"strings"

	"github.com/riverlytech/art/sqlvfs"
)

// A session mounts over directories and files of the tree, and layers have their place in the root. All of these stay when the tree
// goes back: forgetting the name of what is mounted on would unmount it (d_invalidate in fs/dcache.c).

// KeepPlaces says where something is mounted, by paths below the root. It is to be called once, before the tree goes back.
func (o *Overlay) KeepPlaces(paths []string) { o.places = paths }

// keepPlace has a place, and the directories above it, be there as before for the kernel, whatever rows they have now.
func (w *wayBack) keepPlace(path string) {
	p := w.nodes[RootIno]
	for name := range strings.SplitSeq(path, "/") {
		n := w.placed[dentry{p, name}]
		if n == nil || n.in == nil || p.in == nil || w.kept[dentry{p, name}] && n.in.Attr.Nlink == 0 {
			return // it is the base's
		}
		c, ok, _, err := w.db.Child(p.in, name)
		switch {
		case err != nil:
			return
		case ok && c.Ino != n.in.Ino:
			err = w.exchangeRow(n, c.Ino)
		case !ok && n.in.Attr.Nlink == 0:
			err = w.relink(p, name, n.in)
		}
		if err != nil {
			return
		}
		w.kept[dentry{p, name}] = true
		p = n
	}
}

// findPlaces finds the nodes of places, before the tree goes back.
func (t *tx) findPlaces() {
	t.placed = map[dentry]*node{}
	for _, path := range t.places {
		p := t.nodes[RootIno]
		for name := range strings.SplitSeq(path, "/") {
			if p.in == nil {
				break
			}
			c, ok, _, err := t.db.Child(p.in, name)
			if err != nil || !ok {
				break
			}
			n := t.liveChild(c)
			if n == nil {
				break
			}
			t.placed[dentry{p, name}] = n
			p = n
		}
	}
}

// liveChild returns the node of an entry of the delta; nil: it is not live.
func (t *tx) liveChild(c sqlvfs.Child) *node {
	for _, number := range []Ino{Ino(c.Number), Ino(c.Ino), t.elsewhere[Ino(c.Ino)]} {
		if n := t.nodes[number]; n != nil && n.in != nil && n.in.Ino == c.Ino {
			return n
		}
	}
	return nil
}

// exchangeRow has a node show another row, unless another node does.
func (w *wayBack) exchangeRow(n *node, row sqlvfs.Ino) error {
	in, err := w.db.Get(row)
	if err != nil {
		return err
	}
	if other := w.rows[row]; other != nil && other.in == in || w.nodeOf(in, in.Number()) != nil {
		w.db.Put(in)
		return nil
	}
	was := n.in
	n.in = in
	w.displace(Ino(in.Ino), n)
	w.db.Put(was)
	w.rows[row] = n
	w.place(n, was.Origin)
	w.content = append(w.content, n)
	return nil
}

// relink gives an inode that has lost its name that again.
func (w *wayBack) relink(p *node, name string, in *sqlvfs.Inode) error {
	if err := w.db.ClearWhiteout(p.in, name); err != nil {
		return err
	}
	if in.Attr.Nlink = 1; in.Attr.IsDir() {
		in.Attr.Nlink = 2
		addSubdirectory(p, 1)
	}
	w.db.Dirty(in)
	w.db.Dirty(p.in)
	if in.Origin != nil {
		w.db.SetOrigin(in, in.Origin)
	}
	return w.db.Link(p.in, name, in)
}

// keepRoot has the root of a layer have a row: the one that there is now, or one as if nothing had been changed in the layer yet.
func (w *wayBack) keepRoot(n *node) {
	was := n.in
	c, ok, _, err := w.db.Child(w.db.Root(), w.name)
	if err == nil && ok {
		if n.in, err = w.db.Get(c.Ino); err == nil {
			w.db.Put(was)
		} else {
			n.in = was
		}
	}
	if err == nil && !ok {
		err = w.relink(&node{in: w.db.Root()}, w.name, was)
	}
	if err != nil {
		w.logf("the layer %s: %v", w.name, err)
	}
	w.content = append(w.content, n)
}
