package sqlvfs

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// Errors of going back.
var (
	ErrNothingToUndo = errors.New("there is no earlier checkpoint")
	ErrNothingToRedo = errors.New("nothing was undone since the last change")
	// ErrWentBack says that the tree has gone back while content was read, which is to be read again.
	ErrWentBack = errors.New("the tree has gone back meanwhile")
)

// back is where the tree is to go back to.
type back struct {
	to     Checkpoint
	redo   *int64   // where the next Redo leads to; nil: to what the tree is now
	paths  []string // what goes back, below the root; nil and none linked: all
	linked []LinkedName
}

// Destination chooses where to go back to, of all checkpoints, the newest first. now is the one that the tree is at; its ID is 0 if the
// tree has changed since.
type Destination func(c *conn, now *Checkpoint, all []Checkpoint) (back, error)

// Undo leads to the checkpoint before the last change, and so on each time. The error is [ErrNothingToUndo].
var Undo Destination = func(c *conn, now *Checkpoint, all []Checkpoint) (back, error) {
	// What was brought back follows what it was brought back to.
	at, err := original(c, *now)
	if err != nil {
		return back{}, err
	}
	from := at.ID
	if at.Kind != AfterPart && at.Restored > 0 {
		from = min(from, at.Restored) // that one was dropped, and what is between them was gone back from
	}
	for i, to := range all {
		if from != 0 && to.ID >= from {
			continue
		}
		if same, err := stayedSame(c, all, i); err != nil {
			return back{}, err
		} else if same {
			continue
		}
		if differ, err := differ(c, &to, &at); differ || err != nil {
			return back{to: to}, err
		}
	}
	return back{}, ErrNothingToUndo
}

// stayedSame tells whether a checkpoint is of the tree before a pull, and nothing has changed from then to the next checkpoint, or the
// present, but for what that has let go of because the host has it: nobody would see that. What kind the next one is does not tell: a merge,
// for one, writes between sessions, and needs no checkpoint of its own where the tree has only let go since the pull.
func stayedSame(c *conn, all []Checkpoint, i int) (bool, error) {
	if all[i].Kind != BeforePull && all[i].Kind != PullBeside {
		return false, nil
	}
	next := Checkpoint{ID: math.MaxInt64, maxIno: MaxIno}
	if i > 0 {
		next = all[i-1]
	}
	n, err := queryNumber(c, qWrittenBetween, all[i].ID, all[i].maxIno, next.ID, next.maxIno)
	return n == 0, err
}

// qWrittenBetween asks whether an inode that has a name at a checkpoint is new since an earlier one, or was written since. Whatever programs
// change, they change one. What it was at the later one is in the first row that history has from there on, or in the present.
const qWrittenBetween = `WITH written (ino) AS (SELECT ino FROM main.fs_inode WHERE ino>?2 AND ino<=?4
		UNION SELECT ino FROM art_old_inode WHERE checkpoint>=?1 AND checkpoint<?3
		UNION SELECT ino FROM art_old_inode WHERE checkpoint>=?3 AND ino>?2 AND ino<=?4)
	SELECT EXISTS (SELECT 1 FROM written w LEFT JOIN main.fs_inode i ON i.ino=w.ino
		LEFT JOIN art_old_inode h ON h.ino=w.ino AND h.checkpoint=(SELECT min(x.checkpoint) FROM art_old_inode x WHERE x.ino=w.ino AND x.checkpoint>=?3)
		WHERE CASE WHEN h.ino IS NULL THEN i.nlink ELSE h.nlink END>0)`

// Redo leads to what was last gone back from, if the tree has not changed since, and so on each time. The error is [ErrNothingToRedo].
var Redo Destination = func(c *conn, now *Checkpoint, _ []Checkpoint) (back, error) {
	to, err := checkpointOf(c, now.Redo)
	if errors.Is(err, ErrNoCheckpoint) {
		err = ErrNothingToRedo
	}
	return back{to: to, redo: &to.Redo}, err
}

