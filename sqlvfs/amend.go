package sqlvfs

import (
	"bytes"
	"errors"
	"slices"
)

// Amended says what [Tx.Amend] has changed in memory.
type Amended struct {
	Inodes   []Ino        // whose attributes or origins are others
	Contents []Ino        // those of them whose content is another version of the host's
	Names    []NameChange // that stand for something else now
	InUse    []Release    // that are to be tried again, see [Tx.Release]
}

// Amend makes changes that were gathered beside this store, as a part of a step. What has changed since they were gathered
// keeps its own state:
//   - each attribute and extended attribute that is another one by now;
//   - an origin that is another one, and content of the origin that the file does not show any more. Another version of the
//     same file is no other origin, where all of the content is its: looking at it has brought that up to date;
//   - the mode in a baseline, if the row's was not set to it.
//
// What was copied up since refers to its new place, see [Place]. What the host has, too, is given up, see [Release].
//
// Entries of directories are different: if one of them is not what it was, or what it stands for is not, nothing is changed
// at all, and the error is [ErrOvertaken]. What is made has its content of k.
//
// A baseline says of which version of a row it is, and so never hides what has changed since. Another error is the database's;
// then some of the changes may have been made.
func (tx *Tx) Amend(c *Changes, k *Intake) (done Amended, err error) {
	made, err := tx.amendTree(c, k, &done)
	if err != nil {
		return done, err
	}
	is := func(ino Ino) Ino {
		if now, ok := made[ino]; ok {
			return now
		}
		return ino
	}
	kept := map[Ino]uint32{} // modes of rows that were not set
	for i := range c.Inodes {
		if err := tx.amendInode(&c.Inodes[i], kept, &done); err != nil {
			return done, err
		}
	}
	if err := tx.amendPlaces(c, &done); err != nil {
		return done, err
	}
	for i := range c.Xattrs {
		x := c.Xattrs[i]
		x.Ino = is(x.Ino)
		if err := tx.amendXattr(&x); err != nil {
			return done, err
		}
	}
	for _, n := range c.Whiteouts {
		n.Dir = is(n.Dir)
		if err := tx.amendWhiteout(n, &done); err != nil {
			return done, err
		}
	}
	for _, r := range c.Pulled {
		var left *Baseline
		if len(r.Left) > 0 {
			left = &r.Left[0]
		}
		tx.NotePulled(r.Tree, r.Path, left)
	}
	for _, r := range c.Released {
		r.Dir = is(r.Dir)
		tx.NoteReleased(r)
	}
	for i := range c.Baselines {
		b := &c.Baselines[i]
		if b.Gone {
			tx.SetBaseline(b.Tree, b.Path, nil)
			continue
		}
		if tx.released[b.Baseline.Row] {
			continue // its entry has gone meanwhile, as the host had the same
		}
		now := b.Baseline
		if mode, ok := kept[now.Row]; ok {
			now.Mode = now.Mode&^0o7777 | mode&0o7777
		}
		now.Row = is(now.Row)
		tx.changeBaseline(baselineKey{b.Tree, b.Path}, baselineChange{&now, b.OnlyIfNone})
	}
	if err := tx.amendReleases(c.Releases, &done); err != nil {
		return done, err
	}
	if err := tx.amendWorkspaces(c.Workspaces); err != nil {
		return done, err
	}
	if c.SetJournal {
		tx.SetJournal(c.Journal)
	}
	return done, nil
}

