package sqlvfs

import (
	"crypto/sha256"

	"github.com/ncruces/go-sqlite3"
)

// baseHash came with layout 4: the SHA-256 of an origin's content, by which another version of the host's
// file with the same content is known. NULL is unknown.
const baseHash = `ALTER TABLE art_origin ADD COLUMN hash BLOB;
`

// scanHash reads a hash. What cannot be one is none.
func scanHash(q *sqlite3.Stmt, column int) string {
	if q.ColumnType(column) != sqlite3.BLOB || len(q.ColumnRawBlob(column)) != sha256.Size {
		return ""
	}
	return string(q.ColumnRawBlob(column))
}

func bindHash(q *sqlite3.Stmt, param int, hash string) {
	if hash == "" {
		q.BindNull(param)
	} else {
		q.BindBlob(param, []byte(hash))
	}
}
