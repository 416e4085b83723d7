package fs

import (
	"errors"
	"syscall"

	"github.com/riverlytech/art/sqlvfs"
)

// Mknod implements FileSystem.
func (o *Overlay) Mknod(c Caller, parent Ino, name string, mode, rdev uint32) (Entry, error) {
	return o.create(c, parent, name, sqlvfs.Attr{Mode: mode, Rdev: rdev, Nlink: 1}, "")
}

// Mkdir implements FileSystem.
func (o *Overlay) Mkdir(c Caller, parent Ino, name string, mode uint32) (Entry, error) {
	return o.create(c, parent, name, sqlvfs.Attr{Mode: syscall.S_IFDIR | mode&0o7777, Nlink: 2}, "")
}

// Symlink implements FileSystem.
func (o *Overlay) Symlink(c Caller, parent Ino, name, target string) (Entry, error) {
	if target == "" {
		return Entry{}, syscall.ENOENT
	}
	return o.create(c, parent, name, sqlvfs.Attr{Mode: syscall.S_IFLNK | 0o777, Nlink: 1}, target)
}

// create adds a new inode under a name that must not be taken.
func (o *Overlay) create(c Caller, parent Ino, name string, attr sqlvfs.Attr, target string) (e Entry, err error) {
	if len(name) > sqlvfs.NameMax {
		return Entry{}, syscall.ENAMETOOLONG
	}
	err = o.update(c.By, func(t *tx) error {
		p, err := t.dirForNew(parent, name)
		if err != nil {
			return err
		}
		in, err := t.newInode(c, p, attr)
		if err != nil {
			return err
		}
		if attr.IsSymlink() {
			t.db.SetTarget(in, target)
		}
		if err := t.db.Link(p.in, name, in); err != nil {
			in.Attr.Nlink = 0
			t.db.Put(in)
			return err
		}
		if attr.IsDir() {
			addSubdirectory(p, 1)
		}
		t.modified(p, in.Attr.Ctime)
		n := &node{ino: Ino(in.Ino), in: in, parentIno: p.ino}
		t.add(n)
		e = t.acquireEntry(n)
		return t.attachBase(p, name, n)
	})
	return e, err
}

// newInode makes an inode that is new in a directory, without a name.
func (t *tx) newInode(c Caller, dir *node, attr sqlvfs.Attr) (*sqlvfs.Inode, error) {
	attr.UID, attr.GID = t.hostUID(c.UID), t.hostGID(c.GID)
	// In a set-group-ID directory everything new belongs to its group (inode(7)).
	if p := dir.attrOf(); p.Mode&syscall.S_ISGID != 0 {
		attr.GID = p.GID
		if attr.IsDir() {
			attr.Mode |= syscall.S_ISGID
		}
	}
	now := sqlvfs.Now()
	attr.Atime, attr.Mtime, attr.Ctime = now, now, now
	lists, err := t.inherit(dir, &attr, c.Umask)
	if err != nil {
		return nil, err
	}
	in, err := t.db.New(attr)
	if err == nil {
		if err = t.setInherited(in, lists); err != nil {
			in.Attr.Nlink = 0
			t.db.Put(in)
		}
	}
	return in, err
}

// Tmpfile implements FileSystem. What is committed before the file has a name is an orphan's.
func (o *Overlay) Tmpfile(c Caller, parent Ino, mode uint32) (e Entry, err error) {
	err = o.update(c.By, func(t *tx) error {
		p, err := t.get(parent)
		if err != nil {
			return err
		}
		in, err := t.newInode(c, p, sqlvfs.Attr{Mode: syscall.S_IFREG | mode&0o7777})
		if err != nil {
			return err
		}
		n := &node{ino: Ino(in.Ino), in: in, linkable: true}
		t.add(n)
		e = t.acquireEntry(n)
		return nil
	})
	return e, err
}

// dirForNew prepares a directory for a new entry, whose name must not be taken.
func (t *tx) dirForNew(parent Ino, name string) (*node, error) {
	p, err := t.writableDir(parent)
	if err != nil {
		return nil, err
	}
	if t.reserved(p, name) {
		return nil, syscall.EPERM
	}
	switch _, err := t.lookup(p, name); {
	case err == nil:
		return nil, syscall.EEXIST
	case errors.Is(err, syscall.ENOENT):
		return p, nil
	default:
		return nil, err
	}
}

// addSubdirectory counts a directory's ".." entries. File systems that do not count them show 1,
// and a directory copied up from there goes on that way.
func addSubdirectory(p *node, delta int) {
	if n := int(p.in.Attr.Nlink); n > 1 {
		p.in.Attr.Nlink = uint32(max(n+delta, 2))
	}
}

