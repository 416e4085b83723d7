package fs

import (
	"syscall"
	"time"

	"github.com/riverlytech/art/sqlvfs"
)

// This file keeps account of what the kernel was told of the base and may keep: names and attributes
// of what lies in a watched directory.

// How many names that do not exist are remembered for one directory, and for all together. The kernel
// never says that it has forgotten one.
const (
	maxAbsent    = 4096
	maxAbsentAll = 128 << 10
)

// watchDir has the host tell of changes in a node's base directory, if that is possible. What the
// kernel may keep of the directory must be asked of the host afterwards. dir, if not nil, is the
// directory, opened when the clock showed opened.
// Lock held; it is let go of while the host is asked.
func (o *Overlay) watchDir(n *node, dir *HostDir, opened uint64) {
	ws := o.watches
	if ws == nil || n.watch != nil || n.unwatchable || !n.based || n.gone || n.path == top {
		return
	}
	path := n.path
	n.holds++
	w, err := ws.hold(path, dir, opened)
	n.holds--
	switch {
	case err != nil:
		n.unwatchable = true
	case w == nil:
	case n.watch != nil || n.gone || n.path != path:
		ws.put(w)
	default:
		w.show(n)
		n.watch = w
	}
}

// distrust gives up a directory's watch, and raises doubts about all that the kernel was told of the
// directory. Lock held.
func (o *Overlay) distrust(n *node) {
	if n.watch != nil {
		o.watches.unshow(n.watch, n)
	}
	n.watch, n.unwatchable, n.fresh = nil, false, false
	o.doubts.inode(n)
	for name, child := range n.handed {
		if child != nil {
			child.fresh = false
		}
		o.doubts.entry(n, name)
	}
}

// clock is to be read before the host is asked: if it stands still until the answer is handed out,
// no event was missed in between. Lock held.
func (o *Overlay) clock() uint64 {
	if o.watches == nil {
		return 0
	}
	return o.watches.clock
}

// told notes that the kernel is about to learn of an untouched node by a name in a directory of the
// base, or, with nil, that there is no such name. The host was asked when the clock showed asked.
// It returns for how long the kernel may keep the name. Lock held.
func (o *Overlay) told(p *node, name string, n *node, asked uint64) time.Duration {
	missed := asked != o.clock() || o.store.ReadOnly()
	if n != nil && n.attr.IsDir() {
		n.fresh = !missed && n.watch != nil
	}
	switch {
	case p.path == top:
		return Forever // the workspace has no other place
	case missed || p.watch == nil:
	case n == nil:
		if _, ok := p.handed[name]; ok || p.absent < maxAbsent && o.absent < maxAbsentAll {
			o.hand(p, name, nil)
			return Forever
		}
	case n.attr.IsDir():
		o.hand(p, name, n)
		return Forever
	case n.attr.Nlink == 1:
		n.fresh = true
		o.hand(p, name, n)
		return Forever
	}
	if n != nil && !n.attr.IsDir() {
		n.fresh = false
	}
	return BaseTTL
}

// hand remembers what the kernel was told of a name. Lock held.
func (o *Overlay) hand(p *node, name string, child *node) {
	o.unhand(p, name)
	if p.handed == nil {
		p.handed = map[string]*node{}
	}
	p.handed[name] = child
	if child == nil {
		p.absent++
		o.absent++
	}
}

// unhand forgets it. Lock held.
func (o *Overlay) unhand(p *node, name string) {
	if child, ok := p.handed[name]; ok && child == nil {
		p.absent--
		o.absent--
	}
	delete(p.handed, name)
}

// update takes in what the host says of an untouched node's object. Lock held.
func (o *Overlay) update(n *node, attr sqlvfs.Attr, fp sqlvfs.Fingerprint) {
	if n.content != (sqlvfs.Fingerprint{}) && !sameContent(n.fp, fp) {
		n.stale = true
		o.doubts.inode(n)
	}
	n.attr, n.fp = attr, fp
}

// renew has the kernel forget the content that it has of a node, if that is of an earlier version than
// the attributes that it is about to learn, and tells whether it was. Lock held; it is let go of then.
func (o *Overlay) renew(n *node) bool {
	if !n.stale {
		return false
	}
	n.holds++
	o.store.Unlock()
	o.cache.InvalidateInode(n.ino)
	o.store.Lock()
	n.holds--
	n.stale, n.content = false, sqlvfs.Fingerprint{}
	o.drop(n)
	return true
}

// isObject tells whether the host speaks of an untouched node's object. Lock held.
func (n *node) isObject(attr sqlvfs.Attr, fp sqlvfs.Fingerprint) bool {
	return sameObject(n.fp, fp) && (n.attr.Mode^attr.Mode)&syscall.S_IFMT == 0
}

// expireList sees to it that the kernel does not keep a directory's list for longer than BaseTTL if
// nothing tells of changes of it. The kernel keeps every list until it is told otherwise, and knows
// itself when the guest changes the directory. Lock held.
func (o *Overlay) expireList(n *node) {
	if !n.based || n.gone || n.path == top || n.watch != nil || n.expiring {
		return
	}
	n.expiring = true
	time.AfterFunc(BaseTTL, func() {
		o.store.Lock()
		defer o.store.Unlock()
		n.expiring = false
		if o.nodes[n.ino] == n {
			o.doubts.inode(n)
		}
	})
}
