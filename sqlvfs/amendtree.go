package sqlvfs

import (
	"errors"
	"fmt"
	"syscall"
)

// MadeInode is an inode that is to be made, by the number that it has where it was gathered.
type MadeInode struct {
	Ino    Ino
	Attr   Attr
	Target string
	Origin []Origin // none, or one. Its number may be the inode's own
}

// EntryChange is an entry of a directory that is to be, or with no inode in Is, to be gone. Was is the inode that it stood for,
// or 0, and WasCtime the change time of that.
type EntryChange struct {
	Dir      Ino
	Name     string
	Was, Is  Ino
	WasCtime Timespec
}

// ErrOvertaken says that changes of entries were not made, because what they replace has changed since.
var ErrOvertaken = fmt.Errorf("the session has changed meanwhile what is to be replaced (%w)", syscall.EAGAIN)

// treeChange are changes of entries, all of whose inodes are in memory.
type treeChange struct {
	tx      *Tx
	c       *Changes
	held    map[Ino]*Inode // acquired; by the numbers in c
	removed map[Ino]bool   // directories that are to be gone
}

// amendTree makes inodes and changes entries, all or, with ErrOvertaken, none. It returns the numbers of what was made.
func (tx *Tx) amendTree(c *Changes, k *Intake, done *Amended) (made map[Ino]Ino, err error) {
	if len(c.Entries) == 0 {
		return nil, nil
	}
	t := &treeChange{tx, c, map[Ino]*Inode{}, map[Ino]bool{}}
	defer func() {
		for _, in := range t.held {
			tx.Put(in)
		}
	}()
	if err := t.check(); err != nil {
		return nil, err
	}
	made = map[Ino]Ino{}
	for i := range c.Made {
		in, err := t.make(&c.Made[i], k)
		if err != nil {
			return nil, err
		}
		made[c.Made[i].Ino] = in.Ino
	}
	for i := range c.Entries {
		if err := t.unlink(&c.Entries[i], done); err != nil {
			return made, err
		}
	}
	for i := range c.Entries {
		if err := t.link(&c.Entries[i], done); err != nil {
			return made, err
		}
	}
	return made, nil
}

// check makes sure that all is as it was. It loads all that the changes need.
func (t *treeChange) check() error {
	for i := range t.c.Entries {
		e := &t.c.Entries[i]
		if err := t.checkEntry(e); err != nil {
			return err
		}
	}
	gone := map[Ino]map[string]bool{}
	for i := range t.c.Entries {
		e := &t.c.Entries[i]
		if e.Is == 0 && t.removed[e.Dir] {
			if gone[e.Dir] == nil {
				gone[e.Dir] = map[string]bool{}
			}
			gone[e.Dir][e.Name] = true
		} else if t.removed[e.Dir] {
			return ErrOvertaken
		}
	}
	for ino := range t.removed {
		children, err := t.tx.Children(t.held[ino])
		if err != nil {
			return err
		}
		for _, c := range children {
			if !gone[ino][c.Name] {
				return ErrOvertaken
			}
		}
	}
	return nil
}

func (t *treeChange) checkEntry(e *EntryChange) error {
	if e.Dir < t.c.FirstIno {
		dir, err := t.get(e.Dir)
		if err != nil {
			return err
		}
		if !dir.Attr.IsDir() || dir.Attr.Nlink == 0 {
			return ErrOvertaken
		}
		c, _, _, err := t.tx.Child(dir, e.Name)
		if err != nil {
			return err
		}
		if c.Ino != e.Was {
			return ErrOvertaken
		}
	}
	if e.Was != 0 {
		was, err := t.get(e.Was)
		switch {
		case err != nil:
			return err
		case was.Attr.IsDir():
			t.removed[e.Was] = true
		case was.Attr.Ctime != e.WasCtime:
			return ErrOvertaken
		}
	}
	if e.Is != 0 && e.Is < t.c.FirstIno {
		is, err := t.get(e.Is)
		if err != nil {
			return err
		}
		if is.Attr.IsDir() || is.Attr.Nlink == 0 {
			return ErrOvertaken
		}
	}
	return nil
}

// get returns an inode that was there.
func (t *treeChange) get(ino Ino) (*Inode, error) {
	if in := t.held[ino]; in != nil {
		return in, nil
	}
	in, err := t.tx.Get(ino)
	if errors.Is(err, ErrNotExist) {
		return nil, ErrOvertaken
	}
	if err == nil {
		t.held[ino] = in
	}
	return in, err
}

// make makes an inode, of which the content is there if it is a file.
func (t *treeChange) make(m *MadeInode, k *Intake) (in *Inode, err error) {
	tx, attr := t.tx, m.Attr
	attr.Nlink = 0
	if attr.IsRegular() {
		if in = k.made[m.Ino]; in == nil || in.Attr.Size != attr.Size {
			return nil, errChanges
		}
		in, err = tx.Get(in.Ino)
	} else {
		attr.Size = 0
		in, err = tx.New(attr)
	}
	if err != nil {
		return nil, err
	}
	t.held[m.Ino] = in
	if attr.IsDir() {
		attr.Nlink = 2
		if len(m.Origin) > 0 { // it shows the host's subdirectories, which count
			attr.Nlink = max(m.Attr.Nlink, 2)
		}
	}
	in.Attr, in.born = attr, firstBirth(&attr)
	tx.Dirty(in)
	if attr.IsSymlink() {
		tx.SetTarget(in, m.Target)
	}
	if len(m.Origin) > 0 {
		o := m.Origin[0]
		if o.Number == uint64(m.Ino) {
			o.Number = uint64(in.Ino)
		}
		tx.SetOrigin(in, &o)
	}
	return in, nil
}

