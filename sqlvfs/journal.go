package sqlvfs

import "github.com/ncruces/go-sqlite3"

const qJournal = `SELECT entry FROM art_journal ORDER BY seq`

// Journal returns the journal's entries. Of changes, those that are committed count.
func (tx *Tx) Journal() ([][]byte, error) {
	var entries [][]byte
	err := tx.each(qJournal, func(q *sqlite3.Stmt) { entries = append(entries, q.ColumnBlob(0, nil)) })
	return entries, err
}

// SetJournal writes a new journal in place of the one that is there; nil removes it.
func (tx *Tx) SetJournal(entries [][]byte) {
	tx.begin()
	tx.gather.journal = &entries
}

func (w *writer) putJournal(b *batch) error {
	if b.journal == nil {
		return nil
	}
	if err := w.exec("DELETE FROM art_journal"); err != nil {
		return err
	}
	for i, entry := range *b.journal {
		if err := do(w.conn, "INSERT INTO art_journal (seq, entry) VALUES (?,?)", int64(i), entry); err != nil {
			return err
		}
	}
	return nil
}
