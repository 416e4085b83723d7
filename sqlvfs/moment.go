package sqlvfs

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// Errors of checkpoints, which are wrapped with the name that was given.
var (
	ErrNoCheckpoint = errors.New("no such checkpoint")
	ErrLabelTaken   = errors.New("another checkpoint has this label")
	ErrManyByGuest  = errors.New("the guest has made too many checkpoints; old ones go when it rests")
	ErrLabel        = errors.New("a label is 1 to 200 bytes of text in one line, is no number, does not begin with @, and has no .. in it")
)

// NoCheckpointError is [ErrNoCheckpoint] of a name that was given.
type NoCheckpointError struct{ Name string }

func (e *NoCheckpointError) Error() string { return ErrNoCheckpoint.Error() + ": " + e.Name }
func (e *NoCheckpointError) Unwrap() error { return ErrNoCheckpoint }

// Checkpoint is a moment of the tree as a whole, which it can be shown at and brought back to. (What SQLite calls one is in
// checkpoint.go.) It is a row: what the tree was then is the present, but for what history says was another row.
type Checkpoint struct {
	ID       int64 // grows with time
	Made     Timespec
	Kind     Occasion
	Label    string // "": none
	Session  int64  // the session that was running; 0: none
	Restored int64  // the checkpoint whose tree this one has, or a part of it, which was brought back; 0: it has a tree of its own
	Redo     int64  // of one that was brought back: what the tree was before that; 0: unknown

	maxIno Ino // no inode of it has a higher number
}

// Occasion says why there is a checkpoint.
type Occasion string

// Occasions of checkpoints.
const (
	ByUser      Occasion = "user"
	AtSession   Occasion = "session" // as a session found the tree
	AtRest      Occasion = "rest"    // the guest had been still for a moment
	ByGuest     Occasion = "guest"   // the guest has asked for it: it is no other's, and stays no longer for its label
	BeforePush  Occasion = "push"
	BeforePull  Occasion = "pull"
	PullBeside  Occasion = "live" // before a pull beside a session, which has gone on
	BeforeReset Occasion = "reset"
	BeforeMerge Occasion = "merge"
	ForFork     Occasion = "fork"   // a fork was to be made of it
	BeforeBack  Occasion = "before" // the tree before it was brought back
	AfterBack   Occasion = "back"   // the tree that was brought back
	AfterPart   Occasion = "part"   // the tree of which a part was
	AfterOther  Occasion = "other"  // the tree as another program has left it, which keeps no history
)

// maxByGuest bounds the guest's checkpoints, also while there is no time to drop some.
const maxByGuest = 200

// maxCheckpoint is the highest number of one. None comes near it: only another program has written it.
const maxCheckpoint = 1<<52 - 1

// newCheckpoint is a checkpoint in the making.
type newCheckpoint struct {
	Checkpoint            // that was made, or is there already
	wanted     Checkpoint // what is asked for
	err        error      // it cannot be made, which is no matter of the disk's
}

// qCheckpoints bounds what is read: another program may have written the table.
const (
	checkpointColumns = "SELECT id, made, made_nsec, substr(kind, 1, 20), substr(label, 1, 200), session, max_ino, restored, redo FROM art_checkpoint"
	qCheckpoints      = checkpointColumns + " ORDER BY id DESC LIMIT 10000"
	qNewestCheckpoint = checkpointColumns + " ORDER BY id DESC LIMIT 1"
	qCheckpointByID   = checkpointColumns + " WHERE id=?"
	qCheckpointLabel  = checkpointColumns + " WHERE label=? ORDER BY id LIMIT 1"
	qCheckpointBefore = checkpointColumns + " WHERE id<? ORDER BY id DESC LIMIT 1"
)

func scanCheckpoint(q *sqlite3.Stmt) Checkpoint {
	return Checkpoint{
		ID: q.ColumnInt64(0), Made: scanTime(q, 1), Kind: Occasion(q.ColumnText(3)), Label: q.ColumnText(4), Session: q.ColumnInt64(5),
		maxIno: Ino(q.ColumnInt64(6)), Restored: q.ColumnInt64(7), Redo: q.ColumnInt64(8),
	}
}

