package sqlvfs

import "github.com/ncruces/go-sqlite3"

// Entries returns how many entries lead to an inode that has an origin. No index leads from an inode to its names: all of them are counted
// once, when it is first asked for, and by Link and Unlink from then on.
func (tx *Tx) Entries(in *Inode) (int, error) {
	if tx.entries == nil || tx.entriesAt != tx.epoch {
		if err := tx.countEntries(); err != nil {
			return 0, err
		}
	}
	return tx.entries[in.Ino], nil
}

// countEntries counts those of inodes with origins: the committed ones, but for names that changes which are not committed are about, and
// what these make of the names.
func (tx *Tx) countEntries() error {
	changed := map[NameIn]Ino{} // what a name leads to; 0: nothing
	for _, b := range []*batch{tx.inflight, tx.gather} {
		if b == nil {
			continue
		}
		for key, e := range b.dentries {
			changed[NameIn{key.dir.Ino, key.name}] = e.value // that of one that is gone is 0
		}
	}
	var origins []Ino // that may not be committed
	for ino, in := range tx.live {
		if in.Origin != nil {
			origins = append(origins, ino)
		}
	}
	counts := map[Ino]int{}
	err := tx.each(`SELECT parent_ino, name, ino FROM fs_dentry
		WHERE ino IN (SELECT ino FROM art_origin UNION ALL SELECT value FROM json_each(?))`, func(q *sqlite3.Stmt) {
		if _, ok := changed[NameIn{Ino(q.ColumnInt64(0)), string(q.ColumnRawText(1))}]; !ok {
			counts[Ino(q.ColumnInt64(2))]++
		}
	}, numbers(origins))
	if err != nil {
		return err
	}
	for _, ino := range changed {
		if ino != 0 {
			counts[ino]++
		}
	}
	tx.entries, tx.entriesAt = counts, tx.epoch
	return nil
}

// countEntry notes that one more entry leads to an inode, or, with -1, one less.
func (tx *Tx) countEntry(ino Ino, more int) {
	if tx.entries == nil {
		return
	}
	if tx.entries[ino] += more; tx.entries[ino] == 0 {
		delete(tx.entries, ino)
	}
}
