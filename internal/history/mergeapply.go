package history

import (
	"bytes"
	"fmt"

	"github.com/riverlytech/art/sqlvfs"
)

// applier does what a merge has decided, in one step.
type applier struct {
	*merger
	tx      *sqlvfs.Tx
	now     sqlvfs.Timespec
	live    map[sqlvfs.Ino]*sqlvfs.Inode
	held    []*sqlvfs.Inode
	emptied map[sqlvfs.Ino]bool // directories
}

func (m *merger) apply(tx *sqlvfs.Tx) error {
	a := &applier{m, tx, sqlvfs.Now(), map[sqlvfs.Ino]*sqlvfs.Inode{}, nil, map[sqlvfs.Ino]bool{}}
	defer func() {
		for _, in := range a.held {
			tx.Put(in)
		}
	}()
	for _, step := range []func() error{a.make, a.take, a.unlink, a.link, a.agree} {
		if err := step(); err != nil {
			return err
		}
	}
	return tx.SetMerged(m.secret, sqlvfs.Merged{Checkpoint: m.merged, Conflicts: m.left})
}

// get returns an inode, which is held until the end of the step.
func (a *applier) get(n *node) (in *sqlvfs.Inode, err error) {
	if n.in != nil {
		return n.in, nil
	}
	n.in, err = a.inode(n.ino)
	return n.in, err
}

func (a *applier) inode(ino sqlvfs.Ino) (*sqlvfs.Inode, error) {
	if in := a.live[ino]; in != nil {
		return in, nil
	}
	in, err := a.tx.Get(ino)
	if err == nil {
		a.live[ino] = in
		a.held = append(a.held, in)
	}
	return in, err
}

func (a *applier) make() error {
	for _, n := range a.makes {
		attr := n.from.row.Attr
		attr.Nlink, attr.Ctime = n.names, a.now
		if attr.IsDir() {
			attr.Nlink = max(n.from.row.Attr.Nlink, 2) // what is linked into it counts already
			if n.pull != nil {
				attr.Nlink += n.pull.more
			}
		}
		if attr.IsRegular() {
			attr.Size = 0
		}
		in, err := a.tx.New(attr)
		if err != nil {
			return err
		}
		n.in = in
		a.held = append(a.held, in)
		if err := a.fill(n); err != nil {
			return err
		}
	}
	return nil
}

// fill gives a new inode what the fork's has.
func (a *applier) fill(n *node) error {
	if o := n.from.row.Origin; o != nil {
		now := *o
		// Programs know what comes from the host by the number that it has there, if nothing else has it here.
		if taken, err := a.tx.FindNumber(o.Number); err != nil {
			return err
		} else if taken != 0 || o.Number < uint64(sqlvfs.MaxIno) {
			now.Number = uint64(n.in.Ino)
		}
		a.tx.SetOrigin(n.in, &now)
	}
	if n.pull != nil {
		a.tx.SetOrigin(n.in, n.pull.origin(uint64(n.in.Ino)))
	}
	if n.from.row.Attr.IsSymlink() {
		a.tx.SetTarget(n.in, n.from.row.Target)
	}
	if n.from.row.Attr.IsRegular() {
		if err := a.tx.TakeContent(n.in, n.from.m, n.from.row); err != nil {
			return err
		}
	}
	return a.takeXattrs(n.in, n.from)
}