// moment is where a writer is in history.
type moment struct {
	newest Checkpoint // what changes after it is kept; its ID is 0 when there is none
	last   int64      // no checkpoint up to this number comes again
	found  bool       // there is a checkpoint of what the store has found, or none is wanted
}

func momentOf(c *conn) (m moment, err error) {
	if m.newest, err = newestCheckpoint(c); err != nil {
		return m, err
	}
	m.last, err = queryNumber(c, qLastCheckpoint, int64(maxCheckpoint), lastKey)
	return m, err
}

// qLastCheckpoint asks for the highest number that no checkpoint is to have again. Where somebody has taken checkpoints away, but not their
// rows, these are not the next one's.
var qLastCheckpoint = func() string {
	q := "SELECT max(ifnull((SELECT CAST(value AS INTEGER) FROM fs_config WHERE key=?2), 0)"
	for _, k := range database.AllKept {
		q += ", ifnull((SELECT checkpoint FROM " + k.Old + " WHERE checkpoint<?1 ORDER BY checkpoint DESC LIMIT 1), 0)"
	}
	return q + ")"
}()

func newestCheckpoint(c *conn) (newest Checkpoint, err error) {
	q := c.Prep(qNewestCheckpoint)
	if c.Step(q) {
		newest = scanCheckpoint(q)
	}
	return newest, c.Done(q)
}

// Checkpoints returns all checkpoints, the newest first.
func (s *Store) Checkpoints() ([]Checkpoint, error) { return Query(s, (*Tx).checkpoints) }

func (tx *Tx) checkpoints() ([]Checkpoint, error) { return checkpointsOf(tx.meta) }

func checkpointsOf(c *conn) (list []Checkpoint, err error) {
	q := c.Prep(qCheckpoints)
	for c.Step(q) {
		list = append(list, scanCheckpoint(q))
	}
	return list, c.Done(q)
}

// findCheckpoint returns the checkpoint with a number or a label, which may have a "@" before it, as where it stands beside other names.
// What is a number is no label, whatever another program has written.
func findCheckpoint(c *conn, name string) (Checkpoint, error) {
	bare, marked := strings.CutPrefix(name, "@")
	if !marked {
		return namedCheckpoint(c, name)
	}
	found, err := oneCheckpoint(c, name, qCheckpointLabel, name) // of when "@" was part of a label
	if errors.Is(err, ErrNoCheckpoint) && bare != "" {
		found, err = namedCheckpoint(c, bare)
	}
	return found, err
}

func namedCheckpoint(c *conn, name string) (Checkpoint, error) {
	if id, err := strconv.ParseInt(name, 10, 64); err == nil {
		return checkpointOf(c, id)
	}
	return oneCheckpoint(c, name, qCheckpointLabel, name)
}

// checkpointOf returns the checkpoint with a number.
func checkpointOf(c *conn, id int64) (Checkpoint, error) {
	return oneCheckpoint(c, strconv.FormatInt(id, 10), qCheckpointByID, id)
}

func oneCheckpoint(c *conn, name, query string, value any) (found Checkpoint, err error) {
	q := bind(c.Prep(query), value)
	if c.Step(q) {
		found = scanCheckpoint(q)
	}
	if err = c.Done(q); err == nil && found.ID <= 0 {
		err = &NoCheckpointError{name}
	}
	return found, err
}

// Checkpoint makes a checkpoint of what the tree is now, durably, or returns the newest one if nothing has changed since and that can have
// the label. The error is [ErrLabel] or [ErrLabelTaken], or that of the disk.
func (s *Store) Checkpoint(kind Occasion, label string) (Checkpoint, error) {
	return s.checkpointNow(kind, label, true)
}

// checkpointNow is Checkpoint for who may see to it himself that it becomes durable.
func (s *Store) checkpointNow(kind Occasion, label string, sync bool) (Checkpoint, error) {
	if label != "" && !validLabel(label) {
		return Checkpoint{}, fmt.Errorf("%w: %q", ErrLabel, label)
	}
	unlock, err := s.lockWriter()
	if err != nil {
		return Checkpoint{}, err
	}
	defer unlock()
	c := &newCheckpoint{wanted: Checkpoint{Kind: kind, Label: label, Session: s.tx.session.id}}
	s.tx.gather.checkpoint = c
	s.tx.gather.sync = s.tx.gather.sync || sync
	if err := s.commitGathered(); err != nil {
		return Checkpoint{}, err
	}
	return c.Checkpoint, c.err
}

