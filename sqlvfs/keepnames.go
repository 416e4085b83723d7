package sqlvfs

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"
	"golang.org/x/sys/unix"
)

// A file of the host with several names has one row, to which entries lead by some of them, and the host by the others. A pull from another
// database puts a new file at such names, or nothing. From then on the host does not lead to the row by these, and one file would be two. So
// entries lead there first.

// NamesToKeep returns those paths of changes at which the host may show rows by other names of theirs, which will not show what comes.
func (s *Store) NamesToKeep(t Tree, list []HostChange) (paths []string, err error) {
	if !slices.ContainsFunc(list, func(c HostChange) bool { return c.Linked != 0 }) {
		return nil, nil
	}
	if err := s.commitNow(); err != nil {
		return nil, err
	}
	kept, err := Query(s, func(tx *Tx) (map[uint64]bool, error) { return tx.keptLinks(t, list) })
	for _, c := range list {
		if kept[c.Linked] {
			paths = append(paths, c.Path)
		}
	}
	return paths, err
}

// keptLinks returns the inode numbers on the host of files with several names that change, for which rows stand that will not show what comes.
func (tx *Tx) keptLinks(t Tree, list []HostChange) (map[uint64]bool, error) {
	changed, kept := changedPaths(list), map[uint64]bool{}
	linked := map[uint64]bool{}
	for _, c := range list {
		linked[c.Linked] = c.Linked != 0
	}
	rows := map[uint64][]holder{}
	err := tx.each(`SELECT o.ino, o.path, o.base_ino FROM art_origin o JOIN fs_inode i ON i.ino=o.ino
		WHERE o.base=(SELECT id FROM art_base WHERE name=?) AND i.mode & 61440 = 32768 AND i.nlink>0`, func(q *sqlite3.Stmt) {
		if of := uint64(q.ColumnInt64(2)); linked[of] {
			rows[of] = append(rows[of], holder{Ino(q.ColumnInt64(0)), string(q.ColumnRawBlob(1))})
		}
	}, t.Name)
	for of, list := range rows {
		for _, h := range list {
			shows := changed.stays(h.path, unix.S_IFREG)
			if shows && err == nil {
				shows, err = tx.isAsThere(h.ino)
			}
			if shows && err == nil {
				shows, err = tx.isAt(h, t.Name)
			}
			kept[of] = kept[of] || !shows
		}
	}
	return kept, err
}

// standing returns the row that stands for an object of the host with several names, or 0.
func (tx *Tx) standing(base string, o *HostObject) (Ino, error) {
	if !o.IsRegular() || o.Nlink < 2 {
		return 0, nil
	}
	for _, find := range []func() (Ino, error){
		func() (Ino, error) { return tx.FindNumber(o.Number) },
		func() (Ino, error) { return tx.FindObject(base, &o.Fingerprint) },
	} {
		ino, err := find()
		if err != nil || ino == 0 {
			if err != nil {
				return 0, err
			}
			continue
		}
		stands := false
		err = tx.withLive(ino, func(in *Inode) error {
			is, f := in.Origin, &o.Fingerprint
			stands = in.Attr.Nlink > 0 && is != nil && is.Base == base && is.Dev == f.Dev && is.Fingerprint.Ino == f.Ino && is.Mtime == f.Mtime && is.Size == f.Size
			return nil
		})
		if stands || err != nil {
			return ino, err
		}
	}
	return 0, nil
}

// names has entries lead to rows by some paths of the host at which it shows them.
func (k *keeper) names(paths []string) error {
	for _, at := range paths {
		o, err := k.host.Describe(at)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return err
		}
		ino, err := Query(k.Store, func(tx *Tx) (Ino, error) { return tx.standing(k.tree.Name, o) })
		if err != nil {
			return err
		}
		if ino == 0 {
			continue
		}
		dir, shows, err := k.dirOf(at)
		if err != nil {
			return err
		}
		if shows {
			if err := k.link(dir, path.Base(at), ino, at); err != nil {
				return err
			}
		}
	}
	return nil
}

// link has an entry lead to a row that counts it already, as a name of the host's. at, if not empty, is its path there, of which the row says
// what was agreed on.
func (k *keeper) link(dir Ino, name string, ino Ino, at string) error {
	return k.Update(func(tx *Tx) error {
		return tx.withLive(dir, func(parent *Inode) error {
			return tx.withLive(ino, func(in *Inode) error {
				if err := tx.Link(parent, name, in); err != nil {
					return err
				}
				if at != "" && in.Origin != nil {
					tx.AddBaseline(k.tree, at, in.Baseline())
				}
				n, err := tx.Entries(in)
				in.Attr.Nlink = max(in.Attr.Nlink, uint32(n))
				tx.Dirty(in)
				return err
			})
		})
	})
}

// dirOf returns the row of the directory in which the tree shows what the host has at a path, with rows for those above it. shows is false if it
// does not show that there.
func (k *keeper) dirOf(at string) (dir Ino, shows bool, err error) {
	names := append([]string{k.tree.Name}, strings.Split(at, "/")...)
	dir, is := RootIno, "."
	for i, name := range names {
		if i > 0 {
			is = childPath(is, name)
		}
		var child Ino
		last := i == len(names)-1
		err := k.View(func(tx *Tx) error {
			return tx.withLive(dir, func(in *Inode) error {
				c, ok, hidden, err := tx.Child(in, name)
				if err != nil || hidden || ok && last {
					return err
				}
				if shows = !ok; ok {
					child = c.Ino
					shows, err = tx.showsHost(in, c, k.tree.Name, is)
				}
				return err
			})
		})
		if err != nil || !shows || last {
			return dir, shows, err
		}
		if shows = false; child == 0 {
			o, err := k.host.Describe(is)
			if err != nil || !o.IsDir() {
				return dir, false, err
			}
			if child, err = k.make(dir, name, is, o, o.Number); err != nil {
				return dir, false, err
			}
		}
		dir = child
	}
	return dir, false, nil
}

// showsHost tells whether an entry is a directory that shows one of the host's. The workspace, made by a push, does so without an origin.
func (tx *Tx) showsHost(dir *Inode, c Child, base, path string) (shows bool, err error) {
	err = tx.withLive(c.Ino, func(in *Inode) error {
		if o := in.Origin; o != nil || path != "." {
			shows = in.Attr.IsDir() && o != nil && o.Base == base && o.Path == path
			return nil
		}
		shows = in.Attr.IsDir() && !dir.whiteout[c.Name]
		return nil
	})
	return shows, err
}
