package sqlvfs

import "github.com/ncruces/go-sqlite3"

// Origins counts the inodes that have an origin, by the name of the workspace that it is in. Of
// changes, those that are committed count.
func (tx *Tx) Origins() (map[string]int, error) {
	counts := map[string]int{}
	err := tx.each("SELECT b.name, count(*) FROM art_origin o JOIN art_base b ON b.id=o.base GROUP BY b.id", func(q *sqlite3.Stmt) {
		counts[string(q.ColumnRawText(0))] = q.ColumnInt(1)
	})
	return counts, err
}

// Nameless returns the inodes without a name that have an origin in a workspace: files of the host
// that had several names there, of which the tree held some and holds none any more. Of changes,
// those that are committed count.
func (tx *Tx) Nameless(workspace string) ([]Ino, error) {
	var list []Ino
	err := tx.each(`SELECT o.ino FROM art_origin o JOIN art_base b ON b.id=o.base
		WHERE b.name=? AND o.ino<>1 AND o.ino NOT IN (SELECT ino FROM fs_dentry)`,
		func(q *sqlite3.Stmt) { list = append(list, Ino(q.ColumnInt64(0))) }, workspace)
	return list, err
}

// Supplied is an inode whose origin is at a path of a workspace.
type Supplied struct {
	Ino   Ino
	Limit int64 // as [Origin].Limit
}

// Supplies returns the inodes that have an origin in a workspace, by the origin's path. Of changes,
// those that are committed count.
func (tx *Tx) Supplies(workspace string) (map[string]Supplied, error) {
	all := map[string]Supplied{}
	err := tx.each("SELECT o.path, o.ino, o.data_limit FROM art_origin o JOIN art_base b ON b.id=o.base WHERE b.name=?", func(q *sqlite3.Stmt) {
		all[string(q.ColumnRawBlob(0))] = Supplied{Ino(q.ColumnInt64(1)), q.ColumnInt64(2)}
	}, workspace)
	return all, err
}

// Linked is a file of a host tree that a session has copied up, and that has several names.
type Linked struct {
	Ino          Ino
	Dev, BaseIno uint64 // the host's file, when it was copied up
	Names        uint32 // entries that lead to the row
}

// LinkedFiles returns the [Linked] files of one workspace. Of changes, those that are committed count.
func (tx *Tx) LinkedFiles(workspace string) ([]Linked, error) {
	var list []Linked
	err := tx.each(`SELECT o.ino, o.dev, o.base_ino, (SELECT count(*) FROM fs_dentry d WHERE d.ino=o.ino) AS names
		FROM art_origin o JOIN art_base b ON b.id=o.base JOIN fs_inode i ON i.ino=o.ino
		WHERE b.name=? AND i.nlink>1 AND i.mode&61440=32768 AND names>0`, func(q *sqlite3.Stmt) {
		l := Linked{Ino(q.ColumnInt64(0)), uint64(q.ColumnInt64(1)), uint64(q.ColumnInt64(2)), uint32(q.ColumnInt64(3))}
		if o := tx.moved.origin(l.Ino, nil); o != nil {
			l.Dev, l.BaseIno = o.Dev, o.Ino
		}
		list = append(list, l)
	}, workspace)
	return list, err
}
