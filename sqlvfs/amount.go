package sqlvfs

import "github.com/ncruces/go-sqlite3"

// Amount is how much of the tree became another between two checkpoints that follow one another.
type Amount struct {
	Files int64 // that are new, have changed, or are gone; directories do not count
	Bytes int64 // of content that is new, was replaced, or is gone
}

// amountRows bounds the rows of history that are counted for a list of checkpoints.
const amountRows = 200_000

const (
	// Rows that changed after the first checkpoint, before the second, and inodes that came in between. Of both, no more than are asked for.
	qAmountFiles = `SELECT count(*), ifnull(sum(new), 0), ifnull(sum(file), 0) FROM (
		SELECT 0 AS new, ifnull(h.mode, p.mode) & 61440 <> 16384 AS file FROM art_old_inode h LEFT JOIN fs_inode p ON p.ino=h.ino WHERE h.checkpoint=?1
		UNION ALL SELECT i.size, 1 FROM fs_inode i WHERE i.ino>?2 AND i.ino<=?3 AND i.mode & 61440 <> 16384
		UNION ALL SELECT ifnull(h.size, 0), 1 FROM art_old_inode h WHERE h.ino>?2 AND h.ino<=?3 AND h.there=1 AND h.mode & 61440 <> 16384
			AND NOT EXISTS (SELECT 1 FROM fs_inode i WHERE i.ino=h.ino)
			AND h.checkpoint=(SELECT min(x.checkpoint) FROM art_old_inode x WHERE x.ino=h.ino)
		LIMIT ?4)`
	qAmountBytes = `SELECT count(*), ifnull(sum(n), 0) FROM (
		SELECT ifnull(length(h.data), ifnull((SELECT length(p.data) FROM fs_data p WHERE p.ino=h.ino AND p.chunk_index=h.chunk_index), 0)) AS n
		FROM art_old_data h WHERE h.checkpoint=?1 LIMIT ?2)`
)

// Amounts returns for checkpoints, the newest first, how much has changed between each and the one before it. It counts so many rows of
// history and no more: from there on, and for the oldest, there is no amount.
func (s *Store) Amounts(all []Checkpoint) (list []*Amount, err error) {
	err = s.View(func(tx *Tx) (err error) {
		room := int64(amountRows)
		amount := func(older *Checkpoint, maxIno Ino) *Amount {
			if err != nil || room <= 0 {
				return nil
			}
			var a Amount
			count := func(query string, values ...any) {
				if err != nil {
					return
				}
				err = tx.each(query, func(q *sqlite3.Stmt) {
					room -= q.ColumnInt64(0)
					a.Bytes += q.ColumnInt64(1)
					if q.ColumnCount() > 2 {
						a.Files = q.ColumnInt64(2)
					}
				}, values...)
			}
			count(qAmountFiles, older.ID, older.maxIno, maxIno, room)
			count(qAmountBytes, older.ID, max(room, 0))
			if room <= 0 {
				return nil
			}
			return &a
		}
		for i := range all {
			if i == len(all)-1 {
				list = append(list, nil)
			} else {
				list = append(list, amount(&all[i+1], all[i].maxIno))
			}
		}
		return err
	})
	return list, err
}
