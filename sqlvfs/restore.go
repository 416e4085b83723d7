package sqlvfs

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// restoreTables are those of a connection that brings tables of the tree back: keys of rows that have changed, with the checkpoint that
// knows what they were, names that lead to what is newer, and inodes that lose their rows, but are in use and so keep their content.
const restoreTables = `CREATE TEMP TABLE IF NOT EXISTS art_changed (a NOT NULL, b NOT NULL, checkpoint, there, PRIMARY KEY (a, b)) WITHOUT ROWID;
CREATE TEMP TABLE IF NOT EXISTS art_newer (id INTEGER PRIMARY KEY);
CREATE TEMP TABLE IF NOT EXISTS art_held (ino INTEGER PRIMARY KEY);
DELETE FROM temp.art_held`

// restoring is what there is to be known to bring tables of the tree back.
type restoring struct {
	to     *Checkpoint
	p      *part // nil: all of it
	fork   bool
	held   bool  // inodes may be in use that have no row any more
	newer  bool  // there may be rows of inodes that have become since
	values []any // of statements, which have parameters up to the last that they use
}

// restore brings the tables of the tree back to what they were at a checkpoint, or only a part of them, unless that is nil. What they are
// has become history under the newest one.
func (w *writer) restore(to *Checkpoint, p *part) error {
	top, err := w.store.highestIno(w.conn, false)
	if err != nil {
		return err
	}
	changed, err := changedTables(w.conn, to.ID, w.newest.ID)
	if err != nil {
		return err
	}
	again, err := changedTables(w.conn, to.ID+1, w.newest.ID)
	if err != nil {
		return err
	}
	r := &restoring{to: to, p: p, fork: w.store.stack.Forked(), held: len(w.store.tx.live) > 1, newer: top > to.maxIno,
		values: []any{w.newest.ID, w.newest.maxIno, to.ID, to.maxIno}}
	if !r.held {
		orphans, err := queryNumber(w.conn, "SELECT EXISTS (SELECT 1 FROM art_orphan)")
		if err != nil {
			return err
		}
		r.held = orphans != 0
	}
	// They take as long to be made as a few rows to be brought back.
	if r.held || r.newer || slices.ContainsFunc(database.AllKept, func(k *database.Kept) bool { return again[k] }) {
		if err := w.Exec(restoreTables); err != nil {
			return err
		}
	}
	lost := false // some inodes have no row any more
	for _, k := range database.AllKept {
		gone := r.newer // some rows may have gone
		if r.newer {
			err = w.bringBack(k, r.withoutNewer(k), r.values)
		}
		if err == nil && changed[k] {
			var missing bool
			missing, err = w.restoreTable(k, r, !again[k])
			gone = gone || missing
		}
		if err == nil && k == database.KeptInode {
			if r.held {
				err = w.holdOrphans()
			}
			if err == nil && gone {
				lost, err = w.holdInodes(r.held)
			}
		}
		if err != nil {
			return err
		}
	}
	if lost {
		for _, k := range heldTables {
			if err := w.bringBack(k, withoutInode(k, r.held), r.values); err != nil {
				return err
			}
		}
	}
	if p != nil {
		if err := p.relink(); err != nil {
			return err
		}
	}
	if !r.held {
		return nil
	}
	return w.Exec(releaseHeld)
}

// changedTables tells of which tables there are rows under the numbers of two checkpoints, or between.
func changedTables(c *conn, from, to int64) (map[*database.Kept]bool, error) {
	changed := map[*database.Kept]bool{}
	q := bind(c.Prep(qChangedTables), from, to)
	if c.Step(q) {
		for i, k := range database.Everything {
			changed[k] = q.ColumnBool(i)
		}
	}
	return changed, c.Done(q)
}

var qChangedTables = func() string {
	var exist []string
	for _, k := range database.Everything {
		exist = append(exist, "EXISTS (SELECT 1 FROM "+k.Old+" WHERE checkpoint BETWEEN ?1 AND ?2)")
	}
	return "SELECT " + strings.Join(exist, ", ")
}()

func (w *writer) bringBack(k *database.Kept, statements []string, values []any) error {
	for _, text := range statements {
		if _, err := w.bringRows(k, text, values); err != nil {
			return err
		}
	}
	return nil
}

