// Package raw asks a database what package sqlvfs has no words for: which rows a file's content
// has.
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
