package sqlvfs

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// Errors of going back.
var (
	ErrNothingToUndo = errors.New("there is no earlier checkpoint")
	ErrNothingToRedo = errors.New("nothing was undone since the last change")
	// ErrInUse says that files of the tree are open, or were looked up.
	ErrInUse = errors.New("the tree is in use")
)

// back is where the tree is to go back to.
type back struct {
	to   Checkpoint
	redo *int64 // where the next Redo leads to; nil: to what the tree is now
}

// chooser chooses of all checkpoints, the newest first. now is the one that the tree is at; its ID is 0 if the tree has changed since.
type chooser func(now *Checkpoint, all []Checkpoint) (back, error)

// Undo brings the tree back to the checkpoint before the last change, and so on with each further call. Errors are
// [ErrNothingToUndo] and those of [Store.Rewind].
func (s *Store) Undo() (Checkpoint, error) {
	return s.goBack(func(now *Checkpoint, all []Checkpoint) (back, error) {
		// What was brought back follows what it was brought back to.
		at, err := s.writer.original(*now)
		if err != nil {
			return back{}, err
		}
		for _, c := range all {
			if at.ID != 0 && c.ID >= at.ID {
				continue
			}
			if differ, err := s.writer.differ(&c, &at); differ || err != nil {
				return back{to: c}, err
			}
		}
		return back{}, ErrNothingToUndo
	})
}

// Redo brings back what the last Undo or Rewind has replaced, if the tree has not changed since, and so on with each further call. Errors are
// [ErrNothingToRedo] and those of [Store.Rewind].
func (s *Store) Redo() (Checkpoint, error) {
	return s.goBack(func(now *Checkpoint, _ []Checkpoint) (back, error) {
		c, err := findCheckpoint(s.writer.conn, strconv.FormatInt(now.Redo, 10))
		if errors.Is(err, ErrNoCheckpoint) {
			err = ErrNothingToRedo
		}
		return back{c, &c.Redo}, err
	})
}

// Rewind brings the tree back to a checkpoint, which is given by its number or its label, and returns the checkpoint of that. What the
// tree was before is a checkpoint too. All of it is one transaction, durable when Rewind returns. No inode may be live but the root.
// Errors are [ErrNoCheckpoint], [ErrAgreed], [ErrInUse], and the disk's, with which nothing has changed.
func (s *Store) Rewind(name string) (Checkpoint, error) {
	return s.goBack(func(*Checkpoint, []Checkpoint) (back, error) {
		c, err := findCheckpoint(s.writer.conn, name)
		return back{to: c}, err
	})
}

// qDiffer asks whether a row of the tree was another one at a checkpoint than at a later one, or there is a new inode.
var qDiffer = func() string {
	q := "SELECT ?3>?4"
	for _, k := range database.AllKept {
		q += " OR EXISTS (SELECT 1 FROM " + k.Old + " WHERE checkpoint>=?1 AND checkpoint<?2)"
	}
	return q
}()

// differ tells whether something has changed from a checkpoint to a later one; to the present, if the ID of that is 0.
func (w *writer) differ(c, later *Checkpoint) (bool, error) {
	if later.ID == 0 {
		later = &Checkpoint{ID: math.MaxInt64, maxIno: MaxIno}
	}
	n, err := queryNumber(w.conn, qDiffer, c.ID, later.ID, later.maxIno, c.maxIno)
	return n != 0, err
}

// original returns the checkpoint whose tree another one has that was brought back.
func (w *writer) original(c Checkpoint) (Checkpoint, error) {
	for c.Restored > 0 && c.Restored < c.ID {
		earlier, err := findCheckpoint(w.conn, strconv.FormatInt(c.Restored, 10))
		if errors.Is(err, ErrNoCheckpoint) {
			break // it was dropped
		}
		if err != nil {
			return c, err
		}
		c = earlier
	}
	return c, nil
}

