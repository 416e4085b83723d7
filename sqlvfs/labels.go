package sqlvfs

import (
	"fmt"
	"strings"

	"github.com/ncruces/go-sqlite3"
)

const (
	// labelKey begins the keys of rows of fs_config that say when checkpoints were made that had a label and were dropped; behind it comes their
	// number, with as many digits as any. What was before them is of the turn that they ended, and of no later one.
	labelKey = "art_label_dropped:"
	// maxLabels bounds how many are known. The oldest go first.
	maxLabels = 10_000
)

// noteLabel notes that a checkpoint is about to be dropped that has a label.
func (w *writer) noteLabel(c *Checkpoint) error {
	key := fmt.Sprintf("%s%019d", labelKey, c.ID)
	err := do(w.conn, "INSERT OR REPLACE INTO main.fs_config (key, value) VALUES (?,?)", key, fmt.Sprint(nanoseconds(c.Made)))
	if err == nil {
		err = do(w.conn, "DELETE FROM main.fs_config WHERE key>=?1 AND key<=(SELECT key FROM main.fs_config WHERE key>=?1 AND key<?2 ORDER BY key DESC LIMIT 1 OFFSET ?3)",
			labelKey, afterLabels, int64(maxLabels))
	}
	return err
}

// afterLabels is the text after all keys that begin with labelKey.
var afterLabels = strings.TrimSuffix(labelKey, ":") + ";"

// DroppedLabels returns the numbers, and the times, of checkpoints that had a label and are not there any more.
func (m *Moment) DroppedLabels() (list []Checkpoint, err error) {
	err = m.s.tx.each(`SELECT CAST(substr(key, ?) AS INTEGER), CAST(substr(value, 1, 20) AS INTEGER) FROM main.fs_config WHERE key>=? AND key<? ORDER BY key DESC LIMIT ?`,
		func(q *sqlite3.Stmt) {
			list = append(list, Checkpoint{ID: q.ColumnInt64(0), Made: fromNanoseconds(q.ColumnInt64(1))})
		}, int64(len(labelKey)+1), labelKey, afterLabels, int64(maxLabels))
	return list, err
}
