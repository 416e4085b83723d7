package sqlvfs

import (
	"crypto/sha256"

	"github.com/ncruces/go-sqlite3"
)

// Patched tells whether a version of the host's file may be what a pull has made of the origin's, which was
// killed meanwhile. The file's change time cannot be set back by anybody.
func (o *Origin) Patched(now Fingerprint, size int64) bool {
	return o.Until != 0 && now.Ctime.Sec <= o.Until && now.Dev == o.Dev && now.Ino == o.Fingerprint.Ino && now.Size >= o.Size && now.Size <= size
}

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
