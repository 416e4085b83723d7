package sqlvfs

// journalTable is what a pull writes down before it changes the workspace, in order, so that whoever opens
// the database after it was killed can finish that. It is empty but for then. What an entry says is package
// sync's.
const journalTable = `
CREATE TABLE art_journal (
	seq INTEGER PRIMARY KEY,
	entry BLOB NOT NULL);
`

const qJournal = `SELECT entry FROM art_journal ORDER BY seq`

// Journal returns the journal's entries. Of changes, those that are committed count.
func (tx *Tx) Journal() ([][]byte, error) {
	var entries [][]byte
	q := tx.meta.prep(qJournal)
	for q.Step() {
		entries = append(entries, q.ColumnBlob(0, nil))
	}
	return entries, tx.meta.done(q)
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
		q := w.prep("INSERT INTO art_journal (seq, entry) VALUES (?,?)")
		q.BindInt64(1, int64(i))
		q.BindBlob(2, entry)
		if err := w.run(q); err != nil {
			return err
		}
	}
	return nil
}
