// Package rows changes the tree of a database. A change is a step that takes the Store's lock, and keeps the link counts
// right.
package rows

import (
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// Rows is the tree of a database. The store is nil in a dry run of push without a database; then every inode is nil
// too.
type Rows struct{ store *sqlvfs.Store }

// Of returns the tree of a store.
func Of(s *sqlvfs.Store) Rows { return Rows{s} }

// Root returns the root, held.
func (t Rows) Root() *sqlvfs.Inode {
	if t.store == nil {
		return nil
	}
	t.store.Lock()
	defer t.store.Unlock()
	root := t.store.Root()
	t.store.Hold(root)
	return root
}

// Child returns the inode that a directory's entry stands for, held, or nil.
func (t Rows) Child(dir *sqlvfs.Inode, name string) (*sqlvfs.Inode, error) {
	if dir == nil {
		return nil, nil
	}
	t.store.Lock()
	defer t.store.Unlock()
	c, ok, _, err := t.store.Child(dir, name)
	if err != nil || !ok {
		return nil, err
	}
	return t.store.Get(c.Ino)
}

// Get returns an inode, held.
func (t Rows) Get(ino sqlvfs.Ino) (*sqlvfs.Inode, error) {
	t.store.Lock()
	defer t.store.Unlock()
	return t.store.Get(ino)
}

// Put gives up a hold, if there is one.
func (t Rows) Put(in *sqlvfs.Inode) {
	if in == nil {
		return
	}
	t.store.Lock()
	t.store.Put(in)
	t.store.Unlock()
}

// Leads tells whether a symbolic link, if there is one, leads to a target.
func (t Rows) Leads(in *sqlvfs.Inode, target string) (bool, error) {
	if in == nil {
		return false, nil
	}
	t.store.Lock()
	defer t.store.Unlock()
	is, err := t.store.Target(in)
	return is == target, err
}

// Do runs a step that changes the database, under the Store's lock.
func (t Rows) Do(step func() error) error {
	t.store.Lock()
	defer t.store.Unlock()
	if err := t.store.Ready(); err != nil {
		return err
	}
	return step()
}

// With is Do for a step on one row.
func (t Rows) With(ino sqlvfs.Ino, step func(*sqlvfs.Inode) error) error {
	return t.Do(func() error { return t.Held(ino, step) })
}

// Held runs a step on a row. The Store's lock must be held.
func (t Rows) Held(ino sqlvfs.Ino, step func(*sqlvfs.Inode) error) error {
	row, err := t.store.Get(ino)
	if err != nil {
		return err
	}
	defer t.store.Put(row)
	return step(row)
}

// Create makes an inode without a name, held. Nothing of it stays if the process is killed before
// it is linked: so a file appears with all of its content or not at all.
func (t Rows) Create(attr sqlvfs.Attr) (row *sqlvfs.Inode, err error) {
	err = t.Do(func() error {
		attr.Nlink, attr.Size = 0, 0
		row, err = t.store.New(attr)
		return err
	})
	return row, err
}

// Update runs a change of an inode's fields and makes the entry stand for the inode, as one step.
func (t Rows) Update(dir *sqlvfs.Inode, name string, in *sqlvfs.Inode, change func()) error {
	return t.Do(func() error {
		change()
		t.store.Dirty(in)
		return t.enter(dir, name, in)
	})
}

// Change runs a change of an inode's fields.
func (t Rows) Change(in *sqlvfs.Inode, change func()) error {
	return t.Do(func() error {
		change()
		t.store.Dirty(in)
		return nil
	})
}

// enter makes an entry stand for an inode, in place of what it stood for, and keeps the link
// counts right. The Store's lock must be held.
func (t Rows) enter(dir *sqlvfs.Inode, name string, in *sqlvfs.Inode) error {
	c, ok, whiteout, err := t.store.Child(dir, name)
	if err != nil {
		return err
	}
	if ok && c.Ino == in.Ino {
		return nil
	}
	if ok {
		if err := t.Drop(dir, name, c.Ino); err != nil {
			return err
		}
	}
	if whiteout {
		if err := t.store.ClearWhiteout(dir, name); err != nil {
			return err
		}
	}
	if in.Attr.IsDir() {
		in.Attr.Nlink = 2
		dir.Attr.Nlink++
		t.store.Dirty(dir)
	} else {
		in.Attr.Nlink++
	}
	t.store.Dirty(in)
	return t.store.Link(dir, name, in)
}

// Linked finds the rows that sessions have made for files of the host with several names, and how many
// entries each has. They count names that are on the host only, too.
func (t Rows) Linked(workspace string) (map[sqlvfs.Ino]uint32, error) {
	if t.store == nil {
		return nil, nil
	}
	t.store.Lock()
	defer t.store.Unlock()
	linked, err := t.store.LinkedFiles(workspace)
	all := map[sqlvfs.Ino]uint32{}
	for _, l := range linked {
		all[l.Ino] = l.Names
	}
	return all, err
}

// CountSubdirectories sets a directory's link count once all of the host's entries are stored. A
// session counts subdirectories too that are on the host only; entering their rows counted them
// again.
func (t Rows) CountSubdirectories(dir *sqlvfs.Inode) error {
	t.store.Lock()
	defer t.store.Unlock()
	children, err := t.store.Children(dir)
	if err != nil {
		return err
	}
	n := uint32(2)
	for _, c := range children {
		if c.Mode&unix.S_IFMT == unix.S_IFDIR {
			n++
		}
	}
	if dir.Attr.Nlink != n {
		dir.Attr.Nlink = n
		t.store.Dirty(dir)
	}
	return nil
}

// Drop removes an entry and, if it was the last name of a directory, everything below. An entry is
// gone before those below it are visited, so a directory that holds itself ends the descent too.
// The Store's lock must be held.
func (t Rows) Drop(dir *sqlvfs.Inode, name string, ino sqlvfs.Ino) error {
	if err := t.store.Unlink(dir, name); err != nil {
		return err
	}
	in, err := t.store.Get(ino)
	if err != nil {
		return err
	}
	defer t.store.Put(in)
	defer t.store.Dirty(in)
	if !in.Attr.IsDir() {
		in.Attr.Nlink = less(in.Attr.Nlink)
		return nil
	}
	children, err := t.store.Children(in)
	if err != nil {
		return err
	}
	for _, c := range children {
		if err := t.Drop(in, c.Name, c.Ino); err != nil {
			return err
		}
	}
	in.Attr.Nlink = 0
	dir.Attr.Nlink = max(less(dir.Attr.Nlink), 1) // it has a name still, and without a link it would go
	t.store.Dirty(dir)
	return nil
}

// less counts one link down. The count is the database's word and may be wrong.
func less(n uint32) uint32 { return max(n, 1) - 1 }

// SetXattrs gives a row the user's extended attributes of the host's file, and no others of these. The Store's lock
// must be held.
func (t Rows) SetXattrs(row *sqlvfs.Inode, want map[string]string) error {
	have, err := t.store.Xattrs(row)
	if err != nil {
		return err
	}
	for _, name := range have {
		if _, ok := want[name]; !ok && strings.HasPrefix(name, "user.") {
			if err := t.store.RemoveXattr(row, name); err != nil {
				return err
			}
		}
	}
	for name, value := range want {
		if err := t.store.SetXattr(row, name, []byte(value)); err != nil {
			return err
		}
	}
	return nil
}

// Walk returns the directory at a path of the workspace, held, or nil.
func (t Rows) Walk(workspace, rel string) (*sqlvfs.Inode, error) {
	dir := t.Root()
	names := []string{workspace}
	if rel != "." {
		names = append(names, strings.Split(rel, "/")...)
	}
	for _, name := range names {
		if !dir.Attr.IsDir() {
			t.Put(dir)
			return nil, nil
		}
		next, err := t.Child(dir, name)
		t.Put(dir)
		if err != nil || next == nil {
			return nil, err
		}
		dir = next
	}
	if !dir.Attr.IsDir() {
		t.Put(dir)
		return nil, nil
	}
	return dir, nil
}

// Empty tells whether a directory has no entries.
func (t Rows) Empty(dir *sqlvfs.Inode) (bool, error) {
	t.store.Lock()
	defer t.store.Unlock()
	children, err := t.store.Children(dir)
	return len(children) == 0, err
}

// Remove removes an entry, as one step.
func (t Rows) Remove(dir *sqlvfs.Inode, name string, ino sqlvfs.Ino) error {
	return t.Do(func() error { return t.Drop(dir, name, ino) })
}
