package sqlvfs

import (
	"crypto/sha256"

	"github.com/ncruces/go-sqlite3"
)

// versionColumns came with layout 4. They say which other version of a host's file than the one that was
// copied up will do for its origin: one with the same content, by its SHA-256 (NULL is unknown), and one
// that a pull has made of it, up to a moment in seconds (see [Origin].Until; 0: there is none).
const versionColumns = `ALTER TABLE art_origin ADD COLUMN hash BLOB;
ALTER TABLE art_origin ADD COLUMN until INTEGER NOT NULL DEFAULT 0;
`

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
