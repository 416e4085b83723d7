package sqlvfs

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// Keep bounds the history of a tree. The newest checkpoint always stays.
type Keep struct {
	Checkpoints int           // at most, and as many of the guest's; those with a label go last, but for the guest's. 0: any number
	For         time.Duration // none without a label that is older. 0: however old
	Bytes       int64         // of content that is not in the tree any more, at most. 0: any amount
	Undone      time.Duration // what going back has replaced stays for so long after that, whatever the others say. 0: as all else
}

// DefaultKeep is how much history is kept where nobody says.
var DefaultKeep = Keep{Checkpoints: 100, For: 14 * 24 * time.Hour, Bytes: 2 << 30, Undone: 24 * time.Hour}

// Thin drops checkpoints of which there are too many, each in a transaction of its own, and returns how many. What only they show is lost.
// The space that becomes free is used again, and given back to the disk as that of deleted files.
func (s *Store) Thin(k Keep) (dropped int, err error) {
	for {
		more, err := s.thinOnce(&k)
		if err != nil || !more {
			return dropped, err
		}
		dropped++
	}
}

// thinOnce drops the checkpoint that is the first to go, and tells whether there was one.
func (s *Store) thinOnce(k *Keep) (more bool, err error) {
	unlock, err := s.lockWriter()
	if err != nil {
		return false, err
	}
	defer unlock()
	// Steps go on meanwhile: a checkpoint may have much to drop.
	s.mu.Unlock()
	defer s.mu.Lock()
	w := s.writer
	if err := w.connect(); err != nil {
		return false, w.Cause(err)
	}
	return w.thin(k)
}

// thin drops the checkpoint that is the first to go, and tells whether there was one.
func (w *writer) thin(k *Keep) (more bool, err error) {
	if err := w.thinFlows(k); err != nil || w.pulling {
		return false, err
	}
	all, err := checkpointsOf(w.conn)
	if err != nil {
		return false, err
	}
	oldest := int64(0)
	if len(all) > 0 {
		oldest = all[len(all)-1].ID
	}
	if err := w.thinReleased(oldest); err != nil {
		return false, fmt.Errorf("forget what pulls have let go of: %w", w.Cause(err))
	}
	if err := w.thinLog(k, oldest); err != nil || len(all) < 2 {
		return false, err
	}
	held, undone, err := w.needed(k, all)
	if err != nil {
		return false, err
	}
	i, err := w.excess(k, all, func(c *Checkpoint) bool { return held[c.ID] || undone[c.ID] })
	if err == nil && i > 0 {
		err = w.transact(func() error { return w.drop(&all[i]) })
	}
	if err != nil {
		return false, fmt.Errorf("drop a checkpoint: %w", w.Cause(err))
	}
	return i > 0, nil
}

// heldOf returns the numbers of the checkpoints that forks are of.
func heldOf(c *conn) (held map[int64]bool, err error) {
	list, err := forksOf(c)
	held = map[int64]bool{}
	for _, f := range list {
		held[f.Checkpoint] = true
	}
	return held, err
}

// newestHeld is the newest checkpoint that a fork is of; 0: there is none.
func newestHeld(c *conn) (id int64, err error) {
	held, err := heldOf(c)
	for h := range held {
		id = max(id, h)
	}
	return id, err
}

// needed returns the numbers of the checkpoints that forks are of, and of those that going back has made not long ago, with all that Redo
// leads to from there. all are the checkpoints, the newest first.
func (w *writer) needed(k *Keep, all []Checkpoint) (held, undone map[int64]bool, err error) {
	undone = map[int64]bool{}
	for i := range all {
		c := &all[i]
		if undone[c.ID] || c.ofGoingBack() && time.Since(c.Made.Time()).Abs() < k.Undone { // Abs: the clock may have been ahead then
			undone[c.ID], undone[c.Redo] = true, true
		}
	}
	held, err = heldOf(w.conn)
	return held, undone, err
}

// excess returns which checkpoint is too much; 0: none. all are the checkpoints, the newest first, which stays, as do some of the others.
func (w *writer) excess(k *Keep, all []Checkpoint, stays func(*Checkpoint) bool) (int, error) {
	first, guest, guests := 0, 0, 0 // the oldest, and of those without a label if there is one; of the guest's the oldest, and how many they are
	for i := len(all) - 1; i >= 0; i-- {
		c := &all[i]
		if c.Kind == ByGuest {
			guests++
		}
		switch {
		case i == 0, stays(c):
		case c.Kind == ByGuest:
			guest = cmp.Or(guest, i)
		case first == 0, c.Label == "" && all[first].Label != "":
			first = i
		}
	}
	old := func(i int) bool { return k.For > 0 && time.Since(all[i].Made.Time()) > k.For }
	switch {
	case guest > 0 && (k.Checkpoints > 0 && guests > k.Checkpoints || guests > maxByGuest/2 || old(guest)):
		return guest, nil
	case first > 0 && (k.Checkpoints > 0 && len(all)-guests > k.Checkpoints || all[first].Label == "" && old(first)):
		return first, nil
	}
	// The guest decides how much its own take, and these go before any other.
	if first = cmp.Or(guest, first); first == 0 {
		return 0, nil
	}
	if k.Bytes > 0 {
		// A row has a chunk at most, and it takes long to add up the lengths of many.
		rows, err := queryNumber(w.conn, "SELECT count(*) FROM art_old_data INDEXED BY art_old_data_checkpoint")
		if err != nil || rows*w.store.chunkSize <= k.Bytes {
			return 0, err
		}
		if bytes, err := queryNumber(w.conn, qHistoryBytes); err != nil || bytes <= k.Bytes {
			return 0, err
		}
		return first, nil
	}
	return 0, nil
}