// Link implements FileSystem.
func (o *Overlay) Link(c Caller, ino Ino, parent Ino, name string) (e Entry, err error) {
	if len(name) > sqlvfs.NameMax {
		return Entry{}, syscall.ENAMETOOLONG
	}
	err = o.update(c.By, func(t *tx) error {
		n, err := t.get(ino)
		if err != nil {
			return err
		}
		if n.attrOf().IsDir() {
			return syscall.EPERM
		}
		p, err := t.dirForNew(parent, name)
		if err != nil {
			return err
		}
		if err := t.copyUp(n); err != nil {
			return err
		}
		if n.in.Attr.Nlink == 0 && !n.linkable {
			return syscall.ENOENT
		}
		if err := t.db.Link(p.in, name, n.in); err != nil {
			return err
		}
		now := sqlvfs.Now()
		n.in.Attr.Nlink++
		n.linkable = false
		n.in.Change(now)
		t.db.Dirty(n.in)
		t.modified(p, now)
		e = t.acquireEntry(n)
		return nil
	})
	return e, err
}

// Unlink implements FileSystem.
func (o *Overlay) Unlink(c Caller, parent Ino, name string) error {
	return o.remove(c.By, parent, name, false)
}

// Rmdir implements FileSystem.
func (o *Overlay) Rmdir(c Caller, parent Ino, name string) error {
	return o.remove(c.By, parent, name, true)
}

func (o *Overlay) remove(by Author, parent Ino, name string, dir bool) error {
	return o.reduce(by, func(t *tx) error {
		p, err := t.get(parent)
		if err != nil {
			return err
		}
		n, white, err := t.toRemove(p, name)
		if err != nil {
			return err
		}
		switch isDir := n.attrOf().IsDir(); {
		case dir && !isDir:
			return syscall.ENOTDIR
		case !dir && isDir:
			return syscall.EISDIR
		case dir:
			if err := t.checkEmpty(n); err != nil {
				return err
			}
		}
		if err := t.copyUp(p); err != nil {
			return err
		}
		if err := t.recordMerges(p); err != nil {
			return err
		}
		if err := t.unlink(p, name, n, white); err != nil {
			return err
		}
		t.modified(p, sqlvfs.Now())
		return nil
	})
}

// toRemove finds the node of a name that the guest removes, and tells whether the base has an entry of that name. The host is not
// asked for what the guest knows and a watch would tell of. What comes to be there before that event is heard of is then
// hidden as what the guest has never seen: it differs from the baseline.
func (t *tx) toRemove(p *node, name string) (n *node, white bool, err error) {
	if n = p.known(name); n != nil {
		if inDelta, err := t.deltaChild(p, name); inDelta == nil && err == nil {
			return n, true, nil
		}
	}
	if n, err = t.lookup(p, name); err != nil {
		return nil, false, err
	}
	white, err = t.baseHas(p, name)
	return n, white, err
}

// unlink takes a name away from a node, and hides the base's entry of that name if there is one.
func (t *tx) unlink(p *node, name string, n *node, white bool) error {
	// A file that has other names lives on and needs a row of its own to say how many it has left.
	if n.in == nil && !n.base.attr.IsDir() && n.base.attr.Nlink > 1 {
		if err := t.copyUp(n); err != nil {
			return err
		}
	}
	if err := t.recount(n, dentry{p, name}); err != nil {
		return err
	}
	seen, entry := t.baseline(n), false
	if n.in == nil {
		n.base.gone = true
		n.base.attr.Nlink = 0
	} else {
		var err error
		if entry, err = t.hasEntry(dentry{p, name}, n); err == nil && entry {
			err = t.db.Unlink(p.in, name)
		}
		if err == nil && !entry {
			t.uncountName(p, name, n)
		}
		if err != nil {
			return err
		}
		if n.in.Attr.IsDir() {
			// Whoever still stands in it finds it empty, whatever the base holds; so nothing needs
			// hiding any more, and no whiteout outlives the row.
			n.in.Attr.Nlink = 0
			if n.base != nil {
				n.base.gone = true
			}
			if err := t.db.ClearWhiteouts(n.in); err != nil {
				return err
			}
		} else if n.in.Attr.Nlink > 0 {
			n.in.Attr.Nlink--
		}
		n.in.Change(sqlvfs.Now())
		t.db.Dirty(n.in)
	}
	if n.attrOf().IsDir() {
		addSubdirectory(p, -1)
		n.deadDir = true
	}
	t.noteRemoved(n)
	// Where it has an entry of its own, what the base may have here is either its origin or something that it never was.
	t.recordBaseline(p, name, n, !entry, seen)
	if white {
		return t.db.SetWhiteout(p.in, name)
	}
	return nil
}

// checkEmpty returns ENOTEMPTY if a directory shows any entry, or has one that is not shown.
func (t *tx) checkEmpty(n *node) error {
	dir, err := t.openDir(n, false, true)
	if err != nil {
		return err
	}
	list, err := t.list(n, dir)
	empty := len(list) == 0
	if err == nil && empty && n.in != nil { // an older session may have made what is reserved now
		var children []sqlvfs.Child
		children, err = t.db.Children(n.in)
		empty = len(children) == 0
	}
	if err == nil && !empty {
		err = syscall.ENOTEMPTY
	}
	return err
}
