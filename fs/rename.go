package fs

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// Rename implements FileSystem. The kernel has made sure that a directory is not moved below itself, nor exchanged for
// what is below it.
func (o *Overlay) Rename(c Caller, oldParent Ino, oldName string, newParent Ino, newName string, flags uint32) error {
	switch flags {
	case 0, unix.RENAME_NOREPLACE, unix.RENAME_EXCHANGE:
	default:
		return syscall.EINVAL
	}
	if len(newName) > sqlvfs.NameMax {
		return syscall.ENAMETOOLONG
	}
	return o.update(c.By, func(t *tx) error {
		op, err := t.writableDir(oldParent)
		if err != nil {
			return err
		}
		np, err := t.writableDir(newParent)
		if err == nil && t.reserved(np, newName) {
			err = syscall.EPERM
		}
		if err != nil {
			return err
		}
		src, err := t.lookup(op, oldName)
		if err != nil {
			return err
		}
		dst, err := t.lookup(np, newName)
		if err != nil && (flags == unix.RENAME_EXCHANGE || !errors.Is(err, syscall.ENOENT)) {
			return err
		}
		from, to := dentry{op, oldName}, dentry{np, newName}
		switch {
		case dst != nil && flags == unix.RENAME_NOREPLACE:
			return syscall.EEXIST
		case dst == src:
			return nil // two names of one file: rename(2) does nothing
		case flags == unix.RENAME_EXCHANGE:
			return t.exchange(from, to, src, dst)
		}
		return t.replace(from, to, src, dst)
	})
}

// replace moves src, over dst if that is not nil.
func (t *tx) replace(from, to dentry, src, dst *node) error {
	if err := t.mayReplace(src, dst); err != nil {
		return err
	}
	white, err := t.baseHas(from.dir, from.name)
	if err != nil {
		return err
	}
	if err := t.prepareMove(src); err != nil {
		return err
	}
	if err := t.recordMerges(from.dir, to.dir); err != nil {
		return err
	}
	if dst != nil {
		// The base's entry below needs no whiteout, unless the new one would be merged with it: that hides it.
		if err := t.unlink(to.dir, to.name, dst, t.wouldMerge(src, to)); err != nil {
			return err
		}
	}
	if err := t.move(from, to, src, white); err != nil {
		return err
	}
	t.moved(from, to)
	return nil
}

// exchange has src and dst change places. What the base has there needs no whiteout, unless they would be merged with it: both
// names go on to be in the delta.
func (t *tx) exchange(from, to dentry, src, dst *node) error {
	for _, n := range []*node{src, dst} {
		if err := t.mayMove(n); err != nil {
			return err
		}
		if err := t.prepareMove(n); err != nil {
			return err
		}
	}
	if err := t.recordMerges(from.dir, to.dir); err != nil {
		return err
	}
	for i, at := range []dentry{from, to} {
		n := []*node{src, dst}[i]
		entry, err := t.hasEntry(at, n)
		if err != nil {
			return err
		}
		if !entry {
			t.recordBaseline(at.dir, at.name, n, true, t.baseline(n))
			t.uncountName(at.dir, at.name, n)
		}
		if t.wouldMerge([]*node{dst, src}[i], at) {
			if err := t.db.SetWhiteout(at.dir.in, at.name); err != nil {
				return err
			}
		}
	}
	if err := errors.Join(t.link(from, dst), t.link(to, src)); err != nil {
		return err
	}
	if src.attrOf().IsDir() {
		addSubdirectory(from.dir, -1)
	}
	if dst.attrOf().IsDir() {
		addSubdirectory(to.dir, -1)
	}
	t.moved(from, to)
	return nil
}

// mayMove tells what keeps a node from being moved.
func (t *tx) mayMove(n *node) error {
	// Part of it is hidden here, and a reader of the database who does not know that would see it at another place.
	// With EXDEV, programs copy what they see (rename(2)).
	if t.host != nil && n.base != nil && n.attrOf().IsDir() && t.host.hidden.part(n.base.path) {
		return syscall.EXDEV
	}
	return nil
}

