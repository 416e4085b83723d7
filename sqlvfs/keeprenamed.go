package sqlvfs

import "strings"

// A pull from another database may rename on the host a directory that was renamed here to the same name. Before it changes anything, the one here
// holds all that it shows, as any that was renamed: whatever becomes of the pull, it does not change. Once it is on the host under that name, it is
// the same one there and here, and shows what the host has in it, as a directory does that was not renamed. Without that, each of these rows would
// be a change of the guest to whoever merges.

// Renamed is a directory that a pull is about to rename as it was renamed here, and what was made for it to hold all that it shows.
type Renamed struct {
	To      string // its path in the workspace
	from    string // same, so far
	dir     Ino
	is      Origin // afterwards
	entries []keptEntry
}

// keptEntry is an entry that was made of what the host has at a path.
type keptEntry struct {
	dir  Ino
	name string
	ino  Ino
	at   string
	is   *Origin // of a directory; its path is not said
}

// Follow has directories show the host's again, where a pull has brought them, and removes what was made for them. Nothing else may have changed
// the tree since then. At each moment they show all that is in them.
func (s *Store) Follow(list []Renamed) error {
	for i := range list {
		r := &list[i]
		err := s.Update(func(tx *Tx) error {
			return tx.withLive(r.dir, func(dir *Inode) error { tx.SetOrigin(dir, &r.is); return nil })
		})
		for _, e := range r.entries {
			if e.is == nil || err != nil {
				continue
			}
			is := *e.is
			is.Path = r.To + strings.TrimPrefix(e.at, r.from)
			err = s.Update(func(tx *Tx) error {
				return tx.withLive(e.ino, func(dir *Inode) error { tx.SetOrigin(dir, &is); return nil })
			})
		}
		for j := len(r.entries) - 1; j >= 0 && err == nil; j-- {
			err = s.Update(r.entries[j].remove)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// remove removes an entry, and what it leads to with the last one.
func (e *keptEntry) remove(tx *Tx) error {
	return tx.withLive(e.dir, func(dir *Inode) error {
		c, ok, _, err := tx.Child(dir, e.name)
		if err != nil || !ok || c.Ino != e.ino {
			return err
		}
		return tx.withLive(e.ino, func(in *Inode) error {
			if in.Attr.Nlink = max(in.Attr.Nlink, 1) - 1; in.Attr.IsDir() {
				in.Attr.Nlink = 0
			}
			tx.Dirty(in)
			return tx.Unlink(dir, e.name)
		})
	})
}
