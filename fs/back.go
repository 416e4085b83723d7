package fs

import (
	"cmp"
	"slices"
	"strings"
	"syscall"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/sqlvfs"
)

// GoBack has the tree of a store that overlays show go back, see [sqlvfs.Store.GoBack], as one step of all of them, with which the
// kernel's caches agree when the first operation goes on:
//   - A node whose row is another one by now shows that. Who has it open goes on with it.
//   - One whose row is gone is the base's object again, if that shows in its place. Otherwise it is as if it had been deleted: who has
//     it open goes on with what it was.
//   - An untouched node gets its row back, if there is one again.
//   - A directory that the guest has removed the kernel lets nobody use any more (S_DEAD, vfs_rmdir in fs/namei.c). If it is there again,
//     another node shows it.
func GoBack(store *sqlvfs.Store, overlays []*Overlay, to sqlvfs.Destination) (sqlvfs.Checkpoint, error) {
	return become(overlays, func() ([]sqlvfs.RestoredInode, error) { return store.LiveSince(to) },
		func(follow func(*sqlvfs.Tx, *sqlvfs.Restored)) (sqlvfs.Checkpoint, error) {
			return store.GoBack(to, follow)
		})
}

// TakeMerged has the tree become what a merge beside the session has made of it, see [sqlvfs.Store.TakeMerged], as GoBack has it go back.
func TakeMerged(store *sqlvfs.Store, overlays []*Overlay, m *sqlvfs.MergedFork) (sqlvfs.Checkpoint, error) {
	return become(overlays, func() ([]sqlvfs.RestoredInode, error) { return store.LiveIn(m) },
		func(follow func(*sqlvfs.Tx, *sqlvfs.Restored)) (sqlvfs.Checkpoint, error) {
			return store.TakeMerged(m, follow)
		})
}

// become has the tree become another one. live are the inodes in use that are going to be changed.
func become(overlays []*Overlay, live func() ([]sqlvfs.RestoredInode, error), change func(func(*sqlvfs.Tx, *sqlvfs.Restored)) (sqlvfs.Checkpoint, error)) (sqlvfs.Checkpoint, error) {
	for _, o := range overlays {
		o.keepRemoved()
	}
	var rest []func()
	handOver(overlays, live)
	done, err := change(func(db *sqlvfs.Tx, r *sqlvfs.Restored) {
		for _, o := range overlays {
			o.tx.db = db
			w := o.tx.goBack(r)
			o.tx.db = nil
			rest = append(rest, w.flush())
		}
	})
	for _, wait := range rest {
		wait()
	}
	return done, err
}

// wayBack is a step in which the tree has gone back.
type wayBack struct {
	*tx
	rows     map[sqlvfs.Ino]*node  // nodes of rows that have changed
	lost     map[*node]bool        // those of them whose row is gone, and that nothing else shows
	fallen   map[sqlvfs.Ino]bool   // rows that are gone, of nodes that are the base's objects again
	attached map[sqlvfs.Ino]dentry // rows that are there again, of nodes that were the base's objects, with what was their name
	dirs     map[string]*node      // directories of the base that show, by their paths there; nil until they are needed
	kept     map[dentry]bool       // names that the kernel is not to forget
	forget   []dentry              // what the kernel is to forget: names,
	attrs    []*node               // attributes,
	content  []*node               // and also content
	held     []*node               // referred to until the step has ended
}

func newWayBack(t *tx) *wayBack {
	return &wayBack{tx: t, rows: map[sqlvfs.Ino]*node{}, lost: map[*node]bool{}, fallen: map[sqlvfs.Ino]bool{}, attached: map[sqlvfs.Ino]dentry{}, kept: map[dentry]bool{}}
}

// parentsFirst sorts nodes of the base so that directories come before what is in them.
func parentsFirst(nodes []*node) []*node {
	slices.SortFunc(nodes, func(a, b *node) int { return cmp.Compare(len(a.base.path), len(b.base.path)) })
	return nodes
}