func validLabel(label string) bool {
	if strings.HasPrefix(label, "@") || strings.Contains(label, "..") { // of which names of several moments are made
		return false
	}
	if _, err := strconv.ParseInt(label, 10, 64); err == nil || len(label) > 200 || !utf8.ValidString(label) || strings.TrimSpace(label) != label {
		return false
	}
	return !strings.ContainsFunc(label, func(r rune) bool { return !unicode.IsPrint(r) })
}

// putCheckpoint makes the checkpoint of a batch, after all that is in it.
func (w *writer) putCheckpoint(b *batch) error {
	if b.checkpoint == nil {
		return nil
	}
	c := &newCheckpoint{Checkpoint: b.checkpoint.wanted}
	err := w.makeCheckpoint(c)
	if b.checkpoint.Checkpoint, b.checkpoint.err = c.Checkpoint, c.err; err == nil && c.err == nil {
		w.newest = c.Checkpoint
	}
	return err
}

func (w *writer) makeCheckpoint(c *newCheckpoint) error {
	if w.pulling {
		c.err = ErrPulling
		return nil
	}
	if err := w.freeLabel(c); err != nil || c.err != nil {
		return err
	}
	changed, err := w.changedFor(c.Kind)
	if err != nil {
		return err
	}
	newest := w.newest
	// The guest's may go when others have to stay.
	byGuest, ofGuest := c.Kind == ByGuest, newest.Kind == ByGuest
	switch {
	case changed || c.Label != "" && newest.Label != "":
	case ofGuest && !byGuest, byGuest && !ofGuest && c.Label != "":
	case c.Label == "" && newest.Kind == ForFork && c.Kind != ForFork: // it is to stay when the fork goes
		newest.Kind = c.Kind
		c.Checkpoint = newest
		w.store.watch.madeCheckpoint(&newest)
		return do(w.conn, "UPDATE art_checkpoint SET kind=? WHERE id=?", string(c.Kind), newest.ID)
	case c.Label == "":
		c.Checkpoint = newest
		return nil
	default:
		newest.Label = c.Label
		c.Checkpoint = newest
		w.store.watch.madeCheckpoint(&newest)
		return do(w.conn, "UPDATE art_checkpoint SET label=? WHERE id=?", c.Label, newest.ID)
	}
	if byGuest {
		n, err := queryNumber(w.conn, "SELECT count(*) FROM art_checkpoint WHERE kind=?", string(ByGuest))
		if err != nil {
			return err
		}
		if n >= maxByGuest {
			c.err = ErrManyByGuest
			return nil
		}
	}
	if !changed { // the newest one is of the same tree
		c.Redo, c.Restored = newest.Redo, newest.Restored
		if newest.Kind == AfterPart || newest.Restored == 0 {
			c.Restored = newest.ID
		}
	}
	err = w.insertCheckpoint(&c.Checkpoint)
	if errors.Is(err, ErrCorrupt) { // what else is in the batch can be written
		c.err, err = err, nil
	}
	return err
}

// freeLabel makes sure that a checkpoint can have its label. What the guest calls one of its own keeps nobody else from that label.
func (w *writer) freeLabel(c *newCheckpoint) error {
	if c.Label == "" {
		return nil
	}
	if c.Kind != ByGuest {
		if err := do(w.conn, "UPDATE art_checkpoint SET label=NULL WHERE label=? AND kind=?", c.Label, string(ByGuest)); err != nil {
			return err
		}
	}
	taken, err := queryNumber(w.conn, "SELECT id FROM art_checkpoint WHERE label=?", c.Label)
	if err == nil && taken != 0 {
		c.err = fmt.Errorf("%w: %s is checkpoint %d", ErrLabelTaken, c.Label, taken)
	}
	return err
}