// goBack brings the tree back to the checkpoint that is chosen.
func (s *Store) goBack(choose chooser) (Checkpoint, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tx := &s.tx
	switch {
	case tx.readOnly || tx.frozen:
		return Checkpoint{}, ErrReadOnly
	case tx.closing:
		return Checkpoint{}, ErrClosed
	case len(tx.live) > 1 || tx.root.refs > 1:
		return Checkpoint{}, ErrInUse
	}
	s.acquireWriter()
	defer s.releaseWriter()
	// Nobody waits for the lock meanwhile: there is no inode to do anything with.
	w := s.writer
	err := w.connect()
	if err == nil && !tx.gather.empty() {
		err = s.commitGathered()
	}
	if err != nil {
		return Checkpoint{}, w.Cause(err)
	}
	done, err := w.goBack(choose)
	if err != nil {
		return Checkpoint{}, w.Cause(err)
	}
	tx.changed = true
	tx.drop(tx.root)
	if err = tx.load(tx.root); err == nil {
		err = w.sync()
	}
	if err == nil {
		err = w.checkpoint()
	}
	if err != nil {
		return done, fmt.Errorf("the tree is back at checkpoint %d, but may not stay there: %w", cmp.Or(done.Restored, done.ID), w.Cause(err))
	}
	return done, nil
}

// goBack brings the tree back to a checkpoint in one transaction.
func (w *writer) goBack(choose chooser) (done Checkpoint, err error) {
	before := w.newest
	if err := w.Exec("BEGIN IMMEDIATE"); err != nil {
		return done, err
	}
	w.wrote = true
	defer func() {
		if err != nil {
			w.newest = before
		}
	}()
	defer database.End(w.Conn, &err)
	defer database.CatchOutOfMemory(&err)
	changed, err := w.changedSince(&w.newest)
	if err != nil {
		return done, err
	}
	var now Checkpoint
	if !changed {
		now = w.newest
	}
	all, err := w.store.tx.checkpoints()
	if err != nil {
		return done, err
	}
	chosen, err := choose(&now, all)
	if err != nil {
		return done, err
	}
	to, err := w.original(chosen.to)
	if err != nil {
		return done, err
	}
	if !changed && chosen.redo == nil && (to.ID == now.ID || to.ID == now.Restored) {
		return now, nil // it is there
	}
	switch agreed, err := w.store.tx.agreement(); {
	case err != nil:
		return done, err
	case to.ID <= agreed:
		return done, fmt.Errorf("checkpoint %d: %w", to.ID, ErrAgreed)
	}
	for _, id := range []int64{to.ID, w.newest.ID} {
		if err := w.soundCheckpoint(id); err != nil {
			return done, err
		}
	}
	if changed {
		now = Checkpoint{Kind: BeforeBack, Session: w.store.tx.session.id}
		if err := w.insertCheckpoint(&now); err != nil {
			return done, err
		}
		w.newest = now
	}
	if err := w.restore(&to); err != nil {
		return done, err
	}
	if err := w.soundTree(&to); err != nil {
		return done, err
	}
	done = Checkpoint{Kind: AfterBack, Session: now.Session, Restored: to.ID, Redo: now.ID}
	if chosen.redo != nil {
		done.Redo = *chosen.redo
	}
	if err := w.insertCheckpoint(&done); err != nil {
		return done, err
	}
	w.newest = done
	return done, nil
}