// goBack has nodes follow rows that have changed.
func (t *tx) goBack(r *sqlvfs.Restored) *wayBack {
	w := newWayBack(t)
	var lost []*node
	for i := range r.Inodes {
		c := &r.Inodes[i]
		n := t.nodeOf(c.In, c.Number)
		if n == nil {
			continue
		}
		w.rows[c.In.Ino] = n
		w.inode(n, c)
		if !c.Is && c.Was && n.base != nil && !n.deadDir && n.ino != RootIno {
			lost = append(lost, n)
		}
	}
	for _, n := range parentsFirst(lost) {
		w.fallBack(n)
		w.lost[n] = n.in != nil
	}
	for _, c := range r.Came {
		w.attach(c)
	}
	for _, place := range t.places {
		w.keepPlace(place)
	}
	w.merge(r.Names)
	w.names(r.Names)
	for _, n := range append(w.held, w.made...) {
		w.release(n, 1)
	}
	clear(w.made)
	w.made = w.made[:0]
	return w
}

// nodeOf returns the node of a row, by a number that it has shown; nil: there is none.
func (t *tx) nodeOf(in *sqlvfs.Inode, number uint64) *node {
	for _, ino := range []Ino{Ino(number), Ino(in.Ino), t.elsewhere[Ino(in.Ino)]} {
		if n := t.nodes[ino]; n != nil && n.in == in {
			return n
		}
	}
	return nil
}

// inode has a node follow its row.
func (w *wayBack) inode(n *node, c *sqlvfs.RestoredInode) {
	w.dropList(n)
	switch a := &n.in.Attr; {
	case !c.Is && w.inner && n.ino == RootIno:
		w.keepRoot(n)
	case !c.Is:
		if a.IsDir() && n.base != nil {
			n.base.gone = true // until it is found to show
		}
		w.attrs = append(w.attrs, n)
	case n.deadDir:
		w.bury(n)
	default:
		n.linkable = false
		w.place(n, c.Origin)
		if c.Content || a.IsDir() {
			w.content = append(w.content, n)
		} else {
			w.attrs = append(w.attrs, n)
		}
	}
	w.noteRemoved(n)
}

// place has a node be where the origin of its row is. was is the one that it had.
func (w *wayBack) place(n *node, was *sqlvfs.Origin) {
	o := n.in.Origin
	switch {
	case w.host == nil || n.ino == RootIno:
	case o != nil && o.Base == w.name:
		if n.base == nil {
			n.base = &base{path: o.Path}
		}
		n.base.gone, n.base.refused = false, sqlvfs.Fingerprint{}
		if n.base.path != o.Path {
			w.closeFile(n)
			n.base.path = o.Path
			if n.in.Attr.IsDir() {
				w.revoke(n)
			}
		}
	case was != nil && n.base != nil: // it stands for itself again
		w.detach(n)
		w.displace(Ino(n.in.Ino), n) // programs know it by the base's number
	case n.base != nil: // the workspace
		n.base.gone = false
	}
}

// detach has the base add nothing to a node any more.
func (w *wayBack) detach(n *node) {
	n.refs++ // what the base has shown in it may be all that refers to it
	w.held = append(w.held, n)
	names, gone := w.abandon(n)
	w.forget, w.attrs = append(w.forget, names...), append(w.attrs, gone...)
	w.leaveBase(n)
	n.base = nil
}

// merge finds anew what directories are merged with that have gone back to another place, or have lost their origin. Where that cannot
// be read, nothing of the base shows until they are looked up again.
func (w *wayBack) merge(names []sqlvfs.RestoredName) {
	for _, c := range names {
		if p := w.dirNode(&c); p != nil {
			w.mergeChild(p, c.Name)
		}
	}
	for _, n := range w.held {
		p := w.nodes[n.parentIno]
		if n.in == nil || n.base != nil || p == nil || p.in == nil {
			continue
		}
		children, _ := w.db.Children(p.in)
		for _, c := range children {
			if c.Ino == n.in.Ino {
				w.mergeChild(p, c.Name)
			}
		}
	}
}

