package sqlvfs

import (
	"fmt"
	"syscall"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// Child is an entry of a directory.
type Child struct {
	Name   string
	Ino    Ino
	Number uint64 // inode number shown to programs
	Mode   uint32 // type and permissions; the type is always right, permissions may be old
}

// ValidName tells whether a string can name a directory entry.
func ValidName(name string) bool { return database.ValidName(name) }

// Child looks an entry up. ok is false when the directory holds none of that name; whiteout then
// tells whether a host tree's entry of that name is hidden too.
func (tx *Tx) Child(dir *Inode, name string) (c Child, ok, whiteout bool, err error) {
	if err := tx.loadDir(dir); err != nil {
		return Child{}, false, false, err
	}
	if e, found := dir.children[name]; found {
		tx.watch.seen(e.ino, dir, name)
		return Child{name, e.ino, e.number, e.mode}, true, false, nil
	}
	return Child{}, false, dir.whiteout[name], nil
}

// Children returns all entries, in no order. It makes a new list each time.
func (tx *Tx) Children(dir *Inode) ([]Child, error) {
	if err := tx.loadDir(dir); err != nil {
		return nil, err
	}
	list := make([]Child, 0, len(dir.children))
	for name, e := range dir.children {
		list = append(list, Child{name, e.ino, e.number, e.mode})
	}
	return list, nil
}

// Whiteouts returns the names of host entries that the directory hides.
func (tx *Tx) Whiteouts(dir *Inode) ([]string, error) {
	if err := tx.loadDir(dir); err != nil {
		return nil, err
	}
	list := make([]string, 0, len(dir.whiteout))
	for name := range dir.whiteout {
		list = append(list, name)
	}
	return list, nil
}

// Hides tells whether the directory hides the host entry of a name, also from who would look below an entry of its own.
func (tx *Tx) Hides(dir *Inode, name string) (bool, error) {
	err := tx.loadDir(dir)
	return dir.whiteout[name], err
}

// Link gives an inode a name, which must be a [ValidName], replacing an entry that is there. Link counts are the caller's.
func (tx *Tx) Link(dir *Inode, name string, in *Inode) error {
	if !tx.changing {
		return errViewing
	}
	if err := tx.loadDir(dir); err != nil {
		return err
	}
	tx.touch(dir, 0)
	tx.touch(in, 0)
	key := nameKey{dir, name}
	was, there := dir.children[name]
	if there {
		tx.countEntry(was.ino, -1)
	}
	tx.countEntry(in.Ino, 1)
	tx.gather.dentries.put(key, in.Ino, there || tx.inflight != nil && has(tx.inflight.dentries, key))
	tx.gather.bytes += len(name)
	dir.children[name] = child{in.Ino, in.Number(), in.Attr.Mode}
	tx.noteNamed(in, dir, name)
	tx.watch.seen(in.Ino, dir, name)
	return nil
}

// Unlink removes a name. Link counts are the caller's. The error is syscall.ENOENT when it is not there.
func (tx *Tx) Unlink(dir *Inode, name string) error {
	if err := tx.loadDir(dir); err != nil {
		return err
	}
	was, ok := dir.children[name]
	if !ok {
		return syscall.ENOENT
	}
	delete(dir.children, name)
	tx.countEntry(was.ino, -1)
	tx.touch(dir, 0)
	tx.noteRemoved(was.ino, dir, name)
	tx.watch.gone(was.ino, dir, name)
	tx.gather.dentries.remove(nameKey{dir, name})
	tx.gather.bytes += len(name)
	return nil
}

// SetWhiteout hides a host tree's entry of that name, if it is not hidden yet.
func (tx *Tx) SetWhiteout(dir *Inode, name string) error {
	if !tx.changing {
		return errViewing
	}
	if err := tx.loadDir(dir); err != nil {
		return err
	}
	if dir.whiteout[name] {
		return nil
	}
	tx.touch(dir, 0)
	key := nameKey{dir, name}
	tx.gather.whiteouts.put(key, struct{}{}, tx.inflight != nil && has(tx.inflight.whiteouts, key))
	tx.gather.bytes += len(name)
	tx.session.deleted++
	dir.whiteout[name] = true
	if tx.unlinked != (nameKey{dir, name}) { // else that has been noted
		tx.noteRemoved(0, dir, name)
	}
	return nil
}

// ClearWhiteout lets a host tree's entry show again, if it is hidden.
func (tx *Tx) ClearWhiteout(dir *Inode, name string) error {
	if err := tx.loadDir(dir); err != nil {
		return err
	}
	if dir.whiteout[name] {
		delete(dir.whiteout, name)
		tx.dropWhiteout(dir, name)
	}
	return nil
}

// ClearWhiteouts lets all of a host tree's entries show again.
func (tx *Tx) ClearWhiteouts(dir *Inode) error {
	if err := tx.loadDir(dir); err != nil {
		return err
	}
	tx.dropNames(dir)
	dir.hold().whiteout = map[string]bool{}
	return nil
}

// dropNames forgets the entries of a directory that is going away. It is empty but for whiteouts.
func (tx *Tx) dropNames(dir *Inode) {
	for name := range dir.whiteout {
		tx.dropWhiteout(dir, name)
	}
	if dir.whiteout != nil {
		dir.whiteout = nil
	}
}

func (tx *Tx) dropWhiteout(dir *Inode, name string) {
	tx.touch(dir, 0)
	tx.gather.whiteouts.remove(nameKey{dir, name})
	tx.gather.bytes += len(name)
	tx.session.deleted = max(0, tx.session.deleted-1)
}

// loadDir reads a directory's entries and whiteouts. A directory that was changed stays in memory
// until the change is committed, so the rows are always the whole truth here.
func (tx *Tx) loadDir(dir *Inode) error {
	if !dir.Attr.IsDir() {
		return syscall.ENOTDIR
	}
	if err := tx.refresh(dir); err != nil {
		return err
	}
	if dir.children != nil {
		tx.clean.use(dir)
		return nil
	}
	children := map[string]child{}
	err := tx.each(qChildren, func(q *sqlite3.Stmt) {
		name := string(q.ColumnRawText(0))
		e := child{ino: Ino(q.ColumnInt64(1)), mode: uint32(q.ColumnInt64(2))}
		e.number = shownNumber(e.ino, uint64(q.ColumnInt64(3)))
		// A name that no directory can hold, or an entry that leads back to the root, was written
		// by someone who means harm: it is not shown. check reports it.
		if ValidName(name) && e.ino != RootIno && e.ino != dir.Ino {
			children[name] = e
		}
	}, dir.Ino)
	if err != nil {
		return fmt.Errorf("entries of inode %d: %w", dir.Ino, err)
	}
	whiteout := map[string]bool{}
	if err := tx.each(qWhiteouts, func(q *sqlite3.Stmt) { whiteout[string(q.ColumnRawText(0))] = true }, dir.Ino); err != nil {
		return fmt.Errorf("whiteouts of inode %d: %w", dir.Ino, err)
	}
	l := dir.hold()
	l.children, l.whiteout = children, whiteout
	tx.keep(dir)
	return nil
}
