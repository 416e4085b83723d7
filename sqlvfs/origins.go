package sqlvfs

// Origins counts the inodes that have an origin, by the name of the workspace that it is in. Of
// changes, those that are committed count. The Store's lock must be held.
func (s *Store) Origins() (map[string]int, error) {
	q := s.meta.prep("SELECT b.name, count(*) FROM art_origin o JOIN art_base b ON b.id=o.base GROUP BY b.id")
	counts := map[string]int{}
	for q.Step() {
		counts[string(q.ColumnRawText(0))] = q.ColumnInt(1)
	}
	return counts, s.meta.done(q)
}

// Nameless returns the inodes without a name that have an origin in a workspace: files of the host
// that had several names there, of which the tree held some and holds none any more. Of changes,
// those that are committed count. The Store's lock must be held.
func (s *Store) Nameless(workspace string) ([]Ino, error) {
	q := s.meta.prep(`SELECT o.ino FROM art_origin o JOIN art_base b ON b.id=o.base
		WHERE b.name=? AND o.ino<>1 AND o.ino NOT IN (SELECT ino FROM fs_dentry)`)
	q.BindRawText(1, []byte(workspace))
	var list []Ino
	for q.Step() {
		list = append(list, Ino(q.ColumnInt64(0)))
	}
	return list, s.meta.done(q)
}

// Supplied is an inode whose origin is at a path of a workspace.
type Supplied struct {
	Ino   Ino
	Limit int64 // as [Origin].Limit
}

// Supplies returns the inodes that have an origin in a workspace, by the origin's path. Of changes,
// those that are committed count. The Store's lock must be held.
func (s *Store) Supplies(workspace string) (map[string]Supplied, error) {
	q := s.meta.prep("SELECT o.path, o.ino, o.data_limit FROM art_origin o JOIN art_base b ON b.id=o.base WHERE b.name=?")
	q.BindRawText(1, []byte(workspace))
	all := map[string]Supplied{}
	for q.Step() {
		all[string(q.ColumnRawBlob(0))] = Supplied{Ino(q.ColumnInt64(1)), q.ColumnInt64(2)}
	}
	return all, s.meta.done(q)
}
