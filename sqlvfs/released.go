package sqlvfs

import (
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
// all of its own.
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

// Released returns what a pull has let go of at a name, as the last one that has after the checkpoint since and not after the one after until, as far
// as the moment knows; nil: none has. Where the guest has had something else there since then, and the host's shows again, that was given up.
func (m *Moment) Released(dir Ino, name string, since, until int64) (r *Released, err error) {
	there, err := m.hasReleased()
	if err != nil || !there {
		return nil, err
	}
	before := min(m.before(), until+1)
	err = m.s.tx.each(`SELECT checkpoint, ino, ino_ctime, ino_ctime_nsec, mode, dev, base_ino, size, mtime, mtime_nsec, ctime, ctime_nsec FROM main.art_released
		WHERE parent_ino=? AND name=? AND checkpoint>=? AND checkpoint<? ORDER BY checkpoint DESC LIMIT 1`, func(q *sqlite3.Stmt) {
		r = &Released{Dir: dir, Name: name, Checkpoint: q.ColumnInt64(0), Ino: Ino(q.ColumnInt64(1)), Ctime: scanTime(q, 2),
			Mode: uint32(q.ColumnInt64(4)), Fingerprint: scanFingerprint(q, 5)}
	}, dir, name, since, before)
	if r == nil || err != nil || !r.valid() {
		return nil, err
	}
	return r, err
}

// ReleasedNames returns the names in a directory that pulls have let go of until the moment, since a checkpoint.
func (m *Moment) ReleasedNames(dir Ino, since int64) (names []string, err error) {
	there, err := m.hasReleased()
	if err != nil || !there {
		return nil, err
	}
	err = m.s.tx.each("SELECT DISTINCT name FROM main.art_released WHERE parent_ino=? AND checkpoint>=? AND checkpoint<?",
		func(q *sqlite3.Stmt) { names = append(names, string(q.ColumnRawText(0))) }, dir, since, m.before())
	return names, err
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