// ofGoingBack tells whether a checkpoint was made by going back.
func (c *Checkpoint) ofGoingBack() bool {
	return c.Kind == BeforeBack || c.Kind == AfterBack || c.Kind == AfterPart
}

const qHistoryBytes = "SELECT ifnull(sum(length(data)), 0) FROM art_old_data"

// HistoryBytes is how much content the database holds for checkpoints alone.
func (s *Store) HistoryBytes() (int64, error) {
	return Query(s, func(tx *Tx) (int64, error) { return queryNumber(tx.meta, qHistoryBytes) })
}

// drop drops a checkpoint. What its rows were is what they were at the one before it, if that does not say otherwise and they
// were there then; without one, nobody needs to know.
func (w *writer) drop(c *Checkpoint) error {
	var older *Checkpoint
	if before, err := oneCheckpoint(w.conn, "", qCheckpointBefore, c.ID); err == nil {
		older = &before
	} else if !errors.Is(err, ErrNoCheckpoint) {
		return err
	}
	if older != nil {
		err := do(w.conn, `UPDATE art_old_baseline SET replaced=1 WHERE checkpoint=?
			AND (tree, path) IN (SELECT tree, path FROM art_old_baseline WHERE checkpoint=? AND replaced=1)`, older.ID, c.ID)
		if err == nil {
			err = w.dropCopies(c, older)
		}
		if err != nil {
			return err
		}
	}
	for _, k := range database.Everything {
		if older != nil {
			err := do(w.conn, "UPDATE OR IGNORE "+k.Old+" SET checkpoint=? WHERE checkpoint=? AND "+k.Known("", "?"), older.ID, c.ID, older.maxIno)
			if err != nil {
				return err
			}
		}
		if err := do(w.conn, "DELETE FROM "+k.Old+" WHERE checkpoint=?", c.ID); err != nil {
			return err
		}
	}
	if c.Label != "" {
		if err := w.noteLabel(c); err != nil {
			return err
		}
	}
	if err := do(w.conn, "DELETE FROM art_checkpoint WHERE id=?", c.ID); err != nil {
		return err
	}
	return w.joinReleased(c)
}

// dropCopies deletes copies of the host's files that only a checkpoint shows: at the one before it, the entries that lead to them are other
// ones, or the directories that have these are not there. One that has come back is an inode as others are.
func (w *writer) dropCopies(c, older *Checkpoint) error {
	if n, err := queryNumber(w.conn, "SELECT EXISTS (SELECT 1 FROM art_old_inode WHERE ino<0)"); err != nil || n == 0 {
		return err
	}
	err := w.Exec("CREATE TEMP TABLE IF NOT EXISTS art_lost (ino INTEGER PRIMARY KEY); DELETE FROM temp.art_lost")
	if err == nil {
		err = do(w.conn, `INSERT INTO temp.art_lost WITH RECURSIVE lost(ino) AS (
			SELECT d.ino FROM art_old_dentry d WHERE d.checkpoint=?1 AND d.there=1 AND d.ino<0 AND (d.parent_ino>?3
				OR EXISTS (SELECT 1 FROM art_old_dentry o WHERE o.parent_ino=d.parent_ino AND o.name=d.name AND o.checkpoint=?2))
				AND NOT EXISTS (SELECT 1 FROM art_old_inode i WHERE i.ino=d.ino AND (i.checkpoint>?1 OR i.checkpoint<?1 AND i.there=1))
				AND NOT EXISTS (SELECT 1 FROM main.fs_inode i WHERE i.ino=d.ino)
			UNION SELECT d.ino FROM lost l JOIN art_old_dentry d ON d.parent_ino=l.ino AND d.checkpoint=?1 WHERE d.there=1 AND d.ino<0)
			SELECT ino FROM lost`, c.ID, older.ID, older.maxIno)
	}
	for _, k := range database.AllKept {
		if err == nil {
			err = do(w.conn, "DELETE FROM "+k.Old+" WHERE checkpoint=? AND "+k.Key[0]+" IN (SELECT ino FROM temp.art_lost)", c.ID)
		}
	}
	return err
}
