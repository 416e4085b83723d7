package sqlvfs

import "github.com/ncruces/go-sqlite3"

// Amount is how much of the tree became another between two checkpoints that follow one another.
type Amount struct {
	Files int64 // that are new, have changed, or are gone; directories do not count
	Bytes int64 // of content that is new, was replaced, or is gone
}

// amountRows bounds the rows of history that are counted for a list of checkpoints.
const amountRows = 200_000

// amountInodes are the inodes that history has rows of from the first checkpoint on, before the second: h as they were at the first, which
// is not as they were at the second: as history has them from there on (x), or else as they are (p).
const amountInodes = ` FROM art_old_inode h LEFT JOIN fs_inode p ON p.ino=h.ino
	LEFT JOIN art_old_inode x ON x.ino=h.ino AND x.checkpoint=(SELECT min(z.checkpoint) FROM art_old_inode z WHERE z.ino=h.ino AND z.checkpoint>=?2)
	WHERE h.checkpoint=?1 AND iif(x.checkpoint IS NULL,
		(h.there, h.mode, h.size, h.mtime, h.mtime_nsec, h.ctime, h.ctime_nsec) IS NOT (p.ino IS NOT NULL, p.mode, p.size, p.mtime, p.mtime_nsec, p.ctime, p.ctime_nsec),
		(h.there, h.mode, h.size, h.mtime, h.mtime_nsec, h.ctime, h.ctime_nsec) IS NOT (x.there, x.mode, x.size, x.mtime, x.mtime_nsec, x.ctime, x.ctime_nsec))`

const (
	// Rows that changed, and inodes that came in between. Of both, no more than are asked for.
	qAmountFiles = `SELECT count(*), ifnull(sum(new), 0), ifnull(sum(file), 0) FROM (
		SELECT 0 AS new, coalesce(h.mode, x.mode, p.mode) & 61440 <> 16384 AS file` + amountInodes + `
		UNION ALL SELECT i.size, 1 FROM fs_inode i WHERE i.ino>?3 AND i.ino<=?4 AND i.mode & 61440 <> 16384
			AND NOT EXISTS (SELECT 1 FROM art_old_inode x WHERE x.ino=i.ino AND (x.checkpoint>=?2 OR x.checkpoint=?1))
		UNION ALL SELECT ifnull(h.size, 0), 1 FROM art_old_inode h WHERE h.ino>?3 AND h.ino<=?4 AND h.there=1 AND h.mode & 61440 <> 16384
			AND h.checkpoint=(SELECT min(x.checkpoint) FROM art_old_inode x WHERE x.ino=h.ino AND x.checkpoint>=?2)
			AND NOT EXISTS (SELECT 1 FROM art_old_inode x WHERE x.ino=h.ino AND x.checkpoint=?1)
		LIMIT ?5)`
	// Content of an inode is another one only where that has changed.
	qAmountBytes = `WITH changed(ino) AS MATERIALIZED (SELECT h.ino` + amountInodes + `)
		SELECT count(*), ifnull(sum(max(ifnull(length(h.data), 0), iif(x.checkpoint IS NULL, ifnull(length(p.data), 0), ifnull(length(x.data), 0)))), 0)
		FROM (SELECT * FROM art_old_data WHERE checkpoint=?1 LIMIT ?3) h
		LEFT JOIN fs_data p ON p.ino=h.ino AND p.chunk_index=h.chunk_index
		LEFT JOIN art_old_data x ON x.ino=h.ino AND x.chunk_index=h.chunk_index
			AND x.checkpoint=(SELECT min(y.checkpoint) FROM art_old_data y WHERE y.ino=h.ino AND y.chunk_index=h.chunk_index AND y.checkpoint>=?2)
		WHERE h.ino IN (SELECT ino FROM changed)`
)

// Amounts returns for checkpoints, the newest first, how much has changed between each and the one before it. It counts so many rows of
// history and no more: from there on, and for the oldest, there is no amount.
func (s *Store) Amounts(all []Checkpoint) (list []*Amount, err error) {
	err = s.View(func(tx *Tx) (err error) {
		room := int64(amountRows)
		amount := func(older, later *Checkpoint) *Amount {
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
			count(qAmountFiles, older.ID, later.ID, older.maxIno, later.maxIno, room)
			count(qAmountBytes, older.ID, later.ID, max(room, 0))
			if room <= 0 {
				return nil
			}
			return &a
		}
		for i := range all {
			if i == len(all)-1 {
				list = append(list, nil)
			} else {
				list = append(list, amount(&all[i+1], &all[i]))
			}
		}
		return err
	})
	return list, err
}
