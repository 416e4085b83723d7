package sqlvfs

import "github.com/ncruces/go-sqlite3"

// Of a file with several names on the host, entries lead to its row by some, and the host shows it by the others (see hostlinks.go). A
// difference knows of the first alone: where the second are, only the host can tell.

// LinkedFiles returns the files of the host for which rows stand that may differ, and that show by more names than entries lead to these
// rows. The difference is one of the moment's.
func (m *Moment) LinkedFiles(d *Difference) (list []HostFile, err error) {
	var may, are []Ino
	for ino := range d.Inodes {
		if ino <= m.top() && (d.several[ino] || d.entries[m][ino] == 0) {
			may = append(may, ino)
		}
	}
	if len(may) == 0 {
		return nil, nil
	}
	err = m.s.tx.each("SELECT ino FROM fs_inode WHERE ino IN (SELECT value FROM json_each(?)) AND mode&61440<>16384",
		func(q *sqlite3.Stmt) { are = append(are, Ino(q.ColumnInt64(0))) }, numbers(may))
	for _, ino := range are {
		var n *Node
		if err == nil {
			n, err = m.Node(ino)
		}
		if n != nil && n.Origin != nil && n.Attr.Nlink > d.entries[m][ino] {
			list = append(list, HostFileOf(n.Origin.Base, &n.Origin.Fingerprint))
		}
	}
	return list, err
}

// Lead adds to a difference the names on the ways to some of what the host shows: names by the directory of the base that they are in, from
// the base itself on.
func (m *Moment) Lead(d *Difference, base string, names map[string]map[string]bool) error {
	d.name(RootIno, base) // the guest may have changed nothing in it yet
	var dirs []Ino
	err := m.s.tx.each("SELECT ino, path FROM art_origin WHERE base=(SELECT id FROM art_base WHERE name=?)", func(q *sqlite3.Stmt) {
		ino, in := Ino(q.ColumnInt64(0)), names[string(q.ColumnRawBlob(1))]
		if len(in) == 0 {
			return
		}
		dirs = append(dirs, ino)
		for name := range in {
			d.name(ino, name)
		}
	}, base)
	if err == nil {
		_, err = m.climbFrom(d, dirs)
	}
	return err
}