// insertCheckpoint makes a checkpoint of what the tree's tables hold.
func (w *writer) insertCheckpoint(c *Checkpoint) error {
	last := max(w.newest.ID, w.last)
	if last >= maxCheckpoint {
		return fmt.Errorf("%w: checkpoint %d cannot be", ErrCorrupt, last)
	}
	top, err := w.store.highestIno(w.conn, true)
	if err != nil {
		return err
	}
	c.ID, c.Made, c.maxIno = last+1, Now(), top
	w.store.watch.madeCheckpoint(c)
	null := func(n int64) any {
		if n == 0 {
			return nil
		}
		return n
	}
	var label any
	if c.Label != "" {
		label = c.Label
	}
	return do(w.conn, "INSERT INTO art_checkpoint (id, made, made_nsec, kind, label, session, max_ino, restored, redo) VALUES (?,?,?,?,?,?,?,?,?)",
		c.ID, c.Made, string(c.Kind), label, null(c.Session), c.maxIno, null(c.Restored), null(c.Redo))
}

// qInodesSince asks whether an inode is another one than at the newest checkpoint, or new, and qChangedSince whether any row of the tree is
// another one; qChangedBetween, whether a row has become another one from one checkpoint to a later one.
const qInodesSince = "SELECT ifnull((SELECT max(ino) FROM main.fs_inode), 0)>?2 OR EXISTS (SELECT 1 FROM art_old_inode WHERE checkpoint=?1)"

var (
	qChangedSince   = "SELECT 0" + changed("=?1")
	qChangedBetween = "SELECT 0" + changed(" BETWEEN ?1 AND ?2-1")
)

// changed is a condition: that history has a row of some checkpoints. What of a file's content has been copied from its origin since, or is
// known of that, is no change; nor is what becomes of a file that has no name any more. What a pull has replaced on the host, and the tree
// may show, is one.
func changed(of string) (q string) {
	for _, k := range database.AllKept {
		from, but := k.Old+" h", ""
		if k != database.KeptInode && !k.Entry {
			but = " AND EXISTS (SELECT 1 FROM fs_inode i WHERE i.ino=h." + k.Key[0] + ")"
		}
		switch k {
		case database.KeptData:
			but += " AND (h.there=1 OR NOT EXISTS (SELECT 1 FROM art_origin o WHERE o.ino=h.ino))"
		case database.KeptOrigin:
			from += " LEFT JOIN art_origin p ON p.ino=h.ino"
			but += " AND (h.base, h.path, h.dev, h.base_ino, h.size, h.mtime, h.mtime_nsec) IS NOT (p.base, p.path, p.dev, p.base_ino, p.size, p.mtime, p.mtime_nsec)"
		}
		q += " OR EXISTS (SELECT 1 FROM " + from + " WHERE h.checkpoint" + of + but + ")"
	}
	return q + " OR EXISTS (SELECT 1 FROM art_old_baseline WHERE checkpoint" + of + " AND replaced=1)"
}

// changedSince tells whether the tree has changed since the newest checkpoint, if there is one.
func (w *writer) changedSince(newest *Checkpoint) (bool, error) { return changedSince(w.conn, newest) }

func changedSince(c *conn, newest *Checkpoint) (bool, error) {
	if newest.ID == 0 {
		return true, nil
	}
	// Whatever programs change, they change an inode. To ask for that alone takes less than to prepare the whole question.
	n, err := queryNumber(c, qInodesSince, newest.ID, newest.maxIno)
	if n == 0 && err == nil {
		n, err = queryNumber(c, qChangedSince, newest.ID)
	}
	return n != 0, err
}

// changedFor tells whether a checkpoint of some kind is to be another than the newest one. Beside the tree, a fork reads what was agreed on
// from the checkpoint that it is of; and what was merged is remembered as agreed on, and stays so when a later merge is undone. From one
// before a pull, which may have been another database's, files go that the pull has let go of, and no others ([Undo]).
func (w *writer) changedFor(kind Occasion) (bool, error) {
	changed, err := w.changedSince(&w.newest)
	if err == nil && !changed && (kind == ForFork || kind == BeforeMerge) {
		changed, err = w.agreedSince(&w.newest)
	}
	return changed || (w.newest.Kind == PullBeside || w.newest.Kind == BeforePull) && (kind == BeforePush || kind == BeforeReset || kind == BeforeMerge), err
}
