package fsck

import (
	"bytes"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// setAside makes a repairStep that moves chunks, which query yields as id, ino and chunk_index, to
// files of their own: one for each inode that they were of. Empty ones are nothing to keep.
func setAside(query string) repairStep {
	return func(m *repairer) error {
		if err := m.Exec("CREATE TEMP TABLE stray AS SELECT id, ino, row_number() OVER (PARTITION BY ino ORDER BY chunk_index) - 1 AS seq FROM (" + query + ")"); err != nil {
			return err
		}
		if err := m.Exec("DELETE FROM fs_data WHERE length(data) = 0 AND rowid IN (SELECT id FROM stray)"); err != nil {
			return err
		}
		// Not by ino, which may be no number.
		firsts, err := m.inodes("SELECT id FROM stray WHERE seq = 0")
		for _, first := range firsts {
			if err != nil {
				break
			}
			err = m.exec(`UPDATE fs_data SET ino = ?2, chunk_index = (SELECT seq FROM stray WHERE id = fs_data.rowid)
				WHERE rowid IN (SELECT id FROM stray WHERE ino IS (SELECT ino FROM stray WHERE id = ?1))`, first, m.newNumber())
		}
		if err != nil {
			return err
		}
		return m.Exec("DROP TABLE temp.stray")
	}
}

// resizeChunks makes chunks as long as they should be. If there is something in what is too much,
// the whole chunk becomes a file too: it may be the file's size that is wrong.
func (m *repairer) resizeChunks() error {
	type wrong struct{ id, want int64 }
	var list []wrong
	err := database.ForRows(m.Conn, `SELECT c.rowid, min(chunk_size(), i.size - c.chunk_index * chunk_size()) AS want
		FROM fs_data c JOIN fs_inode i ON i.ino = c.ino
		WHERE `+isRegular+` AND c.chunk_index >= 0 AND want > 0 AND `+dataLength+` <> want`, func(q *sqlite3.Stmt) {
		list = append(list, wrong{q.ColumnInt64(0), q.ColumnInt64(1)})
	})
	if err != nil {
		return err
	}
	for _, w := range list {
		q := m.Prep("SELECT data FROM fs_data WHERE rowid = ?")
		q.BindInt64(1, w.id)
		var data []byte
		if q.Step() {
			data = bytes.Clone(q.ColumnRawBlob(0))
		}
		if err := m.Done(q); err != nil {
			return err
		}
		right := make([]byte, w.want)
		if n := copy(right, data); len(bytes.TrimLeft(data[n:], "\x00")) > 0 {
			if err := m.keep(m.newNumber(), data); err != nil {
				return err
			}
		}
		q = m.Prep("UPDATE fs_data SET data = ?2 WHERE rowid = ?1")
		q.BindInt64(1, w.id)
		q.BindBlob(2, right)
		if err := m.Run(q); err != nil {
			return err
		}
	}
	return nil
}

// keepTargets makes files of symbolic links whose targets cannot be.
func (m *repairer) keepTargets() error {
	list, err := m.inodes(`SELECT i.ino FROM fs_inode i LEFT JOIN fs_symlink s ON s.ino = i.ino WHERE ` + isSymlink + ` AND (` + badTarget + `)`)
	if err != nil {
		return err
	}
	for _, ino := range list {
		q := m.Prep("SELECT target FROM fs_symlink WHERE ino=?")
		q.BindInt64(1, int64(ino))
		var target []byte
		if q.Step() {
			target = bytes.Clone(q.ColumnRawBlob(0))
		}
		if err := m.Done(q); err != nil {
			return err
		}
		if err := m.exec("DELETE FROM fs_data WHERE ino = ?", ino); err != nil {
			return err
		}
		if err := m.keep(ino, target); err != nil {
			return err
		}
		if err := m.exec("DELETE FROM fs_symlink WHERE ino = ?", ino); err != nil {
			return err
		}
		if err := m.exec("UPDATE fs_inode SET mode = 33152, size = ?2 WHERE ino = ?1", ino, int64(len(target))); err != nil {
			return err
		}
	}
	return nil
}

// keep stores content of an inode that has none.
func (m *repairer) keep(ino int64, data []byte) error {
	for index := int64(0); len(data) > 0; index++ {
		n := min(int(m.chunkSize), len(data))
		q := m.Prep("INSERT INTO fs_data (ino, chunk_index, data) VALUES (?,?,?)")
		q.BindInt64(1, int64(ino))
		q.BindInt64(2, index)
		q.BindBlob(3, data[:n])
		if err := m.Run(q); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}
