package sqlvfs

const qJournal = `SELECT entry FROM art_journal ORDER BY seq`

// Journal returns the journal's entries. Of changes, those that are committed count.
func (tx *Tx) Journal() ([][]byte, error) {
	var entries [][]byte
	q := tx.meta.Prep(qJournal)
	for q.Step() {
		entries = append(entries, q.ColumnBlob(0, nil))
	}
	return entries, tx.meta.Done(q)
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
		q := w.Prep("INSERT INTO art_journal (seq, entry) VALUES (?,?)")
		q.BindInt64(1, int64(i))
		q.BindBlob(2, entry)
		if err := w.Run(q); err != nil {
			return err
		}
	}
	return nil
}