// mayReplace tells what keeps a node from being renamed over another; nil: nothing has the new name.
func (t *tx) mayReplace(src, dst *node) error {
	if err := t.mayMove(src); err != nil || dst == nil {
		return err
	}
	switch srcDir, dstDir := src.attrOf().IsDir(), dst.attrOf().IsDir(); {
	case srcDir && !dstDir:
		return syscall.ENOTDIR
	case !srcDir && dstDir:
		return syscall.EISDIR
	case dstDir:
		return t.checkEmpty(dst)
	}
	return nil
}

// wouldMerge tells whether a node that comes to a place would be merged with what the base has there, see [tx.mergeBase]: then it
// needs a whiteout beside it. At the workspace's, all do.
func (t *tx) wouldMerge(n *node, at dentry) bool {
	path, ok := t.baseChild(at.dir, at.name)
	return ok && (path == "." || n.attrOf().IsDir() && t.mergeDirs(path))
}

// prepareMove gives a node all that it needs to be the same at another place.
func (t *tx) prepareMove(n *node) error {
	if err := t.copyUp(n); err != nil {
		return err
	}
	return t.recordOrigin(n)
}

// move gives a node that is prepared another name. white: the base's entry of the old one is to be hidden.
func (t *tx) move(from, to dentry, src *node, white bool) error {
	entry, err := t.hasEntry(from, src)
	if err == nil && entry {
		err = t.db.Unlink(from.dir.in, from.name)
	} else if err == nil { // the base has shown it there, maybe as another name of its origin
		t.recordBaseline(from.dir, from.name, src, white, t.baseline(src))
		t.uncountName(from.dir, from.name, src)
	}
	if err != nil {
		return err
	}
	if white {
		if err := t.db.SetWhiteout(from.dir.in, from.name); err != nil {
			return err
		}
	}
	if src.in.Attr.IsDir() {
		addSubdirectory(from.dir, -1)
	}
	return t.link(to, src)
}

// hasEntry tells whether the delta has a node at a place, rather than the base.
func (t *tx) hasEntry(at dentry, n *node) (bool, error) {
	c, ok, _, err := t.db.Child(at.dir.in, at.name)
	return ok && n.in != nil && c.Ino == n.in.Ino, err
}

// link puts a node that is prepared in its new place.
func (t *tx) link(to dentry, n *node) error {
	if err := t.db.Link(to.dir.in, to.name, n.in); err != nil {
		return err
	}
	if n.in.Attr.IsDir() {
		addSubdirectory(to.dir, 1)
		n.parentIno = to.dir.ino
	}
	n.in.Change(sqlvfs.Now())
	t.db.Dirty(n.in)
	return t.reattach(to.dir, to.name, n, t.detachBase) // had the base anything where it was, it would have an origin by now
}

// moved notes in directories that entries of them have moved.
func (t *tx) moved(from, to dentry) {
	now := sqlvfs.Now()
	t.modified(from.dir, now)
	t.modified(to.dir, now)
}

// recordOrigin writes down an origin that so far followed from the node's place, see [tx.mergeBase].
func (t *tx) recordOrigin(n *node) error {
	if !n.inBase() || n.in.Origin != nil || n.ino == RootIno {
		return nil
	}
	now, err := t.lstat(n.base.path)
	switch {
	case err != nil:
		return err
	case n.base.path != "." && (oneOf(now.err, syscall.ENOENT, syscall.ENOTDIR, syscall.ELOOP) || now.err == nil && !now.attr.IsDir()):
		return nil // it is merged with nothing, see reattach
	case now.err != nil:
		return now.err
	}
	t.db.SetOrigin(n.in, &sqlvfs.Origin{Base: t.name, Path: n.base.path, Number: uint64(n.in.Ino), Fingerprint: now.fp, Mode: now.attr.Mode})
	return nil
}
