package fs

import (
	"syscall"

	"github.com/riverlytech/art/sqlvfs"
)

// copyUp gives a node, and the directories above it, rows in the delta, so that it can be changed.
// No content is copied: the row has its origin in the base.
// Lock held; it is let go of while the host is asked.
func (o *Overlay) copyUp(n *node) error {
	if n.in != nil {
		return nil
	}
	if n.gone && n.attr.IsDir() {
		return syscall.ENOENT
	}
	path := n.path
	n.holds++
	o.store.Unlock()
	attr, fp, err := o.host.Lstat(path)
	target := ""
	if err == nil && attr.IsSymlink() {
		target, err = o.host.Readlink(path)
	}
	var xattrs map[string][]byte
	if err == nil {
		xattrs, err = o.host.Xattrs(path)
	}
	o.store.Lock()
	n.holds--
	switch {
	case n.in != nil:
		return nil
	case n.gone && n.attr.IsDir():
		return syscall.ENOENT
	case (err != nil || !sameObject(fp, n.fp)) && n.repath():
		return o.copyUp(n)
	case err == nil && !sameObject(fp, n.fp):
		return syscall.ESTALE
	case err != nil:
		return err
	}
	o.update(n, attr, fp)
	parent, name := n.parent, n.name
	if !n.gone {
		if err := o.copyUp(parent); err != nil {
			return err
		}
		if n.in != nil || n.gone || n.parent != parent || n.name != name {
			return o.copyUp(n) // the lock was let go of
		}
	} else {
		attr.Nlink = 0 // it may be open, but nobody finds it any more
	}
	in, err := o.store.New(attr)
	if err != nil {
		return err
	}
	if attr.IsSymlink() {
		o.store.SetTarget(in, target)
	}
	origin := &sqlvfs.Origin{Base: o.name, Path: path, Number: uint64(n.ino), Fingerprint: fp, Mode: attr.Mode}
	if attr.IsRegular() {
		origin.Limit = attr.Size
	}
	o.store.SetOrigin(in, origin)
	for name, value := range xattrs {
		if err == nil {
			err = o.store.SetXattr(in, name, value)
		}
	}
	if err == nil && !n.gone {
		err = o.store.Link(parent.in, name, in)
	}
	if err != nil {
		in.Attr.Nlink = 0
		o.store.Put(in)
		return err
	}
	n.in, n.parent, n.gone = in, nil, false
	parent.holds--
	if parent.handed[name] == n {
		o.unhand(parent, name) // the kernel may keep it now, whatever the host does
	}
	o.drop(parent)
	return nil
}

// writableDir prepares a directory for a change of its entries. Lock held; it may be let go of.
func (o *Overlay) writableDir(ino Ino) (*node, error) {
	if err := o.store.Ready(); err != nil {
		return nil, err
	}
	p, err := o.get(ino)
	if err != nil {
		return nil, err
	}
	if err := o.copyUp(p); err != nil {
		return nil, err
	}
	if p.in.Attr.Nlink == 0 {
		return nil, syscall.ENOENT
	}
	return p, nil
}

// inBase tells whether the base has an entry that would show if the delta's were not there.
// Lock held; it is let go of while the host is asked.
func (o *Overlay) inBase(p *node, name string) (bool, error) {
	path, ok := o.baseChild(p, name)
	if !ok {
		return false, nil
	}
	p.holds++
	o.store.Unlock()
	_, _, err := o.host.Lstat(path)
	o.store.Lock()
	p.holds--
	if err == syscall.ENOENT || err == syscall.ENOTDIR {
		return false, nil
	}
	return err == nil, err
}

// modified sets a node's times after a change of its entries or its content. Lock held.
func (o *Overlay) modified(p *node, now sqlvfs.Timespec) {
	p.in.Attr.Mtime, p.in.Attr.Ctime = now, now
	o.store.Dirty(p.in)
}