func (a *applier) takeXattrs(in *sqlvfs.Inode, from *version) error {
	all, err := from.m.Xattrs(from.row.Ino)
	if err != nil {
		return err
	}
	has, err := a.tx.Xattrs(in)
	if err != nil {
		return err
	}
	for _, name := range has {
		if all[name] == nil {
			if err := a.tx.RemoveXattr(in, name); err != nil {
				return err
			}
		}
	}
	for name, value := range all {
		was, ok, err := a.tx.Xattr(in, name)
		if err == nil && (!ok || !bytes.Equal(was, value)) {
			err = a.tx.SetXattr(in, name, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *applier) take() error {
	for i := range a.takes {
		t := &a.takes[i]
		in, err := a.get(t.into)
		if err != nil {
			return err
		}
		if t.mode {
			in.Attr.Mode = in.Attr.Mode&^0o7777 | t.from.row.Attr.Mode&0o7777
		}
		if t.owner {
			in.Attr.UID, in.Attr.GID = t.from.row.Attr.UID, t.from.row.Attr.GID
		}
		if t.xattrs {
			err = a.takeXattrs(in, t.from)
		}
		if t.content && err == nil {
			if in.Attr.IsSymlink() {
				a.tx.SetTarget(in, t.from.row.Target)
			} else {
				err = a.tx.TakeContent(in, t.from.m, t.from.row)
			}
		}
		if err != nil {
			return err
		}
		if t.time {
			in.Attr.Mtime = t.from.row.Attr.Mtime
		}
		in.Change(a.now)
		a.tx.Dirty(in)
	}
	return nil
}

func (a *applier) unlink() error {
	for _, l := range a.links { // what moves is there until it has its new name
		if _, err := a.get(l.to); err != nil {
			return err
		}
	}
	for _, e := range a.unlinks {
		dir, err := a.get(e.dir)
		if err != nil {
			return err
		}
		if err := a.remove(dir, e.name, e.ours.row.Ino); err != nil {
			return err
		}
		a.touch(dir)
	}
	for _, n := range a.loses {
		in, err := a.get(n)
		if err != nil {
			return err
		}
		in.Attr.Nlink = max(in.Attr.Nlink, 1) - 1
		in.Change(a.now)
		a.tx.Dirty(in)
	}
	for _, e := range a.hides {
		dir, err := a.get(e.dir)
		if err == nil {
			err = a.tx.SetWhiteout(dir, e.name)
		}
		if err != nil {
			return err
		}
		a.touch(dir)
	}
	for _, e := range a.shows {
		dir, err := a.get(e.dir)
		if err == nil {
			err = a.tx.ClearWhiteout(dir, e.name)
		}
		if err != nil {
			return err
		}
		a.touch(dir)
	}
	return nil
}

// remove takes a name away, and all that is below it, but for what moves.
func (a *applier) remove(dir *sqlvfs.Inode, name string, ino sqlvfs.Ino) error {
	c, ok, _, err := a.tx.Child(dir, name)
	if err == nil && (!ok || c.Ino != ino) {
		err = fmt.Errorf("%w: %q does not lead to inode %d", sqlvfs.ErrCorrupt, name, ino)
	}
	if err != nil {
		return err
	}
	in, err := a.inode(ino)
	if err != nil {
		return err
	}
	if in.Attr.IsDir() {
		if dir.Attr.Nlink > 1 {
			dir.Attr.Nlink = max(dir.Attr.Nlink-1, 2)
		}
		if !a.moved[ino] {
			if err := a.empty(in); err != nil {
				return err
			}
			in.Attr.Nlink = 0
		}
	} else if in.Attr.Nlink > 0 {
		in.Attr.Nlink--
	}
	in.Change(a.now)
	a.tx.Dirty(in)
	return a.tx.Unlink(dir, name)
}

// empty removes all that is in a directory.
func (a *applier) empty(dir *sqlvfs.Inode) error {
	if a.emptied[dir.Ino] { // it has two parents, or is in itself
		return fmt.Errorf("%w: directory %d has several names", sqlvfs.ErrCorrupt, dir.Ino)
	}
	a.emptied[dir.Ino] = true
	list, err := a.tx.Children(dir)
	for _, c := range list {
		if err == nil {
			err = a.remove(dir, c.Name, c.Ino)
		}
	}
	if err == nil {
		err = a.tx.ClearWhiteouts(dir)
	}
	return err
}

func (a *applier) link() error {
	for _, l := range a.links {
		dir, err := a.get(l.dir)
		if err != nil {
			return err
		}
		in := l.to.in
		if err := a.tx.ClearWhiteout(dir, l.name); err != nil {
			return err
		}
		switch {
		case !in.Attr.IsDir():
			in.Attr.Nlink++
		case l.dir.from == nil && dir.Attr.Nlink > 1 && !l.ours.ofHost():
			dir.Attr.Nlink++
		}
		if l.to.from == nil {
			in.Change(a.now)
		}
		a.tx.Dirty(in)
		if err := a.tx.Link(dir, l.name, in); err != nil {
			return err
		}
		a.touch(dir)
	}
	return nil
}

// touch notes that an entry of a directory is another one. What is made has its times of the fork's.
func (a *applier) touch(dir *sqlvfs.Inode) {
	if a.live[dir.Ino] == nil {
		return
	}
	dir.Attr.Mtime = a.now
	dir.Change(a.now)
	a.tx.Dirty(dir)
}