// To leads to a checkpoint, which is given by its number or its label. The error is [ErrNoCheckpoint].
func To(name string) Destination {
	return func(c *conn, _ *Checkpoint, _ []Checkpoint) (back, error) {
		to, err := findCheckpoint(c, name)
		return back{to: to}, err
	}
}

// Part leads to a checkpoint as To does, but has only what is at some paths below the root, or was then, go back to it. Errors are
// [ErrNoCheckpoint], [ErrNotThere], [ErrParent], [ErrMoved], [ErrOtherNames] and [ErrDeep]. Undo and Redo lead back to what was before. What
// the host alone can tell of the paths is in linked.
func Part(name string, paths []string, linked ...LinkedName) Destination {
	return func(c *conn, _ *Checkpoint, _ []Checkpoint) (back, error) {
		to, err := findCheckpoint(c, name)
		return back{to: to, paths: paths, linked: linked}, err
	}
}

// differ tells whether something has changed from a checkpoint to a later one; to the present, if the ID of that is 0: a row of the tree is
// another one, or there is a new inode, or a pull has replaced on the host what the tree may show.
func differ(on *conn, c, later *Checkpoint) (bool, error) {
	if later.ID == 0 {
		later = &Checkpoint{ID: math.MaxInt64, maxIno: MaxIno}
	}
	if later.maxIno > c.maxIno {
		return true, nil
	}
	n, err := queryNumber(on, qChangedBetween, c.ID, later.ID)
	return n != 0, err
}

