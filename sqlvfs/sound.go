package sqlvfs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

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
)

func isDirNow(ino string) string {
	return "(SELECT i.mode & 61440 FROM fs_inode i WHERE i.ino=" + ino + ") IS 16384"
}

// broken is what may be wrong with a row, as a condition and in words.
type broken struct{ text, condition string }

// turned is the rule that an inode fits which has become a directory, or has been one: nothing wrong, if names fit.
const turned = "inode %d has become a directory, or is none any more"

// remade is a condition: that an inode has come, or has another type or another number of links.
const remade = "(p.ino IS NOT NULL AND NOT (h.there=1 AND h.nlink=p.nlink AND (h.mode & 61440)=(p.mode & 61440)))"

// ordinary is a condition: that an inode is a file or a directory which was there, of the same type and with as many links.
const ordinary = `((h.there=1 AND h.mode=p.mode AND h.nlink=p.nlink AND p.nlink BETWEEN 1 AND 4294967295 AND (p.mode & 61440) IN (16384, 32768)) IS TRUE)`

// Rules of rows h that have changed and are rows p now, if there are any.
var (
	// brokenOrdinary are those of brokenInodes that an ordinary one may break, after one that fits what is not ordinary. Mostly nothing is, and to
	// ask for all of them takes longer.
	brokenOrdinary = []broken{{turned, "NOT " + ordinary}, cannotBe(database.KeptInode), wrongSize}

	brokenInodes = []broken{
		cannotBe(database.KeptInode),
		{"the root, inode %d, is no directory", "h.ino=1 AND (p.mode & 61440) IS NOT 16384"},
		{"inode %d has names in it, but is no directory", `ifnull(p.mode & 61440, 0)<>16384 AND (h.there=0 OR (h.mode & 61440)=16384)
			AND EXISTS (SELECT 1 FROM fs_dentry d WHERE d.parent_ino=h.ino)`},
		linkWithoutTarget,
		// No index has the inodes that names lead to. CASE sees to it that SQLite looks through all names only if an inode that was there before
		// the checkpoint is gone, and then once for all that are.
		{"a name leads to inode %d, which is gone", `CASE WHEN p.ino IS NULL AND h.ino<=?2 THEN h.ino IN (SELECT d.ino FROM fs_dentry d WHERE d.ino IN
			(SELECT g.ino FROM art_old_inode g WHERE g.checkpoint=?1 AND NOT EXISTS (SELECT 1 FROM fs_inode i WHERE i.ino=g.ino))) END`},
		{"inode %d has no links, or too many", "p.nlink NOT BETWEEN 1 AND 4294967295"},
		wrongSize,
		{turned, "(h.there=1 AND (h.mode & 61440)=16384) IS NOT ((p.mode & 61440) IS 16384)"},
	}
	// brokenTypes are rules of inodes that have come, or are of another type.
	brokenTypes = []broken{{"inode %d has what another type of file has", remade + ` AND (
		(p.mode & 61440)<>32768 AND (EXISTS (SELECT 1 FROM fs_data c WHERE c.ino=p.ino) OR EXISTS (SELECT 1 FROM art_origin o WHERE o.ino=p.ino AND o.data_limit>0))
		OR (p.mode & 61440)<>40960 AND EXISTS (SELECT 1 FROM fs_symlink s WHERE s.ino=p.ino)
		OR (p.mode & 61440)<>16384 AND EXISTS (SELECT 1 FROM art_whiteout o WHERE o.parent_ino=p.ino))`}}
	brokenNames = []broken{
		cannotBe(database.KeptDentry),
		{"a name is in inode %d, which is no directory", "NOT " + isDirNow("p.parent_ino")},
		{"a name in inode %d leads to an inode that is not there", "NOT EXISTS (SELECT 1 FROM fs_inode i WHERE i.ino=p.ino)"},
	}
	// brokenRows are rules of rows p of other tables, with the inode i that they are of, whether they have changed or are new.
	brokenRows = map[*database.Kept][]broken{
		database.KeptData: {
			{"inode %d is no file, but has content", goneInode + " OR i.ino IS NOT NULL AND (i.mode & 61440)<>32768"},
			{"inode %d has content that cannot be", "i.ino IS NOT NULL AND (" + outside("p", "i") + ")"},
		},
		database.KeptSymlink: {
			{"inode %d is no symbolic link, but has a target", goneInode + " OR i.ino IS NOT NULL AND (i.mode & 61440)<>40960"},
			{"inode %d has a target of another size", "i.size NOT BETWEEN length(p.target) AND length(CAST(p.target AS BLOB))"},
		},
		database.KeptNumber: {{"inode %d is not there, but has an origin", "i.ino IS NULL"}},
		database.KeptOrigin: {
			{"inode %d has an origin that cannot be", `i.ino IS NULL OR NOT EXISTS (SELECT 1 FROM fs_origin f WHERE f.delta_ino=p.ino)
				OR NOT EXISTS (SELECT 1 FROM main.art_base b WHERE b.id=p.base) OR p.data_limit NOT BETWEEN 0 AND iif((i.mode & 61440)=32768, i.size, 0)`},
		},
		database.KeptWhiteout: {{"a whiteout is in inode %d, which is no directory", "i.ino IS NULL OR (i.mode & 61440)<>16384"}},
		database.KeptXattr:    {{"inode %d is not there, but has an attribute", goneInode}},
		database.KeptBirth:    {{"inode %d is not there, but has a time of birth", goneInode}},
	}
	// What has not changed fits what the size was.
	wrongSize = broken{"inode %d has another size than its content, or its target", `NOT (h.there=1 AND p.size=h.size) AND CASE p.mode & 61440
		WHEN 32768 THEN EXISTS (SELECT 1 FROM fs_data c WHERE c.ino=p.ino AND c.chunk_index>=(min(p.size, ifnull(h.size, p.size))-1)/chunk_size()
				AND (` + outside("c", "p") + `))
			OR p.size<h.size AND EXISTS (SELECT 1 FROM art_origin o WHERE o.ino=p.ino AND o.data_limit>p.size)
		WHEN 40960 THEN NOT ` + fitting("p") + ` END`}
	linkWithoutTarget = broken{"symbolic link %d has no target", "(p.mode & 61440)=40960 AND NOT EXISTS (SELECT 1 FROM fs_symlink s WHERE s.ino=h.ino)"}
)