func (w *wayBack) mergeChild(p *node, name string) {
	if p.in == nil {
		return
	}
	if c, ok, _, err := w.db.Child(p.in, name); ok && err == nil && c.Mode&syscall.S_IFMT == syscall.S_IFDIR {
		if n := w.liveChild(c); n != nil {
			_ = w.reattach(p, name, n, w.detach)
		}
	}
}

// bury has a node be a directory that was removed, and nothing else: its row is another node's from now on.
func (w *wayBack) bury(n *node) {
	attr := n.in.Attr
	attr.Nlink = 0
	in := n.in
	w.leaveBase(n)
	n.in, n.base = nil, &base{attr: attr, gone: true}
	w.db.Put(in)
	w.attrs = append(w.attrs, n)
}

// fallBack has a node whose row is gone be the base's object that it comes from, if that shows.
func (w *wayBack) fallBack(n *node) {
	in, o := n.in, n.in.Origin
	path := n.base.path
	if w.host == nil || path == top || o != nil && o.Base != w.name || o == nil && path != "." {
		return
	}
	p, name := w.dirOf(path), path[strings.LastIndexByte(path, '/')+1:]
	if path == "." {
		p, name = w.nodes[RootIno], w.name
	}
	if p == nil || p == n || !w.shows(p, name) {
		return
	}
	b := n.base
	b.attr, b.fp = in.Attr, sqlvfs.Fingerprint{}
	b.attr.Nlink = 1 // until the host is asked
	if o != nil {
		b.attr.Mode, b.attr.Size, b.attr.Mtime, b.attr.Ctime, b.fp = o.ModeOf(in.Attr.Mode), o.Size, o.Mtime, o.Ctime, o.Fingerprint
	} else if attr, fp, err := w.host.Lstat(path); err == nil {
		b.attr, b.fp = attr, fp
	}
	b.size, b.resized, b.content, b.stale = in.Attr.Size+1, unchanged, sqlvfs.Fingerprint{}, false
	b.gone, b.fresh, b.name = false, false, name
	w.fallen[in.Ino] = true
	n.in, n.linkable, n.parentIno = nil, false, p.ino
	w.setParent(n, p)
	w.db.Put(in)
	w.content = append(w.content, n)
}

// dirNode returns the node of the directory that a name is in; nil: there is none.
func (w *wayBack) dirNode(c *sqlvfs.RestoredName) *node {
	p := w.rows[c.Dir]
	if p == nil && c.In != nil {
		p = w.nodeOf(c.In, c.In.Number())
	}
	return p
}

// shows tells whether a directory shows the base's entry of a name, if there is one.
func (w *wayBack) shows(p *node, name string) bool {
	if _, ok := w.baseChild(p, name); !ok {
		return false
	}
	if p.in == nil {
		return true
	}
	_, ok, white, err := w.db.Child(p.in, name)
	return err == nil && !ok && !white
}

// dirOf returns the node of the directory of the base that a path is in; nil: it does not show.
func (w *wayBack) dirOf(path string) *node {
	if w.dirs == nil {
		w.dirs = map[string]*node{}
		for _, n := range w.nodes {
			if n.base != nil && n.base.path != top && n.attrOf().IsDir() {
				if was := w.dirs[n.base.path]; was == nil || was.gone() && was.in == nil {
					w.dirs[n.base.path] = n
				}
			}
		}
	}
	at := dirOf(path)
	if n := w.dirs[at]; n != nil && !n.gone() {
		return n
	}
	if at == "." {
		return nil
	}
	// The guest has removed it, and it is there again: another node shows it.
	n := w.newDir(at)
	if n != nil {
		w.dirs[at] = n
	}
	return n
}

// newDir makes a node of a directory of the base that shows; nil: it does not, or cannot be read.
func (w *wayBack) newDir(at string) *node {
	p, name := w.dirOf(at), at[strings.LastIndexByte(at, '/')+1:]
	if p == nil {
		return nil
	}
	n, err := w.deltaChild(p, name)
	if err == nil && n == nil && w.shows(p, name) {
		var attr sqlvfs.Attr
		var fp sqlvfs.Fingerprint
		if attr, fp, err = w.host.Lstat(at); err == nil && attr.IsDir() {
			n, err = w.untouched(p, name, at, attr, fp)
		}
	}
	if err != nil || n == nil || n.base == nil || n.base.path != at || n.gone() || !n.attrOf().IsDir() {
		return nil
	}
	return n
}