// bringRows runs a statement, and returns how many rows it has changed, or else its only number.
func (w *writer) bringRows(k *database.Kept, text string, values []any) (n int64, err error) {
	q, _, err := w.Prepare(text)
	if err != nil {
		return 0, fmt.Errorf("%w: %v", database.ErrCorrupt, err)
	}
	defer q.Close()
	bind(q, values[:q.BindCount()]...)
	if q.Step() {
		n = q.ColumnInt64(0)
	} else {
		n = w.Changes()
	}
	err = q.Err()
	if errors.Is(err, sqlite3.CONSTRAINT) || errors.Is(err, sqlite3.MISMATCH) {
		err = fmt.Errorf("%w: %v", ErrCorrupt, err) // history has what the tree cannot
	}
	if err != nil {
		return n, fmt.Errorf("bring %s back: %w", k.Table, err)
	}
	return n, nil
}

// restoreTable brings rows of a table back which have changed. once says that each is known to history under no other number than that of
// the checkpoint to go back to. It tells whether some of them may have been deleted instead.
func (w *writer) restoreTable(k *database.Kept, r *restoring, once bool) (gone bool, err error) {
	s := r.restoration(k, once)
	if err := w.bringBack(k, s.first, r.values); err != nil {
		return false, err
	}
	if k.Entry { // each goes, and comes again: what it leads to may have changed places with others
		if err := w.bringBack(k, s.delete, r.values); err != nil {
			return true, err
		}
		_, err := w.bringRows(k, s.insert, r.values)
		return true, err
	}
	all, err := w.bringRows(k, s.count, r.values)
	if err != nil {
		return false, err
	}
	came, err := w.bringRows(k, s.insert, r.values)
	if err != nil || came == all {
		return false, err
	}
	return true, w.bringBack(k, s.delete, r.values)
}

// holdOrphans notes the inodes in use that have no row any more.
func (w *writer) holdOrphans() error {
	return w.Exec("INSERT INTO temp.art_held SELECT ino FROM art_orphan o WHERE NOT EXISTS (SELECT 1 FROM fs_inode i WHERE i.ino=o.ino)")
}

// holdInodes notes the inodes in use that have lost their row, and tells whether any has, be it in use or not.
func (w *writer) holdInodes(inUse bool) (lost bool, err error) {
	gone, err := w.inodes(`SELECT h.ino FROM art_old_inode h WHERE h.checkpoint=? AND h.there=1
		AND NOT EXISTS (SELECT 1 FROM fs_inode i WHERE i.ino=h.ino)`, w.newest.ID)
	if err != nil || !inUse {
		return len(gone) > 0, err
	}
	for _, ino := range gone {
		if in := w.store.tx.live[ino]; in != nil && in.refs > 0 {
			if err := w.exec("INSERT OR IGNORE INTO temp.art_held VALUES (?)", int64(ino)); err != nil {
				return false, err
			}
		}
	}
	return len(gone) > 0, nil
}

// heldTables have what stays of an inode in use that has lost its row.
var heldTables = []*database.Kept{database.KeptData, database.KeptSymlink, database.KeptXattr, database.KeptBirth}

// releaseHeld has orphans be the inodes in use that have no row now.
const releaseHeld = `INSERT OR IGNORE INTO art_orphan (ino) SELECT ino FROM temp.art_held;
	DELETE FROM art_orphan WHERE EXISTS (SELECT 1 FROM fs_inode i WHERE i.ino=art_orphan.ino)`

// notHeld is a condition: that an inode's content need not stay although it has lost its row. held says that there may be some that must.
func notHeld(k *database.Kept, ino string, held bool) string {
	if held && slices.Contains(heldTables, k) {
		return " AND NOT EXISTS (SELECT 1 FROM temp.art_held x WHERE x.ino=" + ino + ")"
	}
	return ""
}

// withoutInode are the statements that delete rows of inodes that are gone now. History need not know that such a row was not there at the
// checkpoint: what was held then has stayed, and came back with its inode unchanged; and of a time of birth it is not kept, which may have
// come when its inode was changed long after the checkpoint. Parameters are those of withoutNewer.
func withoutInode(k *database.Kept, held bool) []string {
	lost := "p." + k.Key[0] + ` IN (SELECT h.ino FROM art_old_inode h WHERE h.checkpoint=?1)
		AND NOT EXISTS (SELECT 1 FROM fs_inode i WHERE i.ino=p.` + k.Key[0] + ")" + notHeld(k, "p."+k.Key[0], held)
	return []string{k.DeleteOwn(lost), "DELETE FROM main." + k.Table + " AS p WHERE " + lost}
}

