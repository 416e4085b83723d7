package sqlvfs

import (
	"fmt"

	"github.com/ncruces/go-sqlite3"
)

// MaxResult bounds what is kept of what came of a fork, in bytes.
const MaxResult = 128 << 10

// keyResult is the row of fs_config that says what came of a fork.
const keyResult = "art_result"

// SetResult remembers what came of the database, in whatever form, instead of what was remembered. It is durable when SetResult returns.
func (s *Store) SetResult(text []byte) error {
	if len(text) > MaxResult {
		return fmt.Errorf("remember a result: it has %d bytes, and %d are kept", len(text), MaxResult)
	}
	return s.atWriter(func(w *writer) error {
		return do(w.conn, "INSERT OR REPLACE INTO main.fs_config (key, value) VALUES (?, ?)", keyResult, string(text))
	})
}

// Result returns what is remembered; nil: nothing is, or more than is kept. Another program may have written it.
func (s *Store) Result() (text []byte, err error) {
	return Query(s, func(tx *Tx) (text []byte, err error) {
		err = tx.each("SELECT CAST(value AS BLOB) FROM main.fs_config WHERE key='"+keyResult+"' AND length(CAST(value AS BLOB))<=?", func(q *sqlite3.Stmt) {
			text = q.ColumnBlob(0, nil)
		}, int64(MaxResult))
		return text, err
	})
}