// restore brings the tables of the tree back to what they were at a checkpoint. What they are has become history under the newest one.
func (w *writer) restore(to *Checkpoint) error {
	// Every statement has parameters up to the last that it uses.
	values := []any{w.newest.ID, w.newest.maxIno, to.ID, to.maxIno}
	run := func(k *database.Kept, statements []string) error {
		for _, text := range statements {
			q, _, err := w.Prepare(text)
			if err != nil {
				return fmt.Errorf("%w: %v", database.ErrCorrupt, err)
			}
			err = bind(q, values[:q.BindCount()]...).Exec()
			q.Close()
			if errors.Is(err, sqlite3.CONSTRAINT) || errors.Is(err, sqlite3.MISMATCH) {
				err = fmt.Errorf("%w: %v", ErrCorrupt, err) // history has what the tree cannot
			}
			if err != nil {
				return fmt.Errorf("bring %s back: %w", k.Table, err)
			}
		}
		return nil
	}
	top, err := highestIno(w.conn, false)
	if err != nil {
		return err
	}
	for _, k := range database.AllKept {
		if top > to.maxIno {
			if err := run(k, withoutNewer(k)); err != nil {
				return err
			}
		}
		n, err := queryNumber(w.conn, "SELECT EXISTS (SELECT 1 FROM "+k.Old+" WHERE checkpoint BETWEEN ? AND ?)", to.ID, w.newest.ID)
		if err == nil && n != 0 {
			err = run(k, restoration(k))
		}
		if err != nil {
			return err
		}
	}
	return run(database.KeptBirth, withoutInode(database.KeptBirth))
}

// withoutInode are the statements that delete rows whose inode is not there. That a row has come is not kept of a time of birth, which
// may have come when its inode was changed long after the checkpoint. Parameters are those of withoutNewer.
func withoutInode(k *database.Kept) []string {
	lost := "NOT EXISTS (SELECT 1 FROM fs_inode i WHERE i.ino=p." + k.Key[0] + ")"
	return []string{k.DeleteRows(lost), "DELETE FROM " + k.Table + " AS p WHERE " + lost}
}

// withoutNewer are the statements that delete rows which have become since a checkpoint. Parameters are the number and the highest inode
// of the newest one, and those of the one to go back to.
func withoutNewer(k *database.Kept) []string {
	if !k.Entry {
		newer := "p." + k.Key[0] + ">?4"
		return []string{k.DeleteRows(newer), "DELETE FROM " + k.Table + " AS p WHERE " + newer}
	}
	// No index has the inodes that names lead to: look through all of them once.
	const these = "p.id IN (SELECT id FROM temp.newer)"
	return []string{
		"CREATE TEMP TABLE newer (id INTEGER PRIMARY KEY)",
		"INSERT INTO temp.newer SELECT id FROM fs_dentry WHERE parent_ino>?4 OR ino>?4",
		k.DeleteRows(these), "DELETE FROM fs_dentry AS p WHERE " + these,
		"DROP TABLE temp.newer",
	}
}

// restoration are the statements that bring rows back which have changed. Parameters are those of withoutNewer.
func restoration(k *database.Kept) []string {
	key := strings.Join(k.Key, ", ")
	const changed = "temp.changed"
	also := ""
	if k.Entry {
		also = " AND h.ino<=?4"
	}
	if k != database.KeptInode { // history knows content of files, too, that had no name any more
		also += " AND EXISTS (SELECT 1 FROM fs_inode i WHERE i.ino=h." + k.Key[0] + ")"
	}
	return []string{
		"CREATE TEMP TABLE changed (" + key + ", checkpoint, PRIMARY KEY (" + key + ")) WITHOUT ROWID",
		"INSERT INTO " + changed + " SELECT " + key + ", min(checkpoint) FROM " + k.Old + " WHERE checkpoint>=?3 AND checkpoint<=?1 AND " + k.Key[0] + "<=?4 GROUP BY " + key,
		k.PutAll(changed),
		"DELETE FROM " + k.Table + " WHERE (" + key + ") IN (SELECT " + key + " FROM " + changed + ")",
		"INSERT INTO " + k.Table + " (" + k.Rows("") + ") SELECT " + k.Rows("h.") + " FROM " + changed + " t JOIN " + k.Old + " h ON " +
			k.Equal("h", "t") + " AND h.checkpoint=t.checkpoint WHERE h.there=1" + also,
		"DROP TABLE " + changed,
	}
}
