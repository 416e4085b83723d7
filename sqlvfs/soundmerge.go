package sqlvfs

import (
	"fmt"
	"slices"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// What a merge brings is looked at as what going back brings is, and so are the rows that it has made, of which history knows nothing.

// brokenNew are rules of rows p that have come with new inodes i, beside those of all rows (brokenRows).
var brokenNew = map[*database.Kept][]broken{
	database.KeptInode: {
		{"inode %d has no target, or one of another size", "(i.mode & 61440)=40960 AND NOT " + fitting("i")},
		{"inode %d has content beyond its end", `(i.mode & 61440)=32768 AND EXISTS (SELECT 1 FROM fs_data c
			WHERE c.ino=i.ino AND (c.chunk_index<0 OR c.chunk_index>=(i.size-1)/chunk_size()) AND (` + outside("c", "i") + `))`},
		{"inode %d has no links, or too many", "i.nlink NOT BETWEEN 1 AND 4294967295"},
	},
	database.KeptDentry: {
		{"a name is in inode %d, which is no directory", "i.ino IS NULL OR (i.mode & 61440)<>16384"},
		{"a name in inode %d leads to the root, or to nothing", "p.ino=1 OR NOT EXISTS (SELECT 1 FROM fs_inode x WHERE x.ino=p.ino)"},
	},
}

// qMiscounted finds inodes that are no directories and have another number of links than of names, as qLostName finds directories. One that
// has an origin may have more.
var qMiscounted = `WITH moved(ino, n) AS (
		SELECT p.ino, 1 ` + changedNames + ` AND NOT (h.there=1 AND h.ino IS p.ino)
		UNION ALL SELECT h.ino, -1 FROM art_old_dentry h LEFT JOIN fs_dentry p ON p.parent_ino=h.parent_ino AND p.name=h.name
			WHERE h.checkpoint=?1 AND h.there=1 AND p.ino IS NOT h.ino
		UNION ALL SELECT p.ino, iif(h.there=1, h.nlink, 0)-p.nlink ` + changedInodes + ` AND p.nlink<>iif(h.there=1, h.nlink, 0)
		UNION ALL SELECT p.ino, 1 FROM main.fs_dentry p WHERE p.parent_ino>?2
		UNION ALL SELECT p.ino, -p.nlink FROM main.fs_inode p WHERE p.ino>?2)
	SELECT ino FROM moved WHERE EXISTS (SELECT 1 FROM fs_inode i WHERE i.ino=moved.ino AND (i.mode & 61440)<>16384)
		AND NOT EXISTS (SELECT 1 FROM art_old_inode h WHERE h.ino=moved.ino AND h.checkpoint=?1 AND h.there=1 AND (h.mode & 61440)=16384)
	GROUP BY ino HAVING sum(n)<>0 AND (sum(n)>0 AND ino>?2 OR NOT EXISTS (SELECT 1 FROM fs_origin f WHERE f.delta_ino=moved.ino)
		AND NOT EXISTS (SELECT 1 FROM art_old_number f WHERE f.delta_ino=moved.ino AND f.checkpoint=?1))`

// soundMerge returns [ErrCorrupt] if the tree with a merge in it makes no sense. Inodes that the merge has made have numbers above top.
func (w *writer) soundMerge(to *Checkpoint, top Ino) error {
	if err := w.soundTree(to, top); err != nil {
		return err
	}
	for _, k := range database.AllKept {
		key := k.Key[0]
		which, rules := "CASE", slices.Concat(brokenRows[k], brokenNew[k])
		for i, r := range rules {
			which += fmt.Sprintf(" WHEN %s THEN %d", r.condition, i)
		}
		q := bind(w.Prep("SELECT p."+key+", "+which+" END AS broken FROM main."+k.Table+" p LEFT JOIN fs_inode i ON i.ino=p."+key+" WHERE p."+key+">?1 AND broken IS NOT NULL LIMIT 1"), top)
		var broken error
		if w.Step(q) {
			broken = fmt.Errorf("%w: checkpoint %d: "+rules[q.ColumnInt(1)].text, ErrCorrupt, to.ID, q.ColumnInt64(0))
		}
		if err := w.Done(q); err != nil {
			return err
		}
		if broken != nil {
			return broken
		}
	}
	wrong, err := w.inodes(qMiscounted+" LIMIT 1", w.newest.ID, top)
	if err == nil && len(wrong) > 0 {
		err = fmt.Errorf("%w: checkpoint %d: inode %d has another number of links than of names", ErrCorrupt, to.ID, wrong[0])
	}
	return err
}
