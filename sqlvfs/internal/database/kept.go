package database

import (
	"fmt"
	"slices"
	"strings"
)

// Kept is a table of the tree of which earlier versions of rows are kept, by checkpoint. A table of its own has them:
// before a row first changes after a checkpoint, it is copied there under the checkpoint's number. So at a checkpoint a row
// was what the table Old has of the same checkpoint, or else of the next one that it has one of, or else what the row is now.
//
// A row of an inode that was made after the newest checkpoint is not copied, nor is it noted that it was not there: the number
// of the inode says so. The same holds for a name that leads to such an inode.
type Kept struct {
	Table, Old string
	Key        []string // the first is the number of an inode
	Values     []string
	Entry      bool // a name: its value is the number of an inode too
	Host       bool // it is of the host, and its key has no inode: all that changes is copied
	Apart      bool // a fork has all of its rows itself

	// Put copies a row before it is written, or notes that there is none. Parameters are the newest checkpoint's number, the
	// highest number of an inode then, and the key; of a name also the inode's number that it is to have, and of an inode
	// all that it is to have but its access time, in the order of the columns.
	Put string
	// Unconditional says that history knows of the row after Put, whatever it was and is to be.
	Unconditional bool
	// Delete copies a row before it is deleted. Parameters are the first of Put.
	Delete string
	// DeleteAll does so with the table's own rows of an inode that is deleted.
	DeleteAll string

	// Of a single row, with the key as parameters: HideRow hides it if it is below a fork, OwnRow copies it from there,
	// and DropRow deletes the table's own.
	HideRow, OwnRow, DropRow string

	// Of what a row was: PutOld writes it, with the columns of Old in their order as parameters; Pin are the statements by which Old has it
	// under the number of a checkpoint, whatever it has under later ones; and DropOld deletes it under the numbers from one up to another.
	// Parameters are the numbers, and the key.
	PutOld, DropOld string
	Pin             []string
}

// Tables of the tree with their history.
var (
	KeptInode = keep("fs_inode", "art_old_inode", "ino",
		"mode, nlink, uid, gid, size, atime, mtime, ctime, rdev, atime_nsec, mtime_nsec, ctime_nsec")
	KeptDentry   = keep("fs_dentry", "art_old_dentry", "parent_ino, name", "ino")
	KeptData     = keep("fs_data", "art_old_data", "ino, chunk_index", "data")
	KeptSymlink  = keep("fs_symlink", "art_old_symlink", "ino", "target")
	KeptNumber   = keep("fs_origin", "art_old_number", "delta_ino", "base_ino")
	KeptOrigin   = keep("art_origin", "art_old_origin", "ino", "base, path, dev, base_ino, size, mtime, mtime_nsec, ctime, ctime_nsec, data_limit, base_mode, hash, until")
	KeptWhiteout = keep("art_whiteout", "art_old_whiteout", "parent_ino, name", "")
	KeptXattr    = keep("art_xattr", "art_old_xattr", "ino, name", "value")
	// What it says of an inode never changes: only that it is deleted with the inode is kept.
	KeptBirth = keep("art_birth", "art_old_birth", "ino", "birth")

	// AllKept are all of them. Inodes come first: rows of the others mean nothing without one.
	AllKept = []*Kept{KeptInode, KeptDentry, KeptData, KeptSymlink, KeptNumber, KeptOrigin, KeptWhiteout, KeptXattr, KeptBirth}
)

// What the host and the tree have agreed on is kept like the tree, and restored with it: beside an older tree it would have what came from
// the host since look like what the guest has deleted. A row of art_old_baseline also says whether a pull has replaced, since its
// checkpoint, what the host had at the path.
var (
	KeptBaseline = ofHost("art_baseline", "art_old_baseline", "tree, path",
		"mode, dev, base_ino, size, mtime, mtime_nsec, ctime, ctime_nsec, hash, row, row_ctime, row_ctime_nsec")
	KeptWorkspace = ofHost("art_workspace", "art_old_workspace", "name", "path, fsid, dev, ino, birth, birth_nsec, whole")

	HostKept = []*Kept{KeptBaseline, KeptWorkspace}

	// Everything is what is kept of the tree and of the host.
	Everything = slices.Concat(AllKept, HostKept)
)

func ofHost(table, old, key, values string) *Kept {
	k := keep(table, old, key, values)
	k.Host = true
	if table == "art_workspace" {
		k.Apart = true
	}
	return k
}

// unlessAccess are the columns of an inode that are kept because they change.
var unlessAccess = []string{"mode", "nlink", "uid", "gid", "size", "mtime", "ctime", "rdev", "mtime_nsec", "ctime_nsec"}

