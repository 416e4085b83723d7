package sqlvfs

import (
	"path"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// Release says, beside the writer, that a workspace on the host has at a path all that an inode is in the commit that was looked
// at. Without an entry for it the directory shows the host's there, and with it what the host changes later. So the entry goes,
// if nothing has changed the inode since, once nobody uses that.
type Release struct {
	Dir   Ino
	Name  string
	Ino   Ino
	Ctime Timespec // of the inode in that commit
	Tree  Tree     // the workspace,
	Path  string   // and the path below it

	Mode        uint32 // of what the host has
	Fingerprint Fingerprint
}

// SetRelease gathers, beside the writer, an entry that can go.
func (tx *Tx) SetRelease(r Release) {
	if tx.frozen {
		tx.begin()
		tx.gather.releases = append(tx.gather.releases, r)
	}
}

func (r *Release) valid() bool {
	return r.Dir.valid() && ValidName(r.Name) && r.Ino != RootIno && r.Ino.valid() && r.Ctime.Valid() &&
		ValidName(r.Tree.Name) && r.Tree.Birth.Valid() && database.ValidPath(r.Path)
}

// Release removes an entry as far as that still holds, as a part of a step. inUse says that it is to be tried again when the
// last reference to the inode has ended.
func (tx *Tx) Release(r *Release) (done, inUse bool, err error) {
	err = tx.withLive(r.Ino, func(in *Inode) error {
		if t := in.Attr.Mode & unix.S_IFMT; in.Attr.Ctime != r.Ctime || in.Attr.Nlink != 1 || t != unix.S_IFREG && t != unix.S_IFLNK {
			return nil
		}
		if inUse = in.refs > 1; inUse {
			return nil
		}
		return tx.withLive(r.Dir, func(dir *Inode) error {
			o := dir.Origin
			if !dir.Attr.IsDir() || o == nil || o.Base != r.Tree.Name || path.Join(o.Path, r.Name) != r.Path {
				return nil
			}
			c, ok, _, err := tx.Child(dir, r.Name)
			if err != nil || !ok || c.Ino != r.Ino {
				return err
			}
			if err := tx.Unlink(dir, r.Name); err != nil {
				return err
			}
			if err := tx.ClearWhiteout(dir, r.Name); err != nil {
				return err
			}
			tx.NoteReleased(Released{Dir: r.Dir, Name: r.Name, Ino: r.Ino, Ctime: r.Ctime, Mode: r.Mode, Fingerprint: r.Fingerprint})
			in.Attr.Nlink = 0
			tx.Dirty(in)
			tx.SetBaseline(r.Tree, r.Path, nil) // else a name without an inode is one that was removed
			if tx.released == nil {
				tx.released = map[Ino]bool{}
			}
			tx.released[r.Ino] = true
			done = true
			return nil
		})
	})
	return done, inUse, err
}

// amendReleases removes entries that can go, and says which have to wait.
func (tx *Tx) amendReleases(list []Release, done *Amended) error {
	for i := range list {
		r := &list[i]
		gone, inUse, err := tx.Release(r)
		switch {
		case err != nil:
			return err
		case gone:
			done.Names = append(done.Names, NameChange{Dir: r.Dir, Name: r.Name})
		case inUse:
			done.InUse = append(done.InUse, *r)
		}
	}
	return nil
}