// original returns the checkpoint whose tree another one has that was brought back.
func original(on *conn, c Checkpoint) (Checkpoint, error) {
	for c.Kind != AfterPart && c.Restored > 0 && c.Restored < c.ID {
		earlier, err := checkpointOf(on, c.Restored)
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

// asShownAt says of which checkpoint it is that the host does not have what it shows.
func asShownAt(c *Checkpoint, err error) error {
	if errors.Is(err, ErrReplaced) {
		err = fmt.Errorf("checkpoint %d: %w", c.ID, err)
	}
	return err
}

// nearest returns the newest of all checkpoints that has the same tree as one of them, which has a tree of its own. Fewer rows have changed
// since that: of what was changed and undone a hundred times, history has a hundred versions, of which only the last is to be looked at.
func nearest(of Checkpoint, all []Checkpoint) Checkpoint {
	for _, c := range all {
		if c.ID > of.ID && c.Restored == of.ID && c.Kind != AfterPart {
			return c
		}
	}
	return of
}

// GoBack brings the tree back to a checkpoint, and returns that. What the tree was before is a checkpoint too. All of it is one
// transaction and one step, durable when GoBack returns. follow, if not nil, is called at the end of the step, and told what has
// changed of live inodes. Errors are those of the destination, [ErrReplaced], [ErrJournal], [ErrCorrupt], and the disk's, with which
// nothing has changed.
func (s *Store) GoBack(to Destination, follow func(*Tx, *Restored)) (Checkpoint, error) {
	return s.backAs(func() (Checkpoint, *Restored, error) { return s.writer.goBack(to, follow != nil) }, follow)
}

// backAs has the tree become another one in a transaction, as GoBack.
func (s *Store) backAs(transact func() (Checkpoint, *Restored, error), follow func(*Tx, *Restored)) (Checkpoint, error) {
	unlock, err := s.lockWriter()
	if err != nil {
		return Checkpoint{}, err
	}
	defer unlock()
	w := s.writer
	err = s.commitGathered()
	if err == nil {
		err = w.connect()
	}
	if err == nil {
		err = w.bound()
	}
	if err != nil {
		return Checkpoint{}, w.Cause(err)
	}
	done, err := s.goBack(transact, follow)
	if errors.Is(err, ErrOvertaken) {
		return Checkpoint{}, err // it is no error of the disk's
	}
	if err != nil {
		return Checkpoint{}, w.Cause(err)
	}
	s.mu.Unlock()                      // the disk is waited for with steps going on
	if err = w.connect(); err == nil { // which it may not be any more
		err = w.sync()
	}
	if err == nil {
		w.checkpoint()
	}
	s.mu.Lock()
	switch {
	case err != nil && done.Kind == BeforeMerge:
		return done, fmt.Errorf("it is merged, but that may not last: %w", w.Cause(err))
	case err != nil:
		return done, fmt.Errorf("the tree is back at checkpoint %d, but may not stay there: %w", cmp.Or(done.Restored, done.ID), w.Cause(err))
	}
	return done, nil
}

// goBack is GoBack's step. LOCKS_REQUIRED(mu)
func (s *Store) goBack(transact func() (Checkpoint, *Restored, error), follow func(*Tx, *Restored)) (Checkpoint, error) {
	tx := &s.tx
	if !tx.gather.empty() { // what has come while the rest was committed
		if err := s.finishCommit(tx.take(), s.writer.apply); err != nil {
			return Checkpoint{}, err
		}
	}
	s.backs.Add(1) // before anybody can read what is committed now
	done, restored, err := transact()
	if err != nil || restored == nil {
		return done, err
	}
	tx.changed = true
	tx.adopt(restored)
	tx.watch.moved()
	s.writer.tellCommitted(nil)
	if follow != nil {
		err = tx.run(func(tx *Tx) error {
			follow(tx, restored)
			return nil
		})
	}
	return done, err
}

// goBack brings the tree back to a checkpoint in one transaction. What it returns is nil if the tree is there already; followed says that
// somebody wants to know what has changed.
func (w *writer) goBack(destination Destination, followed bool) (done Checkpoint, restored *Restored, err error) {
	before := w.newest
	if err := w.Exec("BEGIN IMMEDIATE"); err != nil {
		return done, nil, err
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
		return done, nil, err
	}
	var now Checkpoint
	if !changed {
		now = w.newest
	}
	all, err := checkpointsOf(w.conn)
	if err != nil {
		return done, nil, err
	}
	chosen, err := destination(w.conn, &now, all)
	if err != nil {
		return done, nil, err
	}
	named, err := original(w.conn, chosen.to)
	if err != nil {
		return done, nil, err
	}
	to := nearest(named, all)
	var p *part
	if chosen.paths != nil || len(chosen.linked) > 0 {
		if p, err = w.partOf(&to, chosen.paths, chosen.linked); err != nil {
			return done, nil, err
		}
		if differs, err := p.changes(); err != nil || !differs {
			return chosen.to, nil, err
		}
	} else if !changed && chosen.redo == nil {
		if at, err := original(w.conn, now); err != nil || at.ID == named.ID {
			return now, nil, err // it is there
		}
	}
	for _, id := range []int64{to.ID, w.newest.ID} {
		if err := w.soundCheckpoint(id); err != nil {
			return done, nil, err
		}
	}
	if !changed {
		if changed, err = w.agreedSince(&w.newest); err != nil {
			return done, nil, err
		}
	}
	if changed {
		now = Checkpoint{Kind: BeforeBack, Session: w.store.tx.session.id}
		if err := w.insertCheckpoint(&now); err != nil {
			return done, nil, err
		}
		w.newest = now
	}
	if err := w.restore(&to, p); err != nil {
		return done, nil, err
	}
	if err := w.restoreAgreed(&to, p); err != nil {
		return done, nil, asShownAt(&named, err)
	}
	if err := w.soundTree(&to, MaxIno); err != nil {
		return done, nil, err
	}
	if restored, err = w.restored(followed); err != nil {
		return done, nil, err
	}
	done = Checkpoint{Kind: AfterBack, Session: now.Session, Restored: named.ID, Redo: now.ID}
	if chosen.redo != nil {
		done.Redo = *chosen.redo
	}
	if p != nil {
		done.Kind = AfterPart
	}
	if err := w.insertCheckpoint(&done); err != nil {
		return done, nil, err
	}
	w.newest = done
	return done, restored, nil
}