func keep(table, old, key, values string) *Kept {
	k := &Kept{Table: table, Old: old, Key: strings.Split(key, ", "), Entry: table == "fs_dentry"}
	if values != "" {
		k.Values = strings.Split(values, ", ")
	}
	var params []string
	for i := range k.Key {
		params = append(params, fmt.Sprintf("?%d", i+3))
	}
	there, none := "p."+k.Key[0]+" IS NOT NULL", ""
	switch table {
	case "fs_dentry":
		there, none = "ifnull(p.ino<=?2, 0)", " AND (p.ino<=?2 OR ?5<=?2)"
	case "fs_inode": // who reads a file moves its access time, which alone is no change
		none = " AND (" + strings.Join(each("p.%s", unlessAccess), ", ") + ") IS NOT (" + strings.TrimSuffix(strings.Repeat("?, ", len(unlessAccess)), ", ") + ")"
	}
	if table == "fs_origin" { // which is written with every change of the origin
		none = " AND p.base_ino IS NOT ?4"
	}
	k.Unconditional = none == ""
	k.Put = fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM (SELECT 1) LEFT JOIN %s p ON %s WHERE NOT EXISTS (SELECT 1 FROM %s h WHERE %s AND h.checkpoint=?1)%s",
		old, k.columns(), list(params, "?1", there, each("p.%s", k.Values)...), table, equal("p", k.Key, params), old, equal("h", k.Key, params), none)
	k.Delete = k.DeleteRows(equal("p", k.Key, params))
	k.DeleteAll = k.DeleteOwn("p." + k.Key[0] + "=?3")
	var first []string
	for i := range k.Key {
		first = append(first, fmt.Sprintf("?%d", i+1))
	}
	k.HideRow = k.HideRows(equal("u", k.Key, first))
	k.OwnRow = fmt.Sprintf("INSERT OR IGNORE INTO main.%s (%s) SELECT %s FROM %[1]s p WHERE %[4]s", table, k.Rows(""), k.Rows("p."), equal("p", k.Key, first))
	k.DropRow = "DELETE FROM main." + table + " AS p WHERE " + equal("p", k.Key, first)
	k.remember()
	return k
}

// remember makes the statements that write what rows were.
func (k *Kept) remember() {
	var second, third []string
	for i := range k.Key {
		second, third = append(second, fmt.Sprintf("?%d", i+2)), append(third, fmt.Sprintf("?%d", i+3))
	}
	k.PutOld = fmt.Sprintf("INSERT INTO main.%s (%s) VALUES (?%s) ON CONFLICT (%s, checkpoint) DO UPDATE SET %s", // what else it says of the key stays
		k.Old, k.columns(), strings.Repeat(", ?", len(k.Key)+1+len(k.Values)), strings.Join(k.Key, ", "),
		strings.Join(each("%[1]s=excluded.%[1]s", append([]string{"there"}, k.Values...)), ", "))
	k.DropOld = fmt.Sprintf("DELETE FROM main.%s AS h WHERE %s AND h.checkpoint>=?1 AND h.checkpoint<?2", k.Old, equal("h", k.Key, third))
	key := equal("h", k.Key, second)
	k.Pin = []string{
		fmt.Sprintf("INSERT OR IGNORE INTO main.%[1]s (%[2]s) SELECT %[3]s FROM main.%[1]s h WHERE %[4]s AND h.checkpoint=(SELECT min(h.checkpoint) FROM main.%[1]s h WHERE %[4]s AND h.checkpoint>=?1)",
			k.Old, k.columns(), list(second, "?1", "h.there", each("h.%s", k.Values)...), key),
		fmt.Sprintf("INSERT OR IGNORE INTO main.%[1]s (%[2]s) SELECT %[3]s FROM (SELECT 1) LEFT JOIN %[4]s p ON %[5]s WHERE NOT EXISTS (SELECT 1 FROM main.%[1]s h WHERE %[6]s AND h.checkpoint>=?1)",
			k.Old, k.columns(), list(second, "?1", "p."+k.Key[0]+" IS NOT NULL", each("p.%s", k.Values)...), k.Table, equal("p", k.Key, second), key),
	}
}

// Cut is Delete for the content of a file from a chunk on.
var Cut = KeptData.DeleteRows("p.ino=?3 AND p.chunk_index>=?4")

// HideRows hides rows u of what is below a fork that a condition describes.
func (k *Kept) HideRows(condition string) string {
	second := "0"
	if len(k.Key) > 1 {
		second = "u." + k.Key[1]
	}
	return fmt.Sprintf("INSERT OR IGNORE INTO main.art_hidden SELECT '%s', u.%s, %s FROM under_%[1]s u WHERE %[4]s", k.Table, k.Key[0], second, condition)
}

// DeleteRows is Delete for rows p that a condition describes.
func (k *Kept) DeleteRows(condition string) string { return k.deleteRows(k.Table, condition) }

// DeleteOwn is DeleteRows for the table's own rows, whatever a fork has below it.
func (k *Kept) DeleteOwn(condition string) string { return k.deleteRows("main."+k.Table, condition) }

