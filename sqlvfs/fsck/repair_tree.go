package fsck

import (
	"maps"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// dirEntry is an entry that stands for a directory.
type dirEntry struct {
	id, parent, dir int64 // id is of the entry
}

// onePlaceEach leaves each directory the one name that is nearest to the root, and of directories
// that the root does not lead to, which then are all in or below loops, one that breaks the loop:
// what is at the start of it has no name afterwards.
func (m *repairer) onePlaceEach() error {
	below := map[int64][]dirEntry{} // by parent
	above := map[int64][]dirEntry{} // by directory
	err := database.ForRows(m.Conn, `SELECT d.rowid, d.parent_ino, d.ino FROM fs_dentry d JOIN fs_inode i ON i.ino = d.ino
		WHERE `+isDir+` AND d.ino <> 1 ORDER BY d.ino, d.rowid`, func(q *sqlite3.Stmt) {
		p := dirEntry{q.ColumnInt64(0), q.ColumnInt64(1), q.ColumnInt64(2)}
		below[p.parent] = append(below[p.parent], p)
		above[p.dir] = append(above[p.dir], p)
	})
	if err != nil {
		return err
	}
	starts, err := m.inodes("SELECT ino FROM fs_inode WHERE ino NOT IN (SELECT ino FROM fs_dentry) AND ino <> 1 AND " + isDir)
	if err != nil {
		return err
	}
	kept := map[int64]int64{} // the entry of each directory that was reached; 0: none
	for _, ino := range append([]int64{1}, starts...) {
		reach(ino, below, kept)
	}
	for _, dir := range slices.Sorted(maps.Keys(above)) {
		if _, ok := kept[dir]; ok {
			continue
		}
		// Upwards from here, a directory comes again sooner or later: it is on a loop.
		for seen := map[int64]bool{}; !seen[dir] && len(above[dir]) > 0; dir = above[dir][0].parent {
			seen[dir] = true
		}
		kept[dir] = 0
		reach(dir, below, kept)
	}
	for dir, entries := range above {
		for _, p := range entries {
			if p.id == kept[dir] {
				continue
			}
			if err := m.exec("DELETE FROM fs_dentry WHERE rowid = ?", p.id); err != nil {
				return err
			}
		}
	}
	return nil
}

// reach keeps, of each directory below one that none was kept of, the entry that is nearest to it.
func reach(from int64, below map[int64][]dirEntry, kept map[int64]int64) {
	for level := []int64{from}; len(level) > 0; {
		var next []int64
		for _, parent := range level {
			for _, p := range below[parent] {
				if _, ok := kept[p.dir]; !ok {
					kept[p.dir] = p.id
					next = append(next, p.dir)
				}
			}
		}
		level = next
	}
}
