// Package raw asks a database what package sqlvfs has no words for: which rows a file's content
// has, and which entries are not shown because they make no sense.
package raw

import (
	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs"
)

// DB is a connection that only reads. One goroutine at a time may use it.
type DB struct {
	conn  *sqlite3.Conn
	close func() error
}

// Open opens a database that package sqlvfs has accepted, also beside a writer.
func Open(path string) (*DB, error) {
	c, close, err := sqlvfs.Connect(path)
	if err != nil {
		return nil, err
	}
	return &DB{c, close}, nil
}

// Close closes the connection.
func (db *DB) Close() error { return db.close() }

// Content returns how many rows of content a file has, and how many bytes they hold.
func (db *DB) Content(ino sqlvfs.Ino) (chunks, bytes int64, err error) {
	q, _, err := db.conn.Prepare("SELECT count(*), ifnull(sum(length(data)), 0) FROM fs_data WHERE ino=?")
	if err != nil {
		return 0, 0, err
	}
	defer q.Close()
	q.BindInt64(1, int64(ino))
	if q.Step() {
		chunks, bytes = q.ColumnInt64(0), q.ColumnInt64(1)
	}
	return chunks, bytes, q.Err()
}

// Hidden is an entry that no program can be shown.
type Hidden struct {
	Dir  sqlvfs.Ino
	Name string
	Why  string
}

// HiddenEntries returns the entries that package sqlvfs leaves out of every directory: their names
// are none, they lead to the root or to their own directory, or to an inode that is not there.
func (db *DB) HiddenEntries() ([]Hidden, error) {
	q, _, err := db.conn.Prepare(`SELECT parent_ino, name, ino, EXISTS (SELECT 1 FROM fs_inode i WHERE i.ino=d.ino) FROM fs_dentry d
		WHERE name IN ('', '.', '..') OR instr(name, '/') OR length(CAST(name AS BLOB))>255 OR instr(CAST(name AS BLOB), x'00')
		OR ino=1 OR ino=parent_ino OR NOT EXISTS (SELECT 1 FROM fs_inode i WHERE i.ino=d.ino)`)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	var list []Hidden
	for q.Step() {
		h := Hidden{Dir: sqlvfs.Ino(q.ColumnInt64(0)), Name: string(q.ColumnRawText(1)), Why: "it leads to the root or to itself"}
		switch {
		case !sqlvfs.ValidName(h.Name):
			h.Why = "no file can have this name"
		case !q.ColumnBool(3):
			h.Why = "it has no inode"
		}
		list = append(list, h)
	}
	return list, q.Err()
}

// Linked is a file of a host tree that a session has copied up, and that has several names.
type Linked struct {
	Ino          sqlvfs.Ino
	Dev, BaseIno uint64 // the host's file, when it was copied up
	Names        uint32 // entries that lead to the row
}

// LinkedFiles returns these files of one workspace.
func (db *DB) LinkedFiles(workspace string) ([]Linked, error) {
	if n, err := db.tables("art_origin", "art_base"); err != nil || n < 2 {
		return nil, err // made by another tool: it has none
	}
	q, _, err := db.conn.Prepare(`SELECT o.ino, o.dev, o.base_ino, d.names FROM art_origin o JOIN art_base b ON b.id=o.base
		JOIN fs_inode i ON i.ino=o.ino JOIN (SELECT ino, count(*) AS names FROM fs_dentry GROUP BY ino) d ON d.ino=o.ino
		WHERE b.name=? AND i.nlink>1 AND i.mode&61440=32768`)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	if err := q.BindRawText(1, []byte(workspace)); err != nil {
		return nil, err
	}
	var list []Linked
	for q.Step() {
		list = append(list, Linked{sqlvfs.Ino(q.ColumnInt64(0)), uint64(q.ColumnInt64(1)), uint64(q.ColumnInt64(2)), uint32(q.ColumnInt64(3))})
	}
	return list, q.Err()
}

func (db *DB) tables(names ...string) (n int, err error) {
	for _, name := range names {
		q, _, err := db.conn.Prepare("SELECT 1 FROM sqlite_schema WHERE type='table' AND name=?")
		if err != nil {
			return 0, err
		}
		q.BindText(1, name)
		if q.Step() {
			n++
		}
		err = q.Err()
		q.Close()
		if err != nil {
			return 0, err
		}
	}
	return n, nil
}