// attach gives a node the row that there is again: an untouched one, or one whose row is gone, if both are what became of one object of the
// host's.
func (w *wayBack) attach(c sqlvfs.CameInode) {
	n := w.nodes[Ino(c.Number)]
	if n == nil || n.in != nil && !w.lost[n] || n.base == nil || n.deadDir || w.host == nil {
		return
	}
	in, err := w.db.Get(c.Ino)
	if err != nil {
		return
	}
	mode, fp := n.base.attr.Mode, n.base.fp
	if n.in != nil {
		if mode = n.in.Attr.Mode; n.in.Origin != nil {
			fp = n.in.Origin.Fingerprint
		}
	}
	o := in.Origin
	if o == nil || o.Base != w.name || (in.Attr.Mode^mode)&syscall.S_IFMT != 0 || !hostfs.SameObject(o.Fingerprint, fp) {
		w.db.Put(in)
		return
	}
	if was := n.in; was != nil {
		n.in, n.linkable = in, false
		w.rows[c.Ino], w.lost[n] = n, false
		w.db.Put(was)
		w.place(n, was.Origin)
		w.content = append(w.content, n)
		return
	}
	if p := n.base.parent; p != nil {
		if p.base.dentries[n.base.name] == n {
			w.forgetDentry(p, n.base.name)
		}
		if !n.base.gone {
			w.attached[c.Ino] = dentry{p, n.base.name}
		}
	}
	w.closeFile(n)
	w.rows[c.Ino] = n
	n.in, n.base.gone, n.base.path, n.base.content, n.base.stale, n.base.resized, n.base.size = in, false, o.Path, sqlvfs.Fingerprint{}, false, unchanged, 0
	w.setParent(n, nil)
	w.dropList(n)
	w.content = append(w.content, n)
}

// names has the kernel forget the names that mean something else now, and nodes of the base show or not.
func (w *wayBack) names(list []sqlvfs.RestoredName) {
	hidden := map[dentry]bool{}
	for _, c := range list {
		p := w.dirNode(&c)
		if p == nil {
			continue
		}
		hidden[dentry{p, c.Name}] = true
		if !w.same(p, c) {
			w.forget = append(w.forget, dentry{p, c.Name})
		}
	}
	if w.host == nil || len(hidden) == 0 {
		return
	}
	for _, n := range w.nodes {
		if n.in != nil || n.base == nil || n.base.parent == nil || n.deadDir || !hidden[dentry{n.base.parent, n.base.name}] {
			continue
		}
		shown := w.shows(n.base.parent, n.base.name)
		if shown == !n.base.gone {
			continue
		}
		n.base.gone, n.base.fresh, n.base.attr.Nlink = !shown, false, 1
		if !shown {
			n.base.attr.Nlink = 0
			w.noteRemoved(n)
		}
		w.attrs = append(w.attrs, n)
	}
}

// same tells whether a name means the node that it has meant.
func (w *wayBack) same(p *node, c sqlvfs.RestoredName) bool {
	if w.kept[dentry{p, c.Name}] {
		return true
	}
	if p.in != nil {
		is, ok, _, err := w.db.Child(p.in, c.Name)
		switch {
		case err != nil:
			return false
		case ok && is.Ino == c.Was:
			was := w.rows[c.Was] // nil: it has not changed
			return was == nil || was.in != nil && was.in.Ino == is.Ino
		case ok:
			if now := w.rows[is.Ino]; now != nil && now == w.rows[c.Was] {
				return true
			}
			before, attached := w.attached[is.Ino]
			return attached && before == dentry{p, c.Name}
		}
	}
	was := w.rows[c.Was]
	return was != nil && w.fallen[c.Was] && was.base.parent == p && was.base.name == c.Name
}