func (k *Kept) deleteRows(from, condition string) string {
	known := k.Known("p.", "?2")
	if k.Entry {
		known += " AND p.ino<=?2"
	}
	return fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s p WHERE %s AND %s AND NOT EXISTS (SELECT 1 FROM %s h WHERE %s AND h.checkpoint=?1)",
		k.Old, k.columns(), list(each("p.%s", k.Key), "?1", "1", each("p.%s", k.Values)...), from, condition, known,
		k.Old, equal("h", k.Key, each("p.%s", k.Key)))
}

// Known is a condition: that a row may be one that was there when no inode had a number above one.
func (k *Kept) Known(prefix, maxIno string) string {
	if k.Host {
		return maxIno + " IS NOT NULL"
	}
	return prefix + k.Key[0] + "<=" + maxIno
}

// Another is a condition: that a row of Old is not what one of Table with its key is, which may not be there. No inode that it leads to
// has a higher number than maxIno.
func (k *Kept) Another(old, now, maxIno string) string {
	there := "(" + old + ".there=1)"
	if k.Entry {
		there = "(" + old + ".there=1 AND " + old + ".ino<=" + maxIno + ")"
	}
	another := there + " <> (" + now + "." + k.Key[0] + " IS NOT NULL)"
	values := slices.DeleteFunc(slices.Clone(k.Values), func(c string) bool { return strings.HasPrefix(c, "atime") })
	if len(values) > 0 {
		another += " OR " + there + " AND (" + strings.Join(each(old+".%s", values), ", ") + ") IS NOT (" + strings.Join(each(now+".%s", values), ", ") + ")"
	}
	return another
}

// columns are those of Old, in the order in which they are written.
func (k *Kept) columns() string { return list(k.Key, "checkpoint", "there", k.Values...) }

// Rows are the columns of Table that are kept.
func (k *Kept) Rows(prefix string) string {
	return strings.Join(append(each(prefix+"%s", k.Key), each(prefix+"%s", k.Values)...), ", ")
}

// each formats each of some names.
func each(format string, names []string) (list []string) {
	for _, name := range names {
		list = append(list, fmt.Sprintf(format, name))
	}
	return list
}

func list(first []string, second, third string, rest ...string) string {
	return strings.Join(append(append(append([]string{}, first...), second, third), rest...), ", ")
}

// equal is a condition: that columns of a table have values.
func equal(table string, columns, values []string) string {
	var terms []string
	for i, c := range columns {
		terms = append(terms, table+"."+c+"="+values[i])
	}
	return strings.Join(terms, " AND ")
}

// Equal is a condition: that rows of two tables have the same key.
func (k *Kept) Equal(a, b string) string { return equal(a, k.Key, each(b+".%s", k.Key)) }

// PutAll is Put for the keys that a table holds.
func (k *Kept) PutAll(keys string) string {
	there := "p." + k.Key[0] + " IS NOT NULL"
	if k.Entry {
		there = "ifnull(p.ino<=?2, 0)"
	}
	return fmt.Sprintf("INSERT OR IGNORE INTO %s (%s) SELECT %s FROM %s t LEFT JOIN %s p ON %s WHERE %s",
		k.Old, k.columns(), list(each("t.%s", k.Key), "?1", there, each("p.%s", k.Values)...), keys, k.Table, equal("p", k.Key, each("t.%s", k.Key)), k.Known("t.", "?2"))
}

// Restoration are the statements that bring a table of the host's back to what it was at a checkpoint. Parameters are the number and the
// highest inode of the newest one, and the number of the one to go back to; only is a further condition of rows, and fork says that there
// is something below.
func (k *Kept) Restoration(only string, fork bool) []string {
	key := strings.Join(k.Key, ", ")
	const changed = "temp.agreed"
	hide := "SELECT 1"
	if fork && !k.Apart {
		hide = k.HideRows("(" + strings.Join(each("u.%s", k.Key), ", ") + ") IN (SELECT " + key + " FROM " + changed + ")")
	}
	return []string{
		"CREATE TEMP TABLE agreed (" + key + ", checkpoint, PRIMARY KEY (" + key + ")) WITHOUT ROWID",
		"INSERT INTO " + changed + " SELECT " + key + ", min(checkpoint) FROM " + k.Old + " WHERE checkpoint>=?3 AND checkpoint<=?1" + only + " GROUP BY " + key,
		k.PutAll(changed),
		hide,
		"DELETE FROM main." + k.Table + " WHERE (" + key + ") IN (SELECT " + key + " FROM " + changed + ")",
		"INSERT INTO main." + k.Table + " (" + k.Rows("") + ") SELECT " + k.Rows("h.") + " FROM " + changed + " t JOIN " + k.Old + " h ON " +
			k.Equal("h", "t") + " AND h.checkpoint=t.checkpoint WHERE h.there=1",
		"DROP TABLE " + changed,
	}
}
