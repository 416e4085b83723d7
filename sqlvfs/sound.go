package sqlvfs

import (
	"fmt"
	"slices"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// History may have been written by anyone. Before going back is committed, what it has made of the tree is looked at: the rows that it
// changed, and what they are connected with. The rules are those of package fsck.

// soundCheckpoint returns [ErrCorrupt] for a checkpoint that cannot be. There is none with the number 0.
func (w *writer) soundCheckpoint(id int64) error {
	n, err := queryNumber(w.conn, "SELECT count(*) FROM art_checkpoint WHERE id=? AND ("+database.BadCheckpoint+")", id)
	if err == nil && n != 0 {
		err = fmt.Errorf("%w: checkpoint %d cannot be", ErrCorrupt, id)
	}
	return err
}

// What a row that has changed is now, under the newest checkpoint's number, which history knows it by.
const (
	changedInodes = "FROM art_old_inode h LEFT JOIN fs_inode p ON p.ino=h.ino WHERE h.checkpoint=?1"
	changedNames  = `FROM art_old_dentry h JOIN fs_dentry p ON p.parent_ino=h.parent_ino AND p.name=h.name WHERE h.checkpoint=?1`
	dirMode       = "(SELECT i.mode & 61440 FROM fs_inode i WHERE i.ino=%s) IS 16384"
)

var (
	isDirNow  = func(ino string) string { return fmt.Sprintf(dirMode, ino) }
	brokenNow = []struct{ text, query string }{
		{"the root is no directory", "SELECT 1 WHERE NOT " + isDirNow("1")},
		{"inode %d has names in it, but is no directory", "SELECT h.ino " + changedInodes +
			" AND ifnull(p.mode & 61440, 0)<>16384 AND (h.there=0 OR (h.mode & 61440)=16384) AND EXISTS (SELECT 1 FROM fs_dentry d WHERE d.parent_ino=h.ino) LIMIT 1"},
		{"symbolic link %d has no target", "SELECT h.ino FROM (SELECT ino FROM art_old_inode WHERE checkpoint=?1 UNION SELECT ino FROM art_old_symlink WHERE checkpoint=?1) h " +
			"JOIN fs_inode p ON p.ino=h.ino WHERE (p.mode & 61440)=40960 AND NOT EXISTS (SELECT 1 FROM fs_symlink s WHERE s.ino=h.ino) LIMIT 1"},
		{"a name is in inode %d, which is no directory", "SELECT p.parent_ino " + changedNames + " AND NOT " + isDirNow("p.parent_ino") + " LIMIT 1"},
		{"a name leads to inode %d, which is not there", "SELECT p.ino " + changedNames + " AND NOT EXISTS (SELECT 1 FROM fs_inode i WHERE i.ino=p.ino) LIMIT 1"},
		// No index has the inodes that names lead to. An inode that was there before the checkpoint and is not now is rare; CASE sees
		// to it that SQLite looks for names of no other.
		{"a name leads to inode %d, which is gone", "SELECT h.ino " + changedInodes + ` AND h.ino<=?2
			AND CASE WHEN p.ino IS NULL THEN EXISTS (SELECT 1 FROM fs_dentry d WHERE d.ino=h.ino) END LIMIT 1`},
		// Before, a directory had one name if it was there. So it has one now, if as many have come as gone.
		{"directory %d has lost its name, or has several", `WITH moved(ino, n) AS (
				SELECT p.ino, 1 ` + changedNames + ` AND NOT (h.there=1 AND h.ino IS p.ino)
				UNION ALL SELECT h.ino, -1 FROM art_old_dentry h LEFT JOIN fs_dentry p ON p.parent_ino=h.parent_ino AND p.name=h.name
					WHERE h.checkpoint=?1 AND h.there=1 AND p.ino IS NOT h.ino
				UNION ALL SELECT h.ino, iif(h.there=1 AND (h.mode & 61440)=16384, 1, 0) - iif((p.mode & 61440) IS 16384, 1, 0) ` + changedInodes + `
					AND (h.there=1 AND (h.mode & 61440)=16384) IS NOT ((p.mode & 61440) IS 16384))
			SELECT ino FROM moved WHERE ino<>1 AND ino<=?2 AND ` + isDirNow("moved.ino") + ` GROUP BY ino HAVING sum(n)<>0 LIMIT 1`},
	}
)

// soundTree returns [ErrCorrupt] if the tree that was brought back makes no sense. The newest checkpoint is of the tree before. Inodes above the
// highest number of the other one are new, or none.
func (w *writer) soundTree(to *Checkpoint) error {
	if err := database.Functions(w.Conn, w.store.chunkSize); err != nil {
		return err
	}
	find := func(text, query string) error {
		q, _, err := w.Prepare(query)
		if err != nil {
			return fmt.Errorf("%w: %v", ErrCorrupt, err)
		}
		defer q.Close()
		bind(q, []any{w.newest.ID, to.maxIno}[:q.BindCount()]...)
		if q.Step() {
			return fmt.Errorf("%w: checkpoint %d: "+text, ErrCorrupt, to.ID, q.ColumnInt64(0))
		}
		return q.Err()
	}
	changed, err := w.changedTables(w.newest.ID, w.newest.ID)
	if err != nil {
		return err
	}
	for i, k := range slices.Concat(database.AllKept, database.HostKept) {
		if i < len(changed) && !changed[i] {
			continue
		}
		query := "SELECT p." + k.Key[0] + " FROM " + k.Old + " h JOIN " + k.Table + " p ON " + k.Equal("p", "h") +
			" WHERE h.checkpoint=?1 AND (" + k.Bad("p.") + ") LIMIT 1"
		if err := find("a row of "+k.Table+" of inode %d cannot be", query); err != nil {
			return err
		}
	}
	for _, b := range brokenNow {
		if err := find(b.text, b.query); err != nil {
			return err
		}
	}
	return w.soundPlaces(to)
}

// soundPlaces looks for directories that have come below themselves. Each has one name.
func (w *writer) soundPlaces(to *Checkpoint) error {
	placed, err := w.inodes("SELECT p.ino "+changedNames+" AND NOT (h.there=1 AND h.ino IS p.ino) AND "+isDirNow("p.ino"), w.newest.ID)
	if err != nil {
		return err
	}
	seen := map[Ino]bool{}
	for _, top := range placed {
		for todo := []Ino{top}; len(todo) > 0; {
			dir := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if seen[dir] {
				continue
			}
			seen[dir] = true
			below, err := w.inodes("SELECT d.ino FROM fs_dentry d WHERE d.parent_ino=? AND "+isDirNow("d.ino"), dir)
			if err != nil {
				return err
			}
			for _, ino := range below {
				if ino == top {
					return fmt.Errorf("%w: checkpoint %d: directory %d is inside itself", ErrCorrupt, to.ID, top)
				}
			}
			todo = append(todo, below...)
		}
	}
	return nil
}

// inodes returns the numbers that a query yields.
func (w *writer) inodes(query string, value any) (list []Ino, err error) {
	q := bind(w.Prep(query), value)
	for w.Step(q) {
		list = append(list, Ino(q.ColumnInt64(0)))
	}
	return list, w.Done(q)
}
