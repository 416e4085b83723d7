package sqlvfs

import (
	"slices"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// A pull lets go of entries that the host has as well by then, and of whiteouts of what it has removed there. From then on the directory
// shows the host's, and nothing in the tree says that the guest had something there, and has not changed it since. So the pull writes that
// down: whoever merges has to know.

// Released is an entry of a directory, or a whiteout, that a pull has let go of.
type Released struct {
	Dir         Ino
	Name        string
	Checkpoint  int64       // the newest one then, which shows the inode, if it was there already; 0: there was none
	Ino         Ino         // 0: a whiteout
	Ctime       Timespec    // of the inode
	Mode        uint32      // of what the host has
	Fingerprint Fingerprint // same
}

func (r *Released) valid() bool {
	return r.Dir.valid() && ValidName(r.Name) && (r.Ino == 0 || r.Ino != RootIno && r.Ino.valid()) && r.Ctime.Valid()
}

// releasedKey is where an entry was.
type releasedKey struct {
	dir  Ino
	name string
}

// NoteReleased writes down that a pull has let go of an entry or of a whiteout, which the step removes. The checkpoint is that of the commit.
func (tx *Tx) NoteReleased(r Released) {
	tx.begin()
	if tx.gather.released == nil {
		tx.gather.released = map[releasedKey]Released{}
	}
	tx.gather.released[releasedKey{r.Dir, r.Name}] = r
	tx.gather.bytes += len(r.Name)
}

// ReleaseWhiteout is ClearWhiteout of a name that the host does not have any more since a pull.
func (tx *Tx) ReleaseWhiteout(dir *Inode, name string) error {
	if err := tx.loadDir(dir); err != nil {
		return err
	}
	if dir.whiteout[name] {
		tx.NoteReleased(Released{Dir: dir.Ino, Name: name})
	}
	return tx.ClearWhiteout(dir, name)
}

func (w *writer) putReleased(b *batch) error {
	if len(b.released) == 0 {
		return nil
	}
	if err := w.needTable("art_released"); err != nil {
		return err
	}
	for _, r := range b.released {
		err := do(w.conn, `INSERT OR REPLACE INTO main.art_released (parent_ino, name, checkpoint, ino, ino_ctime, ino_ctime_nsec, mode, dev, base_ino, size, mtime, mtime_nsec, ctime, ctime_nsec)
			VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)`, r.Dir, r.Name, w.newest.ID, r.Ino, r.Ctime, r.Mode, r.Fingerprint)
		if err != nil {
			return err
		}
	}
	return nil
}

// thinReleased forgets what pulls have let go of before the oldest checkpoint. A fork is merged from what it was made of, which is before
// all of its own: of each name, it keeps the last pull before that (see joinReleased).
func (w *writer) thinReleased(oldest int64) error {
	if oldest == 0 || w.store.stack.Forked() {
		return nil
	}
	there, err := database.Has(w.Conn, "art_released")
	if err != nil || !there {
		return err
	}
	n, err := queryNumber(w.conn, "SELECT EXISTS (SELECT 1 FROM main.art_released WHERE checkpoint<?)", oldest)
	if err != nil || n == 0 {
		return err
	}
	return w.transact(func() error { return do(w.conn, "DELETE FROM main.art_released WHERE checkpoint<?", oldest) })
}

// qAround finds the numbers nearest to one, below and above it, that may bound a [Span], or be those of a moment; there is one of them if it is
// one itself.
const qAround = `SELECT ifnull(max(iif(id<?1, id, NULL)), -1), ifnull(min(iif(id>?1, id, NULL)), ?2), count(iif(id=?1, 1, NULL))
	FROM (SELECT id FROM main.art_checkpoint UNION SELECT restored FROM main.art_checkpoint WHERE restored IS NOT NULL)`

// joinReleased forgets, when a checkpoint has been dropped, what nobody asks for any more. Of two pulls that have let go of something at one name,
// the last one counts for everybody who sees both. Only a checkpoint that is there, or that one there was gone back to, is where
// somebody may see the first one and not the last: it ends a span, or is a moment until which is asked, or going back leads to it.
func (w *writer) joinReleased(c *Checkpoint) error {
	there, err := database.Has(w.Conn, "art_released")
	if err != nil || !there {
		return err
	}
	for _, id := range []int64{c.ID, c.Restored} {
		var after, before, is int64
		q := w.Prep(qAround)
		q.BindInt64(1, id)
		q.BindInt64(2, maxCheckpoint)
		if w.Step(q) {
			after, before, is = q.ColumnInt64(0), q.ColumnInt64(1), q.ColumnInt64(2)
		}
		if err := w.Done(q); err != nil {
			return err
		}
		if is != 0 || id == 0 {
			continue
		}
		err := do(w.conn, `DELETE FROM main.art_released WHERE checkpoint>?1 AND checkpoint<?2 AND EXISTS (SELECT 1 FROM main.art_released l
			WHERE l.parent_ino=art_released.parent_ino AND l.name=art_released.name AND l.checkpoint>art_released.checkpoint AND l.checkpoint<?2)`, after, before)
		if err != nil {
			return err
		}
	}
	return nil
}

// Released returns what a pull has let go of at a name, as the last one that has in a span and not after the checkpoint after until; nil: none
// has. Where the guest has had something else there since then, and the host's shows again, that was given up.
func (m *Moment) Released(dir Ino, name string, in *Span, until int64) (r *Released, err error) {
	there, err := m.hasReleased()
	if err != nil || !there {
		return nil, err
	}
	err = m.s.tx.each(`SELECT checkpoint, ino, ino_ctime, ino_ctime_nsec, mode, dev, base_ino, size, mtime, mtime_nsec, ctime, ctime_nsec FROM main.art_released
		WHERE parent_ino=? AND name=? AND checkpoint<=? ORDER BY checkpoint`, func(q *sqlite3.Stmt) {
		if id := q.ColumnInt64(0); in.has(id) {
			r = &Released{Dir: dir, Name: name, Checkpoint: id, Ino: Ino(q.ColumnInt64(1)), Ctime: scanTime(q, 2),
				Mode: uint32(q.ColumnInt64(4)), Fingerprint: scanFingerprint(q, 5)}
		}
	}, dir, name, until)
	if r == nil || err != nil || !r.valid() {
		return nil, err
	}
	return r, err
}

// ReleasedNames returns the names in a directory that pulls have let go of in a span.
func (m *Moment) ReleasedNames(dir Ino, in *Span) (names []string, err error) {
	there, err := m.hasReleased()
	if err != nil || !there {
		return nil, err
	}
	err = m.s.tx.each("SELECT name, checkpoint FROM main.art_released WHERE parent_ino=?", func(q *sqlite3.Stmt) {
		if in.has(q.ColumnInt64(1)) {
			names = append(names, string(q.ColumnRawText(0)))
		}
	}, dir)
	return names, err
}

// Span is what has led to a tree, and not to an earlier one: what was done and then gone back from is no part of it, and is one again when that
// was done again.
type Span struct{ to, from []led }

// led is a part of history that has led to a tree, by the numbers of the checkpoints before what was done.
type led struct{ first, end int64 }

// Span returns what has led to the moment since a checkpoint; 0: since the beginning.
func (m *Moment) Span(since int64) (*Span, error) {
	all, err := checkpointsOf(m.s.tx.meta)
	return &Span{ledTo(all, m.before()), ledTo(all, since)}, err
}

// ledTo returns what has led to the tree at a checkpoint, or to the present if there is none of that number. The newest are first in all.
func ledTo(all []Checkpoint, checkpoint int64) (list []led) {
	end := checkpoint
	for _, c := range all {
		if c.ID > end || c.Kind != AfterBack || c.Restored >= c.ID {
			continue
		}
		if c.ID < end {
			list = append(list, led{c.ID, end})
		}
		end = c.Restored // it has the tree of that
	}
	return append(list, led{0, end})
}

func (s *Span) has(checkpoint int64) bool {
	within := func(list []led) bool {
		return slices.ContainsFunc(list, func(t led) bool { return t.first <= checkpoint && checkpoint < t.end })
	}
	return within(s.to) && !within(s.from)
}

func (m *Moment) hasReleased() (there bool, err error) {
	n, err := queryNumber(m.s.tx.meta, "SELECT count(*) FROM main.sqlite_schema WHERE type='table' AND name='art_released'")
	return n > 0, err
}

// Forever is after all checkpoints.
const Forever = int64(maxCheckpoint)

// before is a number above those of all checkpoints before the moment.
func (m *Moment) before() int64 {
	if m.at != nil {
		return m.at.ID
	}
	return maxCheckpoint + 1
}
