package sync

import (
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// rows is the database's tree as push changes it. The store is nil in a dry run without a
// database; then every inode is nil too.
type rows struct{ store *sqlvfs.Store }

func (t rows) root() *sqlvfs.Inode {
	if t.store == nil {
		return nil
	}
	t.store.Lock()
	defer t.store.Unlock()
	root := t.store.Root()
	t.store.Hold(root)
	return root
}

// child returns the inode that a directory's entry stands for, held, or nil.
func (t rows) child(dir *sqlvfs.Inode, name string) (*sqlvfs.Inode, error) {
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

// get returns an inode, held.
func (t rows) get(ino sqlvfs.Ino) (*sqlvfs.Inode, error) {
	t.store.Lock()
	defer t.store.Unlock()
	return t.store.Get(ino)
}

func (t rows) put(in *sqlvfs.Inode) {
	if in == nil {
		return
	}
	t.store.Lock()
	t.store.Put(in)
	t.store.Unlock()
}

// leads tells whether a symbolic link, if there is one, leads to a target.
func (t rows) leads(in *sqlvfs.Inode, target string) (bool, error) {
	if in == nil {
		return false, nil
	}
	t.store.Lock()
	defer t.store.Unlock()
	is, err := t.store.Target(in)
	return is == target, err
}

// do runs a step that changes the database, under the Store's lock.
func (t rows) do(step func() error) error {
	t.store.Lock()
	defer t.store.Unlock()
	if err := t.store.Ready(); err != nil {
		return err
	}
	return step()
}

// with is do for a step on one row.
func (t rows) with(ino sqlvfs.Ino, step func(*sqlvfs.Inode) error) error {
	return t.do(func() error { return t.held(ino, step) })
}

// held runs a step on a row. The Store's lock must be held.
func (t rows) held(ino sqlvfs.Ino, step func(*sqlvfs.Inode) error) error {
	row, err := t.store.Get(ino)
	if err != nil {
		return err
	}
	defer t.store.Put(row)
	return step(row)
}

// create makes an inode without a name, held. Nothing of it stays if the process is killed before
// it is linked: so a file appears with all of its content or not at all.
func (t rows) create(attr sqlvfs.Attr) (row *sqlvfs.Inode, err error) {
	err = t.do(func() error {
		attr.Nlink, attr.Size = 0, 0
		row, err = t.store.New(attr)
		return err
	})
	return row, err
}

// update runs a change of an inode's fields and makes the entry stand for the inode, as one step.
func (t rows) update(dir *sqlvfs.Inode, name string, in *sqlvfs.Inode, change func()) error {
	return t.do(func() error {
		change()
		t.store.Dirty(in)
		return t.enter(dir, name, in)
	})
}

// change runs a change of an inode's fields.
func (t rows) change(in *sqlvfs.Inode, change func()) error {
	return t.do(func() error {
		change()
		t.store.Dirty(in)
		return nil
	})
}

// enter makes an entry stand for an inode, in place of what it stood for, and keeps the link
// counts right. The Store's lock must be held.
func (t rows) enter(dir *sqlvfs.Inode, name string, in *sqlvfs.Inode) error {
	c, ok, whiteout, err := t.store.Child(dir, name)
	if err != nil {
		return err
	}
	if ok && c.Ino == in.Ino {
		return nil
	}
	if ok {
		if err := t.drop(dir, name, c.Ino); err != nil {
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

// linked finds the rows that sessions have made for files of the host with several names, and how many
// entries each has. They count names that are on the host only, too.
func (t rows) linked(workspace string) (map[sqlvfs.Ino]uint32, error) {
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

// countSubdirectories sets a directory's link count once all of the host's entries are stored. A
// session counts subdirectories too that are on the host only; entering their rows counted them
// again.
func (t rows) countSubdirectories(dir *sqlvfs.Inode) error {
	t.store.Lock()
	defer t.store.Unlock()
	children, err := t.store.Children(dir)
	if err != nil {
		return err
	}
	n := uint32(2)
	for _, c := range children {
		if kind(c.Mode) == unix.S_IFDIR {
			n++
		}
	}
	if dir.Attr.Nlink != n {
		dir.Attr.Nlink = n
		t.store.Dirty(dir)
	}
	return nil
}

// drop removes an entry and, if it was the last name of a directory, everything below. An entry is
// gone before those below it are visited, so a directory that holds itself ends the descent too.
// The Store's lock must be held.
func (t rows) drop(dir *sqlvfs.Inode, name string, ino sqlvfs.Ino) error {
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
		if err := t.drop(in, c.Name, c.Ino); err != nil {
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

// setXattrs gives a row the user's extended attributes of the host's file, and no others of these. The Store's lock
// must be held.
func (t rows) setXattrs(row *sqlvfs.Inode, want map[string]string) error {
	have, err := t.store.Xattrs(row)
	if err != nil {
		return err
	}
	for _, name := range have {
		if _, ok := want[name]; !ok && strings.HasPrefix(name, userXattr) {
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

// empty tells whether a directory has no entries.
func (t rows) empty(dir *sqlvfs.Inode) (bool, error) {
	t.store.Lock()
	defer t.store.Unlock()
	children, err := t.store.Children(dir)
	return len(children) == 0, err
}

// remove removes an entry, as one step.
func (t rows) remove(dir *sqlvfs.Inode, name string, ino sqlvfs.Ino) error {
	return t.do(func() error { return t.drop(dir, name, ino) })
}