// withoutNewer are the statements that delete rows which have become since a checkpoint. Parameters are the number and the highest inode
// of the newest one, and those of the one to go back to.
func (r *restoring) withoutNewer(k *database.Kept) []string {
	if !k.Entry {
		newer := "p." + k.Key[0] + ">?4" + notHeld(k, "p."+k.Key[0], r.held) + within(k, "p.", r.p != nil)
		return []string{k.DeleteOwn(newer), "DELETE FROM main." + k.Table + " AS p WHERE " + newer}
	}
	// No index has the inodes that names lead to: look through all of them once.
	const these = "p.id IN (SELECT id FROM temp.art_newer)"
	return []string{
		"DELETE FROM temp.art_newer",
		"INSERT INTO temp.art_newer SELECT id FROM main.fs_dentry WHERE (parent_ino>?4 OR ino>?4)" + within(k, "", r.p != nil),
		k.DeleteOwn(these), "DELETE FROM main.fs_dentry AS p WHERE " + these,
	}
}

// restoration are the statements that bring rows of a table back which have changed. Parameters are those of withoutNewer.
type restoration struct {
	first  []string // what the rows are becomes history
	count  string   // how many there are
	insert string   // those that were there come back
	delete []string // the others go
}

func (r *restoring) restoration(k *database.Kept, once bool) (s restoration) {
	keys, named, second := strings.Join(k.Key, ", "), "a AS "+k.Key[0], "0"
	if len(k.Key) > 1 {
		named, second = named+", b AS "+k.Key[1], k.Key[1]
	}
	known := k.Key[0] + "<=?4" + notHeld(k, "o."+k.Key[0], r.held) + within(k, "o.", r.p != nil)
	var changed, rows string
	if once {
		changed = "(SELECT * FROM " + k.Old + " AS o WHERE checkpoint=?3 AND " + known + ")"
		rows = changed + " h"
		s.count = "SELECT count(*) FROM " + k.Old + " WHERE checkpoint=?3"
	} else {
		s.first = []string{
			"DELETE FROM temp.art_changed",
			"INSERT INTO temp.art_changed SELECT " + k.Key[0] + ", " + second + ", min(checkpoint), there FROM " + k.Old +
				" AS o WHERE checkpoint>=?3 AND checkpoint<=?1 AND " + known + " GROUP BY 1, 2",
		}
		changed = "(SELECT " + named + ", checkpoint, there FROM temp.art_changed)"
		rows = changed + " t JOIN " + k.Old + " h ON " + k.Equal("h", "t") + " AND h.checkpoint=t.checkpoint"
		s.count = "SELECT count(*) FROM temp.art_changed"
	}
	s.first = append(s.first, k.PutAll(changed))
	also := ""
	if k.Entry {
		also = " AND h.ino<=?4"
	}
	if k != database.KeptInode { // history knows content of files, too, that had no name any more
		also += " AND EXISTS (SELECT 1 FROM fs_inode i WHERE i.ino=h." + k.Key[0] + ")"
	}
	replace, update := "OR REPLACE ", ""
	if k == database.KeptData { // a row that stays where it is leaves its index alone
		replace, update = "", " ON CONFLICT (ino, chunk_index) DO UPDATE SET data=excluded.data"
	}
	s.insert = "INSERT " + replace + "INTO main." + k.Table + " (" + k.Rows("") + ") SELECT " + k.Rows("h.") + " FROM " + rows + " WHERE h.there=1" + also + update
	goes := "(SELECT " + keys + " FROM " + changed + " t"
	switch {
	case k.Entry:
	case k == database.KeptInode:
		goes += " WHERE there<>1"
	default:
		goes += " WHERE there<>1 OR NOT EXISTS (SELECT 1 FROM fs_inode i WHERE i.ino=t." + k.Key[0] + ")"
	}
	goes += ")"
	if r.fork {
		s.delete = append(s.delete, k.HideRows("(u."+strings.Join(k.Key, ", u.")+") IN "+goes))
	}
	s.delete = append(s.delete, "DELETE FROM main."+k.Table+" WHERE ("+keys+") IN "+goes)
	return s
}
