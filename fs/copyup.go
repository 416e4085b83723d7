package fs

import (
	"syscall"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/sqlvfs"
)

// copyUp gives a node, and the directories above it, rows in the delta, so that it can be changed.
// No content is copied: the row has its origin in the base.
func (t *tx) copyUp(n *node) error {
	if n.in != nil {
		return nil
	}
	if n.base.gone && n.base.attr.IsDir() {
		return syscall.ENOENT
	}
	now, err := t.ask(fact{kind: objectFact, path: n.base.path})
	switch {
	case err != nil:
		return err
	case (now.err != nil || !hostfs.SameObject(now.fp, n.base.fp)) && n.repath():
		return t.copyUp(n)
	case now.err != nil:
		return now.err
	case !hostfs.SameObject(now.fp, n.base.fp):
		return syscall.ESTALE
	}
	parent, attr := n.base.parent, now.attr
	if !n.base.gone {
		if err := t.copyUp(parent); err != nil {
			return err
		}
		if err := t.recordMerges(parent); err != nil {
			return err
		}
	} else {
		attr.Nlink = 0 // it may be open, but nobody finds it any more
	}
	t.refreshNode(n, now.attr, now.fp)
	in, err := t.db.New(attr)
	if err != nil {
		return err
	}
	t.db.SetBirth(in, now.birth, now.born)
	if attr.IsSymlink() {
		t.db.SetTarget(in, now.target)
	}
	origin := &sqlvfs.Origin{Base: t.name, Path: now.path, Number: uint64(n.ino), Fingerprint: now.fp, Mode: attr.Mode}
	if attr.IsRegular() {
		origin.Limit = attr.Size
	}
	t.db.SetOrigin(in, origin)
	for name, value := range now.xattrs {
		if err == nil {
			err = t.db.SetXattr(in, name, value)
		}
	}
	if err == nil && !n.base.gone {
		err = t.db.Link(parent.in, n.base.name, in)
	}
	if err != nil {
		in.Attr.Nlink = 0
		t.db.Put(in)
		return err
	}
	if parent != nil && parent.base.dentries[n.base.name] == n {
		t.forgetDentry(parent, n.base.name) // the kernel may keep it now, whatever the host does
	}
	n.in, n.base.gone = in, false
	t.setParent(n, nil)
	return nil
}

// writableDir prepares a directory for a change of its entries.
func (t *tx) writableDir(ino Ino) (*node, error) {
	p, err := t.get(ino)
	if err != nil {
		return nil, err
	}
	if err := t.copyUp(p); err != nil {
		return nil, err
	}
	if p.in.Attr.Nlink == 0 {
		return nil, syscall.ENOENT
	}
	return p, nil
}

// baseHas tells whether the base has an entry that would show if the delta's were not there.
func (t *tx) baseHas(p *node, name string) (bool, error) {
	path, ok := t.baseChild(p, name)
	if !ok {
		return false, nil
	}
	if nothing, err := t.baseAbsent(p); nothing || err != nil {
		return false, err
	}
	now, err := t.lstat(path)
	switch {
	case err != nil:
		return false, err
	case oneOf(now.err, syscall.ENOENT, syscall.ENOTDIR):
		return false, nil
	}
	return now.err == nil, now.err
}

// modified sets a node's times after a change of its entries or its content.
func (t *tx) modified(p *node, now sqlvfs.Timespec) {
	p.in.Attr.Mtime = now
	p.in.Change(now)
	t.db.Dirty(p.in)
}
