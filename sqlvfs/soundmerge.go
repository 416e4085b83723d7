package sqlvfs

import (
	"fmt"
	"strings"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// What a merge brings is looked at as what going back brings is, and so are the rows that it has made, of which history knows nothing. The
// rules are those of package fsck, of rows p of a table that have come or changed, with the inode i that they are of.

const (
	gone    = "i.ino IS NULL AND NOT EXISTS (SELECT 1 FROM main.art_orphan o WHERE o.ino=p.%s)"
	noFile  = "i.ino IS NOT NULL AND (i.mode & 61440)<>32768"
	outside = "c.chunk_index NOT BETWEEN 0 AND (i.size+chunk_size()-1)/chunk_size()-1 OR octet_length(c.data)<>min(chunk_size(), i.size-c.chunk_index*chunk_size())"
)

var brokenMerge = []struct {
	k     *database.Kept
	rules []broken
}{
	{database.KeptInode, []broken{
		{"inode %d has no target, or one of another size", `(i.mode & 61440)=40960 AND NOT EXISTS (SELECT 1 FROM fs_symlink s
			WHERE s.ino=i.ino AND i.size BETWEEN length(s.target) AND length(CAST(s.target AS BLOB)))`},
		{"inode %d has content beyond its end", `(i.mode & 61440)=32768 AND EXISTS (SELECT 1 FROM fs_data c
			WHERE c.ino=i.ino AND (c.chunk_index<0 OR c.chunk_index>=(i.size-1)/chunk_size()) AND (` + outside + `))`},
		{"inode %d has no links, or too many", "i.nlink NOT BETWEEN 1 AND 4294967295"},
	}},
	{database.KeptDentry, []broken{
		{"a name is in inode %d, which is no directory", "i.ino IS NULL OR (i.mode & 61440)<>16384"},
		{"a name in inode %d leads to the root, or to nothing", "p.ino=1 OR NOT EXISTS (SELECT 1 FROM fs_inode x WHERE x.ino=p.ino)"},
	}},
	{database.KeptData, []broken{
		{"inode %d is no file, but has content", fmt.Sprintf(gone, "ino") + " OR " + noFile},
		{"inode %d has content that cannot be", "i.ino IS NOT NULL AND (" + strings.ReplaceAll(outside, "c.", "p.") + ")"},
	}},
	{database.KeptSymlink, []broken{{"inode %d is no symbolic link, but has a target", fmt.Sprintf(gone, "ino") + " OR i.ino IS NOT NULL AND (i.mode & 61440)<>40960"}}},
	{database.KeptNumber, []broken{{"inode %d is not there, but has an origin", "i.ino IS NULL"}}},
	{database.KeptOrigin, []broken{
		{"inode %d has an origin that cannot be", `i.ino IS NULL OR NOT EXISTS (SELECT 1 FROM fs_origin f WHERE f.delta_ino=p.ino)
			OR NOT EXISTS (SELECT 1 FROM main.art_base b WHERE b.id=p.base) OR p.data_limit NOT BETWEEN 0 AND iif((i.mode & 61440)=32768, i.size, 0)`},
	}},
	{database.KeptWhiteout, []broken{{"a whiteout is in inode %d, which is no directory", "i.ino IS NULL OR (i.mode & 61440)<>16384"}}},
	{database.KeptXattr, []broken{{"inode %d is not there, but has an attribute", fmt.Sprintf(gone, "ino")}}},
	{database.KeptBirth, []broken{{"inode %d is not there, but has a time of birth", fmt.Sprintf(gone, "ino")}}},
}

// qMiscounted finds inodes that are no directories and have another number of links than of names, as qLostName finds directories. One that
// has an origin may have more.
var qMiscounted = `WITH moved(ino, n) AS (
		SELECT p.ino, 1 ` + changedNames + ` AND NOT (h.there=1 AND h.ino IS p.ino)
		UNION ALL SELECT h.ino, -1 FROM art_old_dentry h LEFT JOIN fs_dentry p ON p.parent_ino=h.parent_ino AND p.name=h.name
			WHERE h.checkpoint=?1 AND h.there=1 AND p.ino IS NOT h.ino
		UNION ALL SELECT p.ino, iif(h.there=1, h.nlink, 0)-p.nlink ` + changedInodes + ` AND p.ino IS NOT NULL
		UNION ALL SELECT p.ino, 1 FROM main.fs_dentry p WHERE p.parent_ino>?2
		UNION ALL SELECT p.ino, -p.nlink FROM main.fs_inode p WHERE p.ino>?2)
	SELECT ino FROM moved WHERE EXISTS (SELECT 1 FROM fs_inode i WHERE i.ino=moved.ino AND (i.mode & 61440)<>16384)
		AND NOT EXISTS (SELECT 1 FROM art_old_inode h WHERE h.ino=moved.ino AND h.checkpoint=?1 AND h.there=1 AND (h.mode & 61440)=16384)
	GROUP BY ino HAVING sum(n)<>0 AND (sum(n)>0 AND ino>?2 OR NOT EXISTS (SELECT 1 FROM fs_origin f WHERE f.delta_ino=moved.ino)
		AND NOT EXISTS (SELECT 1 FROM art_old_number f WHERE f.delta_ino=moved.ino AND f.checkpoint=?1)) LIMIT 1`

// soundMerge returns [ErrCorrupt] if the tree with a merge in it makes no sense. Inodes that the merge has made have numbers above top.
func (w *writer) soundMerge(to *Checkpoint, top Ino) error {
	if err := w.soundTree(to, top); err != nil {
		return err
	}
	for _, b := range brokenMerge {
		key, keys := b.k.Key[0], strings.Join(b.k.Key, ", ")
		which := "CASE"
		for i, r := range b.rules {
			which += fmt.Sprintf(" WHEN %s THEN %d", r.condition, i)
		}
		q := bind(w.Prep("SELECT t."+key+", "+which+" END AS broken FROM (SELECT "+keys+" FROM main."+b.k.Table+" WHERE "+key+">?2 UNION ALL SELECT "+keys+" FROM "+b.k.Old+
			" WHERE checkpoint=?1) t JOIN main."+b.k.Table+" p ON "+b.k.Equal("p", "t")+" LEFT JOIN fs_inode i ON i.ino=t."+key+" WHERE broken IS NOT NULL LIMIT 1"), w.newest.ID, top)
		var broken error
		if w.Step(q) {
			broken = fmt.Errorf("%w: checkpoint %d: "+b.rules[q.ColumnInt(1)].text, ErrCorrupt, to.ID, q.ColumnInt64(0))
		}
		if err := w.Done(q); err != nil {
			return err
		}
		if broken != nil {
			return broken
		}
	}
	wrong, err := w.inodes(qMiscounted, w.newest.ID, top)
	if err == nil && len(wrong) > 0 {
		err = fmt.Errorf("%w: checkpoint %d: inode %d has another number of links than of names", ErrCorrupt, to.ID, wrong[0])
	}
	return err
}
