package fs

import (
	"syscall"

	"github.com/riverlytech/art/sqlvfs"
)

// Mknod implements FileSystem.
func (o *Overlay) Mknod(c Caller, parent Ino, name string, mode, rdev uint32) (Entry, error) {
	return o.make(c, parent, name, sqlvfs.Attr{Mode: mode, Rdev: rdev, Nlink: 1}, "")
}

// Mkdir implements FileSystem.
func (o *Overlay) Mkdir(c Caller, parent Ino, name string, mode uint32) (Entry, error) {
	return o.make(c, parent, name, sqlvfs.Attr{Mode: syscall.S_IFDIR | mode&0o7777, Nlink: 2}, "")
}

// Symlink implements FileSystem.
func (o *Overlay) Symlink(c Caller, parent Ino, name, target string) (Entry, error) {
	if target == "" {
		return Entry{}, syscall.ENOENT
	}
	return o.make(c, parent, name, sqlvfs.Attr{Mode: syscall.S_IFLNK | 0o777, Nlink: 1}, target)
}

// make adds a new inode under a name that must not be taken.
func (o *Overlay) make(c Caller, parent Ino, name string, attr sqlvfs.Attr, target string) (Entry, error) {
	if len(name) > sqlvfs.NameMax {
		return Entry{}, syscall.ENAMETOOLONG
	}
	o.store.Lock()
	defer o.store.Unlock()
	p, err := o.writableDir(parent)
	if err == nil && o.reserved(p, name) {
		err = syscall.EPERM
	}
	if err != nil {
		return Entry{}, err
	}
	if n, err := o.lookup(p, name, nil); err != syscall.ENOENT {
		if err == nil {
			o.drop(n)
			err = syscall.EEXIST
		}
		return Entry{}, err
	}
	now := sqlvfs.Now()
	attr.UID, attr.GID = o.hostUID(c.UID), o.hostGID(c.GID)
	// In a set-group-ID directory everything new belongs to its group (inode(7)).
	if p.in.Attr.Mode&syscall.S_ISGID != 0 {
		attr.GID = p.in.Attr.GID
		if attr.IsDir() {
			attr.Mode |= syscall.S_ISGID
		}
	}
	attr.Atime, attr.Mtime, attr.Ctime = now, now, now
	in, err := o.store.New(attr)
	if err != nil {
		return Entry{}, err
	}
	if attr.IsSymlink() {
		o.store.SetTarget(in, target)
	}
	if err := o.store.Link(p.in, name, in); err != nil {
		in.Attr.Nlink = 0
		o.store.Put(in)
		return Entry{}, err
	}
	if attr.IsDir() {
		addSubdirectory(p, 1)
	}
	o.modified(p, now)
	n := &node{ino: Ino(in.Ino), in: in, parentIno: p.ino}
	o.nodes[n.ino] = n
	return o.hold(n), nil
}

// addSubdirectory counts a directory's ".." entries. File systems that do not count them show 1,
// and a directory copied up from there goes on that way.
func addSubdirectory(p *node, delta int) {
	if n := int(p.in.Attr.Nlink); n > 1 {
		p.in.Attr.Nlink = uint32(max(n+delta, 2))
	}
}

// Link implements FileSystem.
func (o *Overlay) Link(ino Ino, parent Ino, name string) (Entry, error) {
	if len(name) > sqlvfs.NameMax {
		return Entry{}, syscall.ENAMETOOLONG
	}
	o.store.Lock()
	defer o.store.Unlock()
	p, err := o.writableDir(parent)
	if err == nil && o.reserved(p, name) {
		err = syscall.EPERM
	}
	if err != nil {
		return Entry{}, err
	}
	n, err := o.get(ino)
	if err != nil {
		return Entry{}, err
	}
	if n.attrOf().IsDir() {
		return Entry{}, syscall.EPERM
	}
	if err := o.copyUp(n); err != nil {
		return Entry{}, err
	}
	if n.in.Attr.Nlink == 0 {
		return Entry{}, syscall.ENOENT
	}
	if other, err := o.lookup(p, name, nil); err != syscall.ENOENT {
		if err == nil {
			o.drop(other)
			err = syscall.EEXIST
		}
		return Entry{}, err
	}
	if err := o.store.Link(p.in, name, n.in); err != nil {
		return Entry{}, err
	}
	now := sqlvfs.Now()
	n.in.Attr.Nlink++
	n.in.Attr.Ctime = now
	o.store.Dirty(n.in)
	o.modified(p, now)
	return o.hold(n), nil
}

// Unlink implements FileSystem.
func (o *Overlay) Unlink(parent Ino, name string) error {
	return o.remove(parent, name, false)
}

// Rmdir implements FileSystem.
func (o *Overlay) Rmdir(parent Ino, name string) error {
	return o.remove(parent, name, true)
}

func (o *Overlay) remove(parent Ino, name string, dir bool) error {
	o.store.Lock()
	defer o.store.Unlock()
	if o.store.ReadOnly() {
		return syscall.EROFS
	}
	o.store.Room()
	p, err := o.get(parent)
	if err != nil {
		return err
	}
	n, err := o.lookup(p, name, nil)
	if err != nil {
		return err
	}
	n.holds++
	defer func() { n.holds--; o.drop(n) }()
	switch isDir := n.attrOf().IsDir(); {
	case dir && !isDir:
		return syscall.ENOTDIR
	case !dir && isDir:
		return syscall.EISDIR
	case dir:
		if err := o.checkEmpty(n); err != nil {
			return err
		}
	}
	white, err := o.inBase(p, name)
	if err != nil {
		return err
	}
	if err := o.copyUp(p); err != nil {
		return err
	}
	if err := o.unlink(p, name, n, white); err != nil {
		return err
	}
	now := sqlvfs.Now()
	o.modified(p, now)
	return nil
}

