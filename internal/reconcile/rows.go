package reconcile

import (
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// rows is the tree of a database. A change of it is a step, and keeps the link counts right. The store is nil in a dry run
// of push without a database; then every inode is nil too.
type rows struct{ store *sqlvfs.Store }

// root returns the root, acquired.
func (t rows) root() *sqlvfs.Inode {
	if t.store == nil {
		return nil
	}
	root, _ := sqlvfs.Query(t.store, func(tx *sqlvfs.Tx) (*sqlvfs.Inode, error) { return tx.Get(sqlvfs.RootIno) })
	return root
}

// child returns the inode that a directory's entry stands for, acquired, or nil.
func (t rows) child(dir *sqlvfs.Inode, name string) (*sqlvfs.Inode, error) {
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

// get returns an inode, acquired.
func (t rows) get(ino sqlvfs.Ino) (*sqlvfs.Inode, error) {
	return sqlvfs.Query(t.store, func(tx *sqlvfs.Tx) (*sqlvfs.Inode, error) { return tx.Get(ino) })
}

// put ends a reference, if there is one.
func (t rows) put(in *sqlvfs.Inode) {
	if in == nil {
		return
	}
	t.set(func(tx *sqlvfs.Tx) { tx.Put(in) })
}

// leadsTo reports whether a symbolic link, if there is one, leads to a target.
func (t rows) leadsTo(in *sqlvfs.Inode, target string) (bool, error) {
	if in == nil {
		return false, nil
	}
	is, err := sqlvfs.Query(t.store, func(tx *sqlvfs.Tx) (string, error) { return tx.Target(in) })
	return is == target, err
}

// do runs a step that changes the database.
func (t rows) do(step func(*sqlvfs.Tx) error) error { return t.store.Update(step) }

// set runs a step that makes the tree no larger, and cannot fail.
func (t rows) set(step func(*sqlvfs.Tx)) {
	t.store.View(func(tx *sqlvfs.Tx) error {
		step(tx)
		return nil
	})
}

// with is do for a step on one row.
func (t rows) with(ino sqlvfs.Ino, step func(*sqlvfs.Tx, *sqlvfs.Inode) error) error {
	return t.do(func(tx *sqlvfs.Tx) error {
		return withRow(tx, ino, func(row *sqlvfs.Inode) error { return step(tx, row) })
	})
}

// withRow does something with a row, as part of a step.
func withRow(tx *sqlvfs.Tx, ino sqlvfs.Ino, do func(*sqlvfs.Inode) error) error {
	row, err := tx.Get(ino)
	if err != nil {
		return err
	}
	defer tx.Put(row)
	return do(row)
}

// create makes an inode without a name, held. Nothing of it stays if the process is killed before
// it is linked: so a file appears with all of its content or not at all.
func (t rows) create(attr sqlvfs.Attr) (row *sqlvfs.Inode, err error) {
	err = t.do(func(tx *sqlvfs.Tx) (err error) {
		attr.Nlink, attr.Size = 0, 0
		row, err = tx.New(attr)
		return err
	})
	return row, err
}

// update runs a change of an inode's fields and makes the entry stand for the inode, as one step.
func (t rows) update(dir *sqlvfs.Inode, name string, in *sqlvfs.Inode, change func(*sqlvfs.Tx)) error {
	return t.do(func(tx *sqlvfs.Tx) (err error) {
		change(tx)
		tx.Dirty(in)
		return enterRow(tx, dir, name, in)
	})
}

// change runs a change of an inode's fields.
func (t rows) change(in *sqlvfs.Inode, change func(*sqlvfs.Tx)) error {
	return t.do(func(tx *sqlvfs.Tx) (err error) {
		change(tx)
		tx.Dirty(in)
		return nil
	})
}

// enterRow makes an entry stand for an inode, in place of what it stood for, and keeps the link
// counts right.
func enterRow(tx *sqlvfs.Tx, dir *sqlvfs.Inode, name string, in *sqlvfs.Inode) error {
	c, ok, whiteout, err := tx.Child(dir, name)
	if err != nil {
		return err
	}
	if ok && c.Ino == in.Ino {
		return nil
	}
	if ok {
		if err := dropEntry(tx, dir, name, c.Ino); err != nil {
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

// linked finds the rows that sessions have made for files of the host with several names, and how many
// entries each has. They count names that are on the host only, too.
func (t rows) linked(workspace string) (map[sqlvfs.Ino]uint32, error) {
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

// countSubdirectories sets a directory's link count once all of the host's entries are stored. A
// session counts subdirectories too that are on the host only; entering their rows counted them
// again.
func (t rows) countSubdirectories(dir *sqlvfs.Inode) error {
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

// dropEntry removes an entry and, if it was the last name of a directory, everything below. An entry is
// gone before those below it are visited, so a directory that holds itself ends the descent too.
func dropEntry(tx *sqlvfs.Tx, dir *sqlvfs.Inode, name string, ino sqlvfs.Ino) error {
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
		in.Attr.Nlink = oneLess(in.Attr.Nlink)
		return nil
	}
	children, err := tx.Children(in)
	if err != nil {
		return err
	}
	for _, c := range children {
		if err := dropEntry(tx, in, c.Name, c.Ino); err != nil {
			return err
		}
	}
	in.Attr.Nlink = 0
	dir.Attr.Nlink = max(oneLess(dir.Attr.Nlink), 1) // it has a name still, and without a link it would go
	tx.Dirty(dir)
	return nil
}

// oneLess counts one link down. The count is the database's word and may be wrong.
func oneLess(n uint32) uint32 { return max(n, 1) - 1 }

// setRowXattrs gives a row the user's extended attributes of the host's file, and no others of these.
func setRowXattrs(tx *sqlvfs.Tx, row *sqlvfs.Inode, want map[string]string) error {
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

// walk returns the directory at a path of the workspace, held, or nil.
func (t rows) walk(workspace, rel string) (*sqlvfs.Inode, error) {
	dir := t.root()
	names := []string{workspace}
	if rel != "." {
		names = append(names, strings.Split(rel, "/")...)
	}
	for _, name := range names {
		if !dir.Attr.IsDir() {
			t.put(dir)
			return nil, nil
		}
		next, err := t.child(dir, name)
		t.put(dir)
		if err != nil || next == nil {
			return nil, err
		}
		dir = next
	}
	if !dir.Attr.IsDir() {
		t.put(dir)
		return nil, nil
	}
	return dir, nil
}

// empty reports whether a directory has no entries.
func (t rows) empty(dir *sqlvfs.Inode) (bool, error) {
	children, err := sqlvfs.Query(t.store, func(tx *sqlvfs.Tx) ([]sqlvfs.Child, error) { return tx.Children(dir) })
	return len(children) == 0, err
}