// goneInode is a condition: that the inode i of a row p is neither there nor in use.
const goneInode = "i.ino IS NULL AND NOT EXISTS (SELECT 1 FROM main.art_orphan o WHERE o.ino=p.ino)"

// outside is a condition: that a chunk is beyond the end of a file, or of another length than a file of that size has there.
func outside(chunk, inode string) string {
	return strings.NewReplacer("c.", chunk+".", "i.", inode+".").Replace(`c.chunk_index NOT BETWEEN 0 AND (i.size+chunk_size()-1)/chunk_size()-1
		OR octet_length(c.data)<>min(chunk_size(), i.size-c.chunk_index*chunk_size())`)
}

// fitting is a condition: that a symbolic link has a target of its size. Some programs count characters.
func fitting(inode string) string {
	return strings.ReplaceAll("EXISTS (SELECT 1 FROM fs_symlink s WHERE s.ino=i.ino AND i.size BETWEEN length(s.target) AND length(CAST(s.target AS BLOB)))", "i.", inode+".")
}

func cannotBe(k *database.Kept) broken {
	return broken{"a row of " + k.Table + " of inode %d cannot be", "p." + k.Key[0] + " IS NOT NULL AND (" + k.Bad("p.") + ")"}
}

// qLostName finds directories that do not have one name. Before, a directory had one if it was there. So it has one now, if as many have
// come as gone. Inodes above the last parameter were not there: history knows neither of them nor of names in them.
var qLostName = `WITH moved(ino, n) AS (
		SELECT p.ino, 1 ` + changedNames + ` AND NOT (h.there=1 AND h.ino IS p.ino)
		UNION ALL SELECT h.ino, -1 FROM art_old_dentry h LEFT JOIN fs_dentry p ON p.parent_ino=h.parent_ino AND p.name=h.name
			WHERE h.checkpoint=?1 AND h.there=1 AND p.ino IS NOT h.ino
		UNION ALL SELECT h.ino, iif(h.there=1 AND (h.mode & 61440)=16384, 1, 0) - iif((p.mode & 61440) IS 16384, 1, 0) ` + changedInodes + `
			AND (h.there=1 AND (h.mode & 61440)=16384) IS NOT ((p.mode & 61440) IS 16384)
		UNION ALL SELECT p.ino, 1 FROM main.fs_dentry p WHERE p.parent_ino>?3
		UNION ALL SELECT p.ino, -1 FROM main.fs_inode p WHERE p.ino>?3 AND (p.mode & 61440)=16384)
	SELECT ino FROM moved WHERE ino<>1 AND ino<=?2 AND ` + isDirNow("moved.ino") + ` GROUP BY ino HAVING sum(n)<>0 LIMIT 1`