// unlink takes an entry away from what it stood for.
func (t *treeChange) unlink(e *EntryChange, done *Amended) error {
	if e.Was == 0 {
		return nil
	}
	dir, was := t.held[e.Dir], t.held[e.Was]
	if err := t.tx.Unlink(dir, e.Name); err != nil {
		return err
	}
	was.Change(Now())
	if was.Attr.IsDir() {
		was.Attr.Nlink = 0
		if !t.removed[e.Dir] { // which may have been taken away before what is in it
			dir.Attr.Nlink = max(dir.Attr.Nlink, 2) - 1
		}
		hidden, err := t.tx.Whiteouts(was)
		for _, name := range hidden { // if it is the base's directory afterwards, they show
			done.Names = append(done.Names, NameChange{Dir: was.Ino, Name: name})
		}
		if err == nil {
			err = t.tx.ClearWhiteouts(was)
		}
		if err != nil {
			return err
		}
	} else {
		was.Attr.Nlink = max(was.Attr.Nlink, 1) - 1
	}
	t.tx.Dirty(was)
	t.changed(dir, e.Name, done)
	done.Inodes = append(done.Inodes, was.Ino)
	return nil
}

// link has an entry stand for what it is to.
func (t *treeChange) link(e *EntryChange, done *Amended) error {
	if e.Is == 0 {
		return nil
	}
	dir, is := t.held[e.Dir], t.held[e.Is]
	if err := t.tx.ClearWhiteout(dir, e.Name); err != nil {
		return err
	}
	if is.Attr.IsDir() {
		dir.Attr.Nlink++
	} else {
		is.Attr.Nlink++
	}
	if e.Is < t.c.FirstIno {
		is.Change(Now())
		done.Inodes = append(done.Inodes, is.Ino)
	}
	t.tx.Dirty(is)
	if err := t.tx.Link(dir, e.Name, is); err != nil {
		return err
	}
	t.changed(dir, e.Name, done)
	return nil
}

// changed notes that another thing has a name.
func (t *treeChange) changed(dir *Inode, name string, done *Amended) {
	now := Now()
	dir.Attr.Mtime = now
	dir.Change(now)
	t.tx.Dirty(dir)
	done.Names = append(done.Names, NameChange{Dir: dir.Ino, Name: name})
	done.Inodes = append(done.Inodes, dir.Ino)
}

// validTree tells whether inodes are made, and entries changed, as they can be: each new one gets a name, and none is below
// itself.
func (c *Changes) validTree() bool {
	made, names := map[Ino]*MadeInode{}, map[Ino]int{}
	for i := range c.Made {
		m := &c.Made[i]
		if m.Ino < c.FirstIno || m.Ino >= MaxIno || made[m.Ino] != nil || !m.valid() {
			return false
		}
		made[m.Ino] = m
	}
	taken := map[EntryChange]bool{}
	for i := range c.Entries {
		e := &c.Entries[i]
		at := EntryChange{Dir: e.Dir, Name: e.Name}
		if taken[at] || !ValidName(e.Name) || !e.Dir.valid() || e.Was <= -MaxIno || e.Is <= -MaxIno || e.Was == 0 && e.Is == 0 ||
			e.Was == RootIno || e.Is == RootIno || e.Was >= c.FirstIno || e.Was == e.Is {
			return false
		}
		taken[at] = true
		dir, is := made[e.Dir], made[e.Is]
		if e.Dir >= c.FirstIno && (dir == nil || !dir.Attr.IsDir() || e.Was != 0) || e.Is >= c.FirstIno && is == nil {
			return false
		}
		if is != nil {
			if names[e.Is]++; is.Attr.IsDir() && (names[e.Is] > 1 || dir != nil && e.Dir >= e.Is) {
				return false
			}
		}
	}
	for i := range c.Contents {
		p := &c.Contents[i]
		if p.Ino < c.FirstIno || p.Ino >= MaxIno || p.Off < 0 {
			return false
		}
	}
	return len(names) == len(made)
}

func (m *MadeInode) valid() bool {
	a := &m.Attr
	switch a.Mode & syscall.S_IFMT {
	case syscall.S_IFREG, syscall.S_IFDIR:
		if m.Target != "" {
			return false
		}
	case syscall.S_IFLNK:
		if m.Target == "" || len(m.Target) >= 4096 {
			return false
		}
	default:
		return false
	}
	return a.Mode>>16 == 0 && a.Rdev == 0 && a.Size >= 0 && a.Atime.Valid() && a.Mtime.Valid() && a.Ctime.Valid() &&
		len(m.Origin) <= 1 && all(m.Origin, (*Origin).valid) && (len(m.Origin) == 0 || a.IsDir())
}
