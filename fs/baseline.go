package fs

import "github.com/riverlytech/art/sqlvfs"

// A name of the base that the delta hides is not looked at again. What was there is written down
// as its baseline, so that what the host makes of it later is not mistaken for what the guest has
// removed. A copied-up inode needs no baseline, as long as it is there: its origin is one.

// baseline is what a node showed of the base, or nil.
func (t *tx) baseline(n *node) *sqlvfs.Baseline {
	switch {
	case t.host == nil || n.base == nil || n.base.gone:
		return nil
	case n.in == nil:
		return &sqlvfs.Baseline{Mode: n.base.attr.Mode, Fingerprint: n.base.fp, RowCtime: sqlvfs.Now()}
	case n.in.Origin == nil:
		return nil
	}
	return n.in.Baseline()
}

// recordBaseline writes down what a node has shown, now that it has lost a name: of the base's entry
// that is hidden by that, if it was shown by that, and of its origin when there is no inode left to tell of it.
func (t *tx) recordBaseline(p *node, name string, n *node, shown bool, seen *sqlvfs.Baseline) {
	if seen == nil {
		return
	}
	if n.attrOf().Nlink == 0 {
		t.db.AddBaseline(t.tree(), n.base.path, seen)
		t.backfiller.enqueueHash(n.base.path, version{seen: seen})
	}
	if path, ok := t.baseChild(p, name); ok && shown && path != n.base.path {
		t.db.AddBaseline(t.tree(), path, seen)
		t.backfiller.enqueueHash(path, version{seen: seen})
	}
}

// releaseOrigin ends an inode's dependence on its origin, which is its baseline from then on.
func (t *tx) releaseOrigin(in *sqlvfs.Inode) {
	if in.Origin == nil {
		return
	}
	if in.Origin.Base == t.name {
		t.db.AddBaseline(t.tree(), in.Origin.Path, in.Baseline())
	}
	t.db.SetOrigin(in, nil)
}

// tree is the workspace on the host.
func (o *Overlay) tree() sqlvfs.Tree {
	t := o.host.tree
	t.Name = o.name
	return t
}