// soundTree returns [ErrCorrupt] if the tree that was brought back makes no sense. The newest checkpoint is of the tree before. Inodes
// above the highest number of the other one are new, or none. Those above top have come, as by a merge.
func (w *writer) soundTree(to *Checkpoint, top Ino) error {
	if err := w.define(); err != nil {
		return err
	}
	changed, err := changedTables(w.conn, w.newest.ID, w.newest.ID)
	if err != nil {
		return err
	}
	moved := changed[database.KeptDentry]
	counts := moved
	for _, k := range database.Everything {
		if !changed[k] {
			continue
		}
		count := "0"
		from, rules := k.Old+" h JOIN "+k.Table+" p ON "+k.Equal("p", "h"), slices.Concat([]broken{cannotBe(k)}, brokenRows[k])
		switch k {
		case database.KeptInode:
			from, rules, count = strings.Replace(from, "JOIN", "LEFT JOIN", 1), brokenInodes, "sum("+remade+")"
			others, err := w.findBroken(to, k, from, brokenOrdinary, "0")
			if err != nil {
				return err
			}
			if !others.turned {
				continue
			}
		case database.KeptDentry:
			rules = brokenNames
		}
		if brokenRows[k] != nil { // what has come is a fork's own: below it there may be rows of inodes that it has deleted
			from = strings.Replace(from, "JOIN ", "JOIN main.", 1) + " LEFT JOIN fs_inode i ON i.ino=h." + k.Key[0]
		}
		found, err := w.findBroken(to, k, from, rules, count)
		if err == nil && k == database.KeptSymlink {
			_, err = w.findBroken(to, k, k.Old+" h JOIN fs_inode p ON p.ino=h.ino", []broken{linkWithoutTarget}, "0")
		}
		if err == nil && found.remade {
			counts = true
			_, err = w.findBroken(to, k, from, brokenTypes, "0")
		}
		if err != nil {
			return err
		}
		moved = moved || found.turned
	}
	if counts && top == MaxIno {
		if err := w.soundCounts(to); err != nil {
			return err
		}
	}
	if !moved && top == MaxIno {
		return nil
	}
	highest := to.maxIno
	if top < MaxIno {
		highest = MaxIno
	}
	lost, err := w.inodes(qLostName, w.newest.ID, highest, top)
	if err == nil && len(lost) > 0 {
		err = fmt.Errorf("%w: checkpoint %d: directory %d has lost its name, or has several", ErrCorrupt, to.ID, lost[0])
	}
	if err != nil {
		return err
	}
	return w.soundPlaces(to, top)
}

// soundCounts returns [ErrCorrupt] if a file that has another number of links than before, or another number of names, has not as many of
// both now. To count names, all of the tree's are looked at; so that is done only if one may have more or less than before.
func (w *writer) soundCounts(to *Checkpoint) error {
	wrong, err := w.inodes(qMiscounted+" LIMIT 1", w.newest.ID, MaxIno)
	if err == nil && len(wrong) > 0 {
		wrong, err = w.inodes(`WITH wrong(ino) AS MATERIALIZED (`+qMiscounted+`)
			SELECT w.ino FROM wrong w JOIN fs_inode i ON i.ino=w.ino
				LEFT JOIN (SELECT d.ino, count(*) AS n FROM fs_dentry d WHERE d.ino IN (SELECT ino FROM wrong) GROUP BY d.ino) d ON d.ino=w.ino
			WHERE i.nlink<>ifnull(d.n, 0) LIMIT 1`, w.newest.ID, MaxIno)
	}
	if err == nil && len(wrong) > 0 {
		err = fmt.Errorf("%w: checkpoint %d: inode %d has another number of links than of names", ErrCorrupt, to.ID, wrong[0])
	}
	return err
}

// define gives the connection the functions of conditions, once: to define them again would have all statements be prepared again.
func (w *writer) define() error {
	if w.functions {
		return nil
	}
	err := database.Functions(w.Conn, w.store.chunkSize)
	w.functions = err == nil
	return err
}

// changedInode tells what has become of inodes that have changed, and are sound.
type changedInode struct{ turned, remade bool }

// findBroken looks at all rows of a table that have changed, once, and returns [ErrCorrupt] if one of some rules says that one is
// broken. Of inodes it tells whether any has [turned], which is the last rule, and whether any is [remade], if that is what it counts.
func (w *writer) findBroken(to *Checkpoint, k *database.Kept, from string, rules []broken, count string) (found changedInode, err error) {
	which := "CASE"
	for i, b := range rules {
		which += fmt.Sprintf(" WHEN %s THEN %d", b.condition, i)
	}
	// The column in the middle is of the row that has the least (https://sqlite.org/lang_select.html#bareagg).
	q, _, err := w.Prepare("SELECT min(" + which + " END), h." + k.Key[0] + ", " + count + " FROM " + from + " WHERE h.checkpoint=?1")
	if err != nil {
		return found, fmt.Errorf("%w: %v", ErrCorrupt, err)
	}
	defer q.Close()
	bind(q, []any{w.newest.ID, to.maxIno}[:q.BindCount()]...)
	if !q.Step() {
		return found, q.Err()
	}
	found.remade = q.ColumnInt64(2) > 0
	if q.ColumnType(0) == sqlite3.NULL {
		return found, q.Err()
	}
	if b := rules[q.ColumnInt(0)]; b.text != turned {
		return found, fmt.Errorf("%w: checkpoint %d: "+b.text, ErrCorrupt, to.ID, q.ColumnInt64(1))
	}
	found.turned = true
	return found, nil
}

// soundPlaces looks for directories that have come below themselves. Each has one name.
func (w *writer) soundPlaces(to *Checkpoint, top Ino) error {
	placed, err := w.inodes("SELECT p.ino "+changedNames+" AND NOT (h.there=1 AND h.ino IS p.ino) AND "+isDirNow("p.ino")+
		" UNION ALL SELECT p.ino FROM main.fs_dentry p WHERE p.parent_ino>?2 AND "+isDirNow("p.ino"), w.newest.ID, top)
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
func (w *writer) inodes(query string, values ...any) (list []Ino, err error) {
	q := bind(w.Prep(query), values...)
	for w.Step(q) {
		list = append(list, Ino(q.ColumnInt64(0)))
	}
	return list, w.Done(q)
}