// withLive calls f with an inode, if it is still there.
func (tx *Tx) withLive(ino Ino, f func(*Inode) error) error {
	in, err := tx.Get(ino)
	switch {
	case errors.Is(err, ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	defer tx.Put(in)
	if in.Attr.Nlink == 0 && in.Attr.IsDir() {
		return nil
	}
	return f(in)
}

func (tx *Tx) amendInode(c *InodeChange, kept map[Ino]uint32, done *Amended) error {
	return tx.withLive(c.Ino, func(in *Inode) error {
		if (in.Attr.Mode^c.Was.Mode)&^0o7777 != 0 {
			return nil
		}
		same := in.Attr.Ctime == c.Was.Ctime
		if in.Attr.Mode != c.Was.Mode {
			kept[c.Ino] = c.Was.Mode
		}
		follows, err := tx.Follows(in)
		if err != nil {
			return err
		}
		was := in.Attr
		in.Attr.Mode = threeWay(in.Attr.Mode, c.Was.Mode, c.Is.Mode)
		in.Attr.UID = threeWay(in.Attr.UID, c.Was.UID, c.Is.UID)
		in.Attr.GID = threeWay(in.Attr.GID, c.Was.GID, c.Is.GID)
		refers := c.SetOrigin && tx.amendOrigin(in, c, same, follows)
		if in.Attr != was {
			tx.Dirty(in)
		}
		if refers || in.Attr != was {
			done.Inodes = append(done.Inodes, in.Ino)
		}
		if in.Attr.Size != was.Size || in.Attr.Mtime != was.Mtime {
			done.Contents = append(done.Contents, in.Ino)
		}
		return nil
	})
}

// threeWay merges a change of a value from was to is with what the value is now: what the session has changed since stays.
func threeWay[T comparable](now, was, is T) T {
	if now != was {
		return now
	}
	return is
}

// amendOrigin has an inode refer to another object of the host, if it still refers to the one that it did. A file that
// follows its origin has the size and the time of that.
func (tx *Tx) amendOrigin(in *Inode, c *InodeChange, same, follows bool) bool {
	if len(c.IsOrigin) == 0 || (in.Origin == nil) != (len(c.WasOrigin) == 0) {
		return false // without an origin it would get another number, which programs may know it by
	}
	now := c.IsOrigin[0]
	if was := in.Origin; was != nil {
		old := &c.WasOrigin[0]
		whole := follows && now.Limit == c.Is.Size && now.Size == c.Is.Size
		switch {
		case was.Base != old.Base || was.Path != old.Path || was.Fingerprint != old.Fingerprint && !whole:
			return false
		case whole:
			if same || in.Attr.Mtime == was.Mtime {
				in.Attr.Mtime = c.Is.Mtime
			}
			in.Attr.Size = c.Is.Size
		case !same || was.Limit != old.Limit:
			now.Limit = min(was.Limit, now.Limit)
		}
		now.Number = was.Number
	} else if in.Attr.IsDir() && same { // else names would show again that are gone since
		now.Number, now.Limit = uint64(in.Ino), 0
	} else {
		return false
	}
	now.Limit = min(now.Limit, in.Attr.Size)
	tx.Refer(in, &now)
	return true
}

func (tx *Tx) amendXattr(c *XattrChange) error {
	return tx.withLive(c.Ino, func(in *Inode) error {
		now, has, err := tx.Xattr(in, c.Name)
		if err != nil || has != c.Had || !bytes.Equal(now, c.Was) {
			return err
		}
		if c.Gone {
			return tx.RemoveXattr(in, c.Name)
		}
		return tx.SetXattr(in, c.Name, slices.Clone(c.Value))
	})
}

func (tx *Tx) amendWhiteout(c NameChange, done *Amended) error {
	return tx.withLive(c.Dir, func(dir *Inode) error {
		if !dir.Attr.IsDir() {
			return nil
		}
		change := tx.SetWhiteout
		if c.Gone {
			change = tx.ClearWhiteout
		}
		_, ok, hidden, err := tx.Child(dir, c.Name)
		if err == nil {
			err = change(dir, c.Name)
		}
		if err == nil && !ok && hidden == c.Gone {
			done.Names = append(done.Names, c)
		}
		return err
	})
}

// amendWorkspaces takes what is new of workspaces that are the directories which they were.
func (tx *Tx) amendWorkspaces(list []Workspace) error {
	if len(list) == 0 {
		return nil
	}
	known, err := tx.Workspaces()
	if err != nil {
		return err
	}
	for _, w := range list {
		if slices.ContainsFunc(known, func(k Workspace) bool { return k.Path == w.Path && k.SameDirectory(&w) }) {
			tx.SetWorkspace(w)
		}
	}
	return nil
}
