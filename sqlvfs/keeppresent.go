package sqlvfs

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/ncruces/go-sqlite3"
	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// A pull from a fork changes on the host what its parent and the other forks read from there, too. What they show of the host with no more than
// that, changes with it. What they have changed or renamed themselves is to stay what it is.

// ErrShowsMoved says that a directory which the guest has renamed shows one of the host that is about to change its place, or to go.
var ErrShowsMoved = errors.New("it was renamed, and shows what is in that directory of the host")

// KeepPresent has files hold all of their content that a pull from another database is about to change on the host, or to remove there, and
// directories that were renamed, or that go, all that is in them. What is at the place of the host's, and is as it has come from there, stays so
// if a file comes there for a file, or a directory for a directory: it shows what comes. Directories that the pull renames as they were renamed
// here are returned, see [Store.Follow]. step is called after each part of a file, and ends the
// work by an error. Other errors are that of the database, of the host, and, while a session runs, which is what live says, [ErrShowsMoved]:
// then the host is not to be changed. There a directory that goes, and was not renamed, shows no more of the host's. What [Store.NamesToKeep]
// returns has to have entries then.
func (s *Store) KeepPresent(t Tree, host HostTree, list []HostChange, live bool, step func() error) ([]Renamed, error) {
	k := &keeper{Store: s, tree: t, host: host, step: step}
	if !live { // a session knows its directories by what it shows of the host's
		paths, err := s.NamesToKeep(t, list)
		if err == nil {
			err = k.names(paths)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := s.commitNow(); err != nil {
		return nil, err
	}
	rows, err := Query(s, func(tx *Tx) ([]reader, error) { return tx.readsFrom(t, list, live) })
	for _, h := range rows {
		switch {
		case err != nil:
		case h.dir && live: // programs may know what is in it by numbers of the host's
			err = ErrShowsMoved
		case h.dir:
			err = k.wholeDir(h)
		default:
			err = k.file(h.holder)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", h.path, err)
		}
	}
	return k.renamed, err
}

// keeper has the tree hold what it shows of the host.
type keeper struct {
	*Store
	tree Tree
	host HostTree
	step func() error
	made map[object]Ino // of files of the host with several names

	entries []keptEntry // that were made for a directory
	renamed []Renamed
}

// reader is an inode that shows something of the host's.
type reader struct {
	holder
	mode    uint32 // its type alone
	dir     bool
	inPlace bool   // of a directory: it is where that of the host's is that it shows
	to      string // same: it is where the pull moves that; empty: it is not
}

// Reads returns an error if the database reads from the host what KeepPresent would have it hold itself.
func (s *Store) Reads(t Tree, list []HostChange) error {
	rows, err := Query(s, func(tx *Tx) ([]reader, error) { return tx.readsFrom(t, list, false) })
	if err == nil && len(rows) > 0 {
		err = fmt.Errorf("%s: it reads that from the host", rows[0].path)
	}
	return err
}

// commitNow commits what is gathered.
func (s *Store) commitNow() error {
	unlock, err := s.lockWriter()
	if err != nil {
		return err
	}
	defer unlock()
	return s.commitGathered()
}

// readsFrom returns what is to be held. Of changes, those that are committed count.
func (tx *Tx) readsFrom(t Tree, list []HostChange, live bool) (kept []reader, err error) {
	changed, linked := changedPaths(list), map[uint64]bool{}
	for _, c := range list {
		linked[c.Linked] = c.Linked != 0
	}
	var all []reader
	err = tx.each(`SELECT o.ino, o.path, o.base_ino, i.mode & 61440 FROM art_origin o JOIN fs_inode i ON i.ino=o.ino
		WHERE o.base=(SELECT id FROM art_base WHERE name=?) AND (o.data_limit>0 OR i.mode & 61440 = 16384)`, func(q *sqlite3.Stmt) {
		h := reader{holder: holder{Ino(q.ColumnInt64(0)), string(q.ColumnRawBlob(1))}, mode: uint32(q.ColumnInt64(3))}
		h.dir = h.mode == unix.S_IFDIR
		if !h.ino.valid() || !database.ValidPath(h.path) {
			return
		}
		at, goes := changed.find(h.path)
		switch {
		case goes, h.dir && at != nil && len(at.below) > 0, !h.dir && (at != nil && at.here || linked[uint64(q.ColumnInt64(2))]):
			all = append(all, h)
		}
	}, t.Name)
	for _, h := range all {
		same := h.dir && live || changed.stays(h.path, h.mode)
		if err == nil && h.dir {
			if h.inPlace, err = tx.isAt(h.holder, t.Name); err == nil && !h.inPlace {
				h.to, err = tx.movedTo(h.holder, t.Name, changed)
			}
			same = same && h.inPlace
		} else if err == nil && same {
			if same, err = tx.isAsThere(h.ino); same && err == nil {
				same, err = tx.isAt(h.holder, t.Name)
			}
		}
		if !same && err == nil {
			kept = append(kept, h)
		}
	}
	return kept, err
}

// isAt tells whether an inode has no name, or only that of the host's object that it stands for.
func (tx *Tx) isAt(h holder, base string) (bool, error) {
	paths, err := tx.pathsOf(h.ino)
	for _, at := range paths {
		if at != path.Join(base, h.path) {
			return false, err
		}
	}
	return true, err
}

// movedTo returns the path of a directory that was renamed, if a pull renames to that what it shows of the host.
func (tx *Tx) movedTo(h holder, base string, changed *changedPath) (string, error) {
	paths, err := tx.pathsOf(h.ino)
	for _, at := range paths {
		if to, in := strings.CutPrefix(at, base+"/"); in && changed.moves(h.path, to) {
			return to, err
		}
	}
	return "", err
}

// pathsOf returns the paths of an inode, from the root on.
func (tx *Tx) pathsOf(ino Ino) (paths []string, err error) {
	names, err := tx.namesOf(ino)
	for _, n := range names {
		at := n.Name
		for depth := 0; n.Dir != RootIno && err == nil; depth++ {
			var above []NameIn
			if above, err = tx.namesOf(n.Dir); len(above) == 0 || depth > unix.PathMax {
				break
			}
			n = above[0]
			at = path.Join(n.Name, at)
		}
		paths = append(paths, at)
	}
	return paths, err
}

func (tx *Tx) namesOf(ino Ino) (names []NameIn, err error) {
	err = tx.each("SELECT parent_ino, name FROM fs_dentry WHERE ino=?", func(q *sqlite3.Stmt) {
		names = append(names, NameIn{Ino(q.ColumnInt64(0)), string(q.ColumnRawText(1))})
	}, ino)
	return names, err
}

// isAsThere tells whether a file has all of its content from the host, if it is there.
func (tx *Tx) isAsThere(ino Ino) (bool, error) {
	in, err := tx.Get(ino)
	if errors.Is(err, ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer tx.Put(in)
	return tx.Follows(in)
}

// wholeDir is dir, and notes what it has made of a directory that the pull renames, too.
func (k *keeper) wholeDir(h reader) error {
	is, err := Query(k.Store, func(tx *Tx) (o Origin, err error) {
		err = tx.withLive(h.ino, func(dir *Inode) error {
			if dir.Origin != nil {
				o = *dir.Origin
			}
			return nil
		})
		return o, err
	})
	if err != nil {
		return err
	}
	k.entries = nil
	if err = k.dir(h.ino, h.path, h.inPlace); err == nil && h.to != "" && is.Path == h.path {
		is.Path = h.to
		k.renamed = append(k.renamed, Renamed{h.to, h.path, h.ino, is, k.entries})
	}
	return err
}

// dir has a directory hold all that shows in it. Until then it shows the host's. One that is where the host's is goes on to agree with that:
// the host removes it, and it is not new there.
func (k *keeper) dir(ino Ino, path string, inPlace bool) error {
	names, err := k.host.Names(path)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	for _, name := range names {
		if err == nil {
			err = k.entry(ino, name, childPath(path, name), inPlace)
		}
	}
	if err != nil {
		return err
	}
	return k.Update(func(tx *Tx) error {
		return tx.withLive(ino, func(dir *Inode) error {
			if inPlace && dir.Origin != nil {
				tx.AddBaseline(k.tree, path, dir.Baseline())
			}
			tx.SetOrigin(dir, nil)
			return nil
		})
	})
}

// entry has a directory have a row of what it shows of the host's at a name.
func (k *keeper) entry(dir Ino, name, at string, inPlace bool) error {
	var free bool
	err := k.View(func(tx *Tx) error {
		return tx.withLive(dir, func(in *Inode) error {
			_, there, hidden, err := tx.Child(in, name)
			free = !there && !hidden
			return err
		})
	})
	if !free || err != nil {
		return err
	}
	o, err := k.host.Describe(at)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	of := object{k.tree.Name, o.Fingerprint.Dev, o.Fingerprint.Ino}
	ino, err := Query(k.Store, func(tx *Tx) (Ino, error) { return tx.standing(k.tree.Name, o) })
	if err != nil {
		return err
	}
	if ino == 0 {
		ino = k.made[of]
	}
	if ino != 0 {
		if k.made[of] == ino {
			k.entries = append(k.entries, keptEntry{dir, name, ino, at, nil})
		}
		return k.link(dir, name, ino, "")
	}
	if ino, err = k.make(dir, name, at, o, 0); err != nil {
		return err
	}
	e := keptEntry{dir, name, ino, at, nil}
	if o.IsDir() {
		e.is = &Origin{Base: k.tree.Name, Number: uint64(ino), Fingerprint: o.Fingerprint, Mode: o.Mode}
	}
	k.entries = append(k.entries, e)
	if o.IsRegular() && o.Nlink > 1 {
		if k.made == nil {
			k.made = map[object]Ino{}
		}
		k.made[of] = ino
	}
	switch {
	case o.IsDir():
		return k.dir(ino, at, inPlace)
	case o.IsRegular():
		return k.file(holder{ino, at})
	}
	return nil
}

// make makes that row, which shows what it did, and a number, if that is not 0.
func (k *keeper) make(dir Ino, name, at string, o *HostObject, number uint64) (ino Ino, err error) {
	err = k.Update(func(tx *Tx) error {
		return tx.withLive(dir, func(parent *Inode) error {
			attr := o.Attr
			if !attr.IsDir() {
				attr.Nlink = 1
			}
			in, err := tx.New(attr)
			if err != nil {
				return err
			}
			defer tx.Put(in)
			origin := Origin{Base: k.tree.Name, Path: at, Number: cmp.Or(number, uint64(in.Ino)), Fingerprint: o.Fingerprint, Mode: o.Mode}
			switch {
			case o.IsSymlink():
				tx.SetTarget(in, o.Target)
			case o.IsRegular():
				origin.Limit = o.Size
			}
			tx.SetOrigin(in, &origin)
			for name, value := range o.Xattrs {
				if err := tx.SetXattr(in, name, value); err != nil {
					return err
				}
			}
			ino = in.Ino
			return tx.Link(parent, name, in)
		})
	})
	return ino, err
}

// file has a file hold all of its content, unless the host does not have that any more.
func (k *keeper) file(h holder) error {
	in, err := Query(k.Store, func(tx *Tx) (*Inode, error) { return tx.Get(h.ino) })
	if errors.Is(err, ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = k.View(func(tx *Tx) error { tx.Put(in); return nil }) }()
	f, err := k.host.Content(h.path)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	is, err := f.Version()
	was, qerr := Query(k.Store, func(*Tx) (Origin, error) {
		if in.Origin == nil {
			return Origin{}, nil
		}
		return *in.Origin, nil
	})
	if err = errors.Join(err, qerr); err != nil || was.Fingerprint != is {
		return err
	}
	if err = k.Fill(in, f, true, func(int) error { return k.step() }); err == nil {
		err = unchangedFrom(f, &was.Fingerprint)
	}
	if errors.Is(err, ErrBaseChanged) { // as after any other change there
		err = nil
	}
	return err
}
