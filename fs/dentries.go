package fs

import (
	"syscall"
	"time"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/sqlvfs"
)

// This file keeps account of what the kernel has cached of the base: dentries and attributes of what lies in a watched
// directory.

// How many negative dentries are recorded for one directory, and for all together. The kernel never says that it has
// forgotten one.
const (
	maxNegative    = 4096
	maxNegativeAll = 128 << 10
)

// revoke gives up a directory's watch, and has all that the kernel was told of the directory revalidated.
func (t *tx) revoke(n *node) {
	if n.watch != nil {
		t.watches.unshow(n.watch, n)
	}
	n.watch, n.unwatchable, n.fresh = nil, false, false
	t.pending.inode(n)
	for name, child := range n.dentries {
		if child != nil {
			child.fresh = false
		}
		t.pending.entry(n, name)
	}
}

// clock is to be read before the host is asked: if it stands still until the answer is handed out, no event was missed in
// between.
func (t *tx) clock() uint64 {
	if t.watches == nil {
		return 0
	}
	return t.watches.clock
}

// grantTTL returns for how long the kernel may keep a name in a directory of the base, which it is about to learn: that
// of an untouched node, or, with nil, that there is no such name. The host was asked when the clock showed asked.
func (t *tx) grantTTL(p *node, name string, n *node, asked uint64) time.Duration {
	missed := asked != t.clock() || t.db.ReadOnly()
	if n != nil && n.attr.IsDir() {
		n.fresh = !missed && n.watch != nil
	}
	switch {
	case p.path == top:
		return Forever // the workspace has no other place
	case missed || p.watch == nil:
	case n == nil:
		if _, ok := p.dentries[name]; ok || p.negative < maxNegative && t.negative < maxNegativeAll {
			t.recordDentry(p, name, nil)
			return Forever
		}
	case n.attr.IsDir():
		t.recordDentry(p, name, n)
		return Forever
	case n.attr.Nlink == 1:
		n.fresh = true
		t.recordDentry(p, name, n)
		return Forever
	}
	if n != nil && !n.attr.IsDir() {
		n.fresh = false
	}
	return BaseTTL
}

// recordDentry notes what the kernel was told of a name.
func (t *tx) recordDentry(p *node, name string, child *node) {
	t.forgetDentry(p, name)
	if p.dentries == nil {
		p.dentries = map[string]*node{}
	}
	p.dentries[name] = child
	if child == nil {
		p.negative++
		t.negative++
	}
}

func (t *tx) forgetDentry(p *node, name string) {
	if child, ok := p.dentries[name]; ok && child == nil {
		p.negative--
		t.negative--
	}
	delete(p.dentries, name)
}

// refreshNode takes in what the host says of an untouched node's object.
func (t *tx) refreshNode(n *node, attr sqlvfs.Attr, fp sqlvfs.Fingerprint) {
	if n.content != (sqlvfs.Fingerprint{}) && !sameContent(n.fp, fp) {
		n.stale = true
		t.pending.inode(n)
	}
	n.attr, n.fp = attr, fp
}

// invalidateStale has the kernel forget the content that it has of a node, if that is of an earlier version than the
// attributes that it is about to learn.
func (t *tx) invalidateStale(n *node) error {
	if !n.stale {
		return nil
	}
	o, cache := t.Overlay, t.cache
	return t.ask(func(f *facts) {
		f.forgetStats() // what was true may be so no more when this is done
		cache.InvalidateInode(n.ino)
		o.view(func(*tx) error {
			n.stale, n.content = false, sqlvfs.Fingerprint{}
			return nil
		})
	})
}

// isObject tells whether the host speaks of an untouched node's object.
func (n *node) isObject(attr sqlvfs.Attr, fp sqlvfs.Fingerprint) bool {
	return hostfs.SameObject(n.fp, fp) && (n.attr.Mode^attr.Mode)&syscall.S_IFMT == 0
}

// expireList sees to it that the kernel does not keep a directory's list for longer than BaseTTL if nothing tells of
// changes of it. The kernel keeps every list until it is told otherwise, and knows itself when the guest changes the
// directory.
func (t *tx) expireList(n *node) {
	if !n.based || n.gone || n.path == top || n.watch != nil || n.expiring {
		return
	}
	n.expiring = true
	o := t.Overlay
	time.AfterFunc(BaseTTL, func() {
		o.view(func(t *tx) error {
			n.expiring = false
			if t.nodes[n.ino] == n {
				t.pending.inode(n)
			}
			return nil
		})
	})
}
