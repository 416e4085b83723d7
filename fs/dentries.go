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
	if n.base.watch != nil {
		t.watches.removeNode(n.base.watch, n)
	}
	n.base.watch, n.base.unwatchable, n.base.fresh = nil, false, false
	t.closeDir(n)
	t.pending.inode(n)
	for name, child := range n.base.dentries {
		if child != nil {
			child.base.fresh = false
		}
		t.pending.entry(n, name, staleness{content: true})
	}
}

// clock is to be read before the host is asked, see watches.
func (t *tx) clock() uint64 {
	if t.watches == nil {
		return 0
	}
	return t.watches.clock
}

// grantTTL returns for how long the kernel may keep a name in a directory of the base, which it is about to learn: that
// of an untouched node, or, with nil, that there is no such name. The host was asked when the clock showed asked.
func (t *tx) grantTTL(p *node, name string, n *node, asked uint64) time.Duration {
	missed := func(dir *node) bool { return t.db.ReadOnly() || t.watches.missed(dir.base.watch, asked) }
	if n != nil && n.base.attr.IsDir() {
		n.base.fresh = !missed(n)
	}
	switch {
	case p.base.path == top:
		return Forever // the workspace has no other place
	case missed(p):
	case n == nil:
		if _, ok := p.base.dentries[name]; ok || p.base.negative < maxNegative && t.negative < maxNegativeAll {
			t.recordDentry(p, name, nil)
			return Forever
		}
	case n.base.attr.IsDir():
		t.recordDentry(p, name, n)
		return Forever
	case n.base.attr.Nlink == 1:
		n.base.fresh = true
		t.recordDentry(p, name, n)
		return Forever
	}
	if n != nil && !n.base.attr.IsDir() {
		n.base.fresh = false
	}
	return BaseTTL
}

// recordDentry notes what the kernel was told of a name.
func (t *tx) recordDentry(p *node, name string, child *node) {
	was, ok := p.base.dentries[name]
	if ok && was == child {
		return
	}
	if ok {
		t.forgetDentry(p, name)
		t.pending.entry(p, name, staleness{ambiguity: ambiguous})
		if was != nil {
			was.base.fresh = false // no event of this name is about it any more
		}
	}
	if p.base.dentries == nil {
		p.base.dentries = map[string]*node{}
	}
	p.base.dentries[name] = child
	if child == nil {
		p.base.negative++
		t.negative++
	}
}

func (t *tx) forgetDentry(p *node, name string) {
	if child, ok := p.base.dentries[name]; ok && child == nil {
		p.base.negative--
		t.negative--
	}
	delete(p.base.dentries, name)
}

// refreshNode takes in what the host says of an untouched node's object.
func (t *tx) refreshNode(n *node, attr sqlvfs.Attr, fp sqlvfs.Fingerprint) {
	if n.base.content != (sqlvfs.Fingerprint{}) && !sameContent(n.base.fp, fp) {
		n.base.stale = true
		t.pending.inode(n)
	}
	n.base.attr, n.base.fp = attr, fp
}

// stale tells whether the kernel has content of a node that is of an earlier version than the attributes.
func (n *node) stale() bool { return n.base != nil && n.base.stale }

// refresh brings a file up to date whose content is the host's, and the kernel with it.
func (t *tx) refresh(n *node) error {
	if err := t.follow(n); err != nil {
		return err
	}
	return t.invalidateStale(n)
}

// invalidateStale has the kernel forget the content that it has of a node, if that is of an earlier version than the
// attributes that it is about to learn.
func (t *tx) invalidateStale(n *node) error {
	if !n.stale() {
		return nil
	}
	o, cache := t.Overlay, t.cache
	return t.outside(func(k *facts) error {
		k.forgetStats() // what was true may be so no more when this is done
		// It waits for who reads the content, whose request may be behind this one.
		within(BaseTTL, func() error { return cache.InvalidateInode(n.ino) })
		return o.view(func(*tx) error {
			n.base.stale, n.base.content = false, sqlvfs.Fingerprint{}
			return nil
		})
	})
}

// isObject tells whether the host speaks of an untouched node's object.
func (n *node) isObject(attr sqlvfs.Attr, fp sqlvfs.Fingerprint) bool {
	return hostfs.SameObject(n.base.fp, fp) && (n.base.attr.Mode^attr.Mode)&syscall.S_IFMT == 0
}

// expireList bounds how long the kernel keeps a directory's list, to BaseTTL, if nothing tells of
// changes of it. The kernel keeps every list until it is told otherwise, and knows itself when the guest changes the
// directory.
func (t *tx) expireList(n *node) {
	if !n.inBase() || n.base.watch != nil || n.base.expiring {
		return
	}
	n.base.expiring = true
	o, b := t.Overlay, n.base
	time.AfterFunc(BaseTTL, func() {
		o.view(func(t *tx) error {
			b.expiring = false
			if t.nodes[n.ino] == n {
				t.pending.inode(n)
			}
			return nil
		})
	})
}