// unlink takes a name away from a node, and hides the base's entry of that name if there is one.
// Lock held; it may be let go of before anything is changed.
func (o *Overlay) unlink(p *node, name string, n *node, white bool) error {
	// A file that has other names lives on and needs a row of its own to say how many it has left.
	if n.in == nil && !n.attr.IsDir() && n.attr.Nlink > 1 {
		if err := o.copyUp(n); err != nil {
			return err
		}
	}
	seen := o.baseline(n)
	if n.in == nil {
		n.gone = true
		n.attr.Nlink = 0
	} else {
		c, ok, _, err := o.store.Child(p.in, name)
		if err != nil {
			return err
		}
		if ok && c.Ino == n.in.Ino {
			if err := o.store.Unlink(p.in, name); err != nil {
				return err
			}
		}
		if n.in.Attr.IsDir() {
			// Whoever still stands in it finds it empty, whatever the base holds; so nothing needs
			// hiding any more, and no whiteout outlives the row.
			n.in.Attr.Nlink = 0
			n.based = false
			if err := o.store.ClearWhiteouts(n.in); err != nil {
				return err
			}
		} else if n.in.Attr.Nlink > 0 {
			n.in.Attr.Nlink--
		}
		n.in.Attr.Ctime = sqlvfs.Now()
		o.store.Dirty(n.in)
	}
	if n.attrOf().IsDir() {
		addSubdirectory(p, -1)
	}
	o.remember(p, name, n, white, seen)
	if white {
		return o.store.SetWhiteout(p.in, name)
	}
	return nil
}

// checkEmpty returns ENOTEMPTY if a directory shows any entry.
// Lock held; it is let go of while the host is asked.
func (o *Overlay) checkEmpty(n *node) error {
	host, err := o.openDir(n)
	if err != nil {
		return err
	}
	if host != nil {
		defer host.Close()
	}
	list, err := o.list(n, host)
	if err != nil {
		return err
	}
	if len(list) > 0 {
		return syscall.ENOTEMPTY
	}
	return nil
}

// Rename implements FileSystem. The kernel has made sure that a directory is not moved below itself.
func (o *Overlay) Rename(oldParent Ino, oldName string, newParent Ino, newName string) error {
	if len(newName) > sqlvfs.NameMax {
		return syscall.ENAMETOOLONG
	}
	o.store.Lock()
	defer o.store.Unlock()
	op, err := o.writableDir(oldParent)
	if err != nil {
		return err
	}
	np, err := o.writableDir(newParent)
	if err == nil && o.reserved(np, newName) {
		err = syscall.EPERM
	}
	if err != nil {
		return err
	}
	src, err := o.lookup(op, oldName, nil)
	if err != nil {
		return err
	}
	src.holds++
	defer func() { src.holds--; o.drop(src) }()
	dst, err := o.lookup(np, newName, nil)
	if err != nil && err != syscall.ENOENT {
		return err
	}
	if dst == src {
		return nil // two names of one file: rename(2) does nothing
	}
	// At another place, what is not shown of it would be shown to who reads the database without knowing
	// of that. Who moves files copies what he sees then (rename(2), EXDEV).
	if o.host != nil && src.based && src.attrOf().IsDir() && o.host.hidden.part(src.path) {
		return syscall.EXDEV
	}
	if dst != nil {
		dst.holds++
		defer func() { dst.holds--; o.drop(dst) }()
		switch srcDir, dstDir := src.attrOf().IsDir(), dst.attrOf().IsDir(); {
		case srcDir && !dstDir:
			return syscall.ENOTDIR
		case !srcDir && dstDir:
			return syscall.EISDIR
		case dstDir:
			if err := o.checkEmpty(dst); err != nil {
				return err
			}
		}
	}
	white, err := o.inBase(op, oldName)
	if err != nil {
		return err
	}
	if err := o.copyUp(src); err != nil {
		return err
	}
	if err := o.ownOrigin(src); err != nil {
		return err
	}
	if dst != nil {
		// The base's entry below needs no whiteout: the new entry hides it. Only the workspace's
		// does, or attach would take what comes there for a pushed one, and lay it over the host's.
		isWorkspace := o.host != nil && np.ino == RootIno && newName == o.name
		if err := o.unlink(np, newName, dst, isWorkspace); err != nil {
			return err
		}
	}
	if c, ok, _, err := o.store.Child(op.in, oldName); err != nil {
		return err
	} else if ok && c.Ino == src.in.Ino {
		if err := o.store.Unlink(op.in, oldName); err != nil {
			return err
		}
	}
	if white {
		if err := o.store.SetWhiteout(op.in, oldName); err != nil {
			return err
		}
	}
	if err := o.store.Link(np.in, newName, src.in); err != nil {
		return err
	}
	if src.in.Attr.IsDir() {
		addSubdirectory(op, -1)
		addSubdirectory(np, 1)
		src.parentIno = np.ino
	}
	now := sqlvfs.Now()
	src.in.Attr.Ctime = now
	o.store.Dirty(src.in)
	o.modified(op, now)
	o.modified(np, now)
	return nil
}

// ownOrigin writes down an origin that so far followed from the node's place: the workspace's, when
// it came from a push. Lock held.
func (o *Overlay) ownOrigin(n *node) error {
	if !n.based || n.in.Origin != nil || n.ino == RootIno {
		return nil
	}
	attr, fp, err := o.host.Lstat(n.path)
	if err != nil {
		return err
	}
	o.store.SetOrigin(n.in, &sqlvfs.Origin{Base: o.name, Path: n.path, Number: uint64(n.in.Ino), Fingerprint: fp, Mode: attr.Mode})
	return nil
}
