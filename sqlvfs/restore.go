package sqlvfs

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// restoreTables are those of a connection that brings tables of the tree back: keys of rows that have changed, with the checkpoint that knows
// what they were, names that lead to what is newer, and inodes that lose their rows, but are in use and so keep their content.
const restoreTables = `CREATE TEMP TABLE IF NOT EXISTS art_changed (a NOT NULL, b NOT NULL, checkpoint, there, PRIMARY KEY (a, b)) WITHOUT ROWID;
CREATE TEMP TABLE IF NOT EXISTS art_newer (id INTEGER PRIMARY KEY);
CREATE TEMP TABLE IF NOT EXISTS art_held (ino INTEGER PRIMARY KEY);
DELETE FROM temp.art_held`

// restore brings the tables of the tree back to what they were at a checkpoint, or only a part of them, unless that is nil. What they are has
// become history under the newest one.
func (w *writer) restore(to *Checkpoint, p *part) error {
	if err := w.Exec(restoreTables); err != nil {
		return err
	}
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
	lost := false // some inodes have no row any more
	// Every statement has parameters up to the last that it uses.
	values := []any{w.newest.ID, w.newest.maxIno, to.ID, to.maxIno}
	for _, k := range database.AllKept {
		if top > to.maxIno {
			err = w.bringBack(k, withoutNewer(k, p != nil), values)
		}
		if err == nil && changed[k] {
			err = w.bringBack(k, restoration(k, !again[k], p != nil, w.store.stack.Forked()), values)
		}
		if err == nil && k == database.KeptInode {
			lost, err = w.holdInodes()
		}
		if err != nil {
			return err
		}
	}
	if lost {
		for _, k := range heldTables {
			if err := w.bringBack(k, withoutInode(k), values); err != nil {
				return err
			}
		}
	}
	if p != nil {
		if err := p.relink(); err != nil {
			return err
		}
	}
	return w.Exec(`INSERT OR IGNORE INTO art_orphan (ino) SELECT ino FROM temp.art_held;
		DELETE FROM art_orphan WHERE EXISTS (SELECT 1 FROM fs_inode i WHERE i.ino=art_orphan.ino)`)
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

// holdInodes notes the inodes in use that have no row any more, and tells whether any has lost its own.
func (w *writer) holdInodes() (lost bool, err error) {
	if err := w.Exec("INSERT INTO temp.art_held SELECT ino FROM art_orphan o WHERE NOT EXISTS (SELECT 1 FROM fs_inode i WHERE i.ino=o.ino)"); err != nil {
		return false, err
	}
	gone, err := w.inodes(`SELECT h.ino FROM art_old_inode h WHERE h.checkpoint=? AND h.there=1
		AND NOT EXISTS (SELECT 1 FROM fs_inode i WHERE i.ino=h.ino)`, w.newest.ID)
	if err != nil {
		return false, err
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

// notHeld is a condition: that an inode's content need not stay although it has lost its row.
func notHeld(k *database.Kept, ino string) string {
	if slices.Contains(heldTables, k) {
		return " AND NOT EXISTS (SELECT 1 FROM temp.art_held x WHERE x.ino=" + ino + ")"
	}
	return ""
}

// withoutInode are the statements that delete rows of inodes that are gone now. History need not know that such a row was not there at the
// checkpoint: what was held then has stayed, and came back with its inode unchanged; and of a time of birth it is not kept, which may have come
// when its inode was changed long after the checkpoint. Parameters are those of withoutNewer.
func withoutInode(k *database.Kept) []string {
	lost := "p." + k.Key[0] + ` IN (SELECT h.ino FROM art_old_inode h WHERE h.checkpoint=?1)
		AND NOT EXISTS (SELECT 1 FROM fs_inode i WHERE i.ino=p.` + k.Key[0] + ")" + notHeld(k, "p."+k.Key[0])
	return []string{k.DeleteOwn(lost), "DELETE FROM main." + k.Table + " AS p WHERE " + lost}
}

// withoutNewer are the statements that delete rows which have become since a checkpoint. Parameters are the number and the highest inode
// of the newest one, and those of the one to go back to.
func withoutNewer(k *database.Kept, part bool) []string {
	if !k.Entry {
		newer := "p." + k.Key[0] + ">?4" + notHeld(k, "p."+k.Key[0]) + within(k, "p.", part)
		return []string{k.DeleteOwn(newer), "DELETE FROM main." + k.Table + " AS p WHERE " + newer}
	}
	// No index has the inodes that names lead to: look through all of them once.
	const these = "p.id IN (SELECT id FROM temp.art_newer)"
	return []string{
		"DELETE FROM temp.art_newer",
		"INSERT INTO temp.art_newer SELECT id FROM main.fs_dentry WHERE (parent_ino>?4 OR ino>?4)" + within(k, "", part),
		k.DeleteOwn(these), "DELETE FROM main.fs_dentry AS p WHERE " + these,
	}
}

// restoration are the statements that bring rows back which have changed. Parameters are those of withoutNewer. once says that each is known
// to history under no other number than that of the checkpoint to go back to.
func restoration(k *database.Kept, once, part, fork bool) []string {
	keys, named, second := strings.Join(k.Key, ", "), "a AS "+k.Key[0], "0"
	if len(k.Key) > 1 {
		named, second = named+", b AS "+k.Key[1], k.Key[1]
	}
	known := k.Key[0] + "<=?4" + notHeld(k, "o."+k.Key[0]) + within(k, "o.", part)
	gather := []string{
		"DELETE FROM temp.art_changed",
		"INSERT INTO temp.art_changed SELECT " + k.Key[0] + ", " + second + ", min(checkpoint), there FROM " + k.Old +
			" AS o WHERE checkpoint>=?3 AND checkpoint<=?1 AND " + known + " GROUP BY 1, 2",
	}
	changed := "(SELECT " + named + ", checkpoint, there FROM temp.art_changed)"
	rows := changed + " t JOIN " + k.Old + " h ON " + k.Equal("h", "t") + " AND h.checkpoint=t.checkpoint"
	if once {
		gather, changed = nil, "(SELECT * FROM "+k.Old+" AS o WHERE checkpoint=?3 AND "+known+")"
		rows = changed + " h"
	}
	also := ""
	if k.Entry {
		also = " AND h.ino<=?4"
	}
	if k != database.KeptInode { // history knows content of files, too, that had no name any more
		also += " AND EXISTS (SELECT 1 FROM fs_inode i WHERE i.ino=h." + k.Key[0] + ")"
	}
	// The other rows are replaced.
	goes := "(SELECT " + keys + " FROM " + changed + " t"
	switch {
	case k.Entry:
	case k == database.KeptInode:
		goes += " WHERE there<>1"
	default:
		goes += " WHERE there<>1 OR NOT EXISTS (SELECT 1 FROM fs_inode i WHERE i.ino=t." + k.Key[0] + ")"
	}
	goes += ")"
	replace, update := "OR REPLACE ", ""
	if k == database.KeptData { // a row that stays where it is leaves its index alone
		replace, update = "", " ON CONFLICT (ino, chunk_index) DO UPDATE SET data=excluded.data"
	}
	hide := "SELECT 1"
	if fork {
		hide = k.HideRows("(u." + strings.Join(k.Key, ", u.") + ") IN " + goes)
	}
	return append(gather,
		k.PutAll(changed),
		hide,
		"DELETE FROM main."+k.Table+" WHERE ("+keys+") IN "+goes,
		"INSERT "+replace+"INTO main."+k.Table+" ("+k.Rows("")+") SELECT "+k.Rows("h.")+" FROM "+rows+" WHERE h.there=1"+also+update)
}
