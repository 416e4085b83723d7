// Package rows changes the tree of a database. A change is a step, and keeps the link counts right.
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

// Root returns the root, acquired.
func (t Rows) Root() *sqlvfs.Inode {
	if t.store == nil {
		return nil
	}
	root, _ := sqlvfs.Query(t.store, func(tx *sqlvfs.Tx) (*sqlvfs.Inode, error) { return tx.Get(sqlvfs.RootIno) })
	return root
}

// Child returns the inode that a directory's entry stands for, acquired, or nil.
func (t Rows) Child(dir *sqlvfs.Inode, name string) (*sqlvfs.Inode, error) {
	if dir == nil {
		return nil, nil
	}
	return sqlvfs.Query(t.store, func(tx *sqlvfs.Tx) (*sqlvfs.Inode, error) {
		c, ok, _, err := tx.Child(dir, name)
		if err != nil || !ok {
			return nil, err
		}
		return tx.Get(c.Ino)
	})
}

// Get returns an inode, acquired.
func (t Rows) Get(ino sqlvfs.Ino) (*sqlvfs.Inode, error) {
	return sqlvfs.Query(t.store, func(tx *sqlvfs.Tx) (*sqlvfs.Inode, error) { return tx.Get(ino) })
}

// Put ends a reference, if there is one.
func (t Rows) Put(in *sqlvfs.Inode) {
	if in == nil {
		return
	}
	t.store.View(func(tx *sqlvfs.Tx) error {
		tx.Put(in)
		return nil
	})
}

// Leads tells whether a symbolic link, if there is one, leads to a target.
func (t Rows) Leads(in *sqlvfs.Inode, target string) (bool, error) {
	if in == nil {
		return false, nil
	}
	is, err := sqlvfs.Query(t.store, func(tx *sqlvfs.Tx) (string, error) { return tx.Target(in) })
	return is == target, err
}

// Do runs a step that changes the database.
func (t Rows) Do(step func(*sqlvfs.Tx) error) error { return t.store.Update(step) }

// With is Do for a step on one row.
func (t Rows) With(ino sqlvfs.Ino, step func(*sqlvfs.Tx, *sqlvfs.Inode) error) error {
	return t.Do(func(tx *sqlvfs.Tx) error {
		return Held(tx, ino, func(row *sqlvfs.Inode) error { return step(tx, row) })
	})
}

// Held does something with a row, as part of a step.
func Held(tx *sqlvfs.Tx, ino sqlvfs.Ino, do func(*sqlvfs.Inode) error) error {
	row, err := tx.Get(ino)
	if err != nil {
		return err
	}
	defer tx.Put(row)
	return do(row)
}

// Create makes an inode without a name, held. Nothing of it stays if the process is killed before
// it is linked: so a file appears with all of its content or not at all.
func (t Rows) Create(attr sqlvfs.Attr) (row *sqlvfs.Inode, err error) {
	err = t.Do(func(tx *sqlvfs.Tx) (err error) {
		attr.Nlink, attr.Size = 0, 0
		row, err = tx.New(attr)
		return err
	})
	return row, err
}

// Update runs a change of an inode's fields and makes the entry stand for the inode, as one step.
func (t Rows) Update(dir *sqlvfs.Inode, name string, in *sqlvfs.Inode, change func(*sqlvfs.Tx)) error {
	return t.Do(func(tx *sqlvfs.Tx) (err error) {
		change(tx)
		tx.Dirty(in)
		return enter(tx, dir, name, in)
	})
}

// Change runs a change of an inode's fields.
func (t Rows) Change(in *sqlvfs.Inode, change func(*sqlvfs.Tx)) error {
	return t.Do(func(tx *sqlvfs.Tx) (err error) {
		change(tx)
		tx.Dirty(in)
		return nil
	})
}

// enter makes an entry stand for an inode, in place of what it stood for, and keeps the link
// counts right.
func enter(tx *sqlvfs.Tx, dir *sqlvfs.Inode, name string, in *sqlvfs.Inode) error {
	c, ok, whiteout, err := tx.Child(dir, name)
	if err != nil {
		return err
	}
	if ok && c.Ino == in.Ino {
		return nil
	}
	if ok {
		if err := Drop(tx, dir, name, c.Ino); err != nil {
			return err
		}
	}
	if whiteout {
		if err := tx.ClearWhiteout(dir, name); err != nil {
			return err
		}
	}
	if in.Attr.IsDir() {
		in.Attr.Nlink = 2
		dir.Attr.Nlink++
		tx.Dirty(dir)
	} else {
		in.Attr.Nlink++
	}
	tx.Dirty(in)
	return tx.Link(dir, name, in)
}

// Linked finds the rows that sessions have made for files of the host with several names, and how many
// entries each has. They count names that are on the host only, too.
func (t Rows) Linked(workspace string) (map[sqlvfs.Ino]uint32, error) {
	if t.store == nil {
		return nil, nil
	}
	linked, err := sqlvfs.Query(t.store, func(tx *sqlvfs.Tx) ([]sqlvfs.Linked, error) { return tx.LinkedFiles(workspace) })
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
	return t.store.View(func(tx *sqlvfs.Tx) error {
		children, err := tx.Children(dir)
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
			tx.Dirty(dir)
		}
		return nil
	})
}

// Drop removes an entry and, if it was the last name of a directory, everything below. An entry is
// gone before those below it are visited, so a directory that holds itself ends the descent too.
func Drop(tx *sqlvfs.Tx, dir *sqlvfs.Inode, name string, ino sqlvfs.Ino) error {
	if err := tx.Unlink(dir, name); err != nil {
		return err
	}
	in, err := tx.Get(ino)
	if err != nil {
		return err
	}
	defer tx.Put(in)
	defer tx.Dirty(in)
	if !in.Attr.IsDir() {
		in.Attr.Nlink = less(in.Attr.Nlink)
		return nil
	}
	children, err := tx.Children(in)
	if err != nil {
		return err
	}
	for _, c := range children {
		if err := Drop(tx, in, c.Name, c.Ino); err != nil {
			return err
		}
	}
	in.Attr.Nlink = 0
	dir.Attr.Nlink = max(less(dir.Attr.Nlink), 1) // it has a name still, and without a link it would go
	tx.Dirty(dir)
	return nil
}

// less counts one link down. The count is the database's word and may be wrong.
func less(n uint32) uint32 { return max(n, 1) - 1 }

// SetXattrs gives a row the user's extended attributes of the host's file, and no others of these.
func SetXattrs(tx *sqlvfs.Tx, row *sqlvfs.Inode, want map[string]string) error {
	have, err := tx.Xattrs(row)
	if err != nil {
		return err
	}
	for _, name := range have {
		if _, ok := want[name]; !ok && strings.HasPrefix(name, "user.") {
			if err := tx.RemoveXattr(row, name); err != nil {
				return err
			}
		}
	}
	for name, value := range want {
		if err := tx.SetXattr(row, name, []byte(value)); err != nil {
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
	children, err := sqlvfs.Query(t.store, func(tx *sqlvfs.Tx) ([]sqlvfs.Child, error) { return tx.Children(dir) })
	return len(children) == 0, err
}

// Remove removes an entry, as one step.
func (t Rows) Remove(dir *sqlvfs.Inode, name string, ino sqlvfs.Ino) error {
	return t.Do(func(tx *sqlvfs.Tx) error { return Drop(tx, dir, name, ino) })
}
