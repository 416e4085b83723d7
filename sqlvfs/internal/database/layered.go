package database

import (
	"fmt"
	"slices"
	"strings"
)

// Layer is a database whose rows a connection reads: its own first, the main one, and below it, if that is a fork, the one that it
// was forked from, and so on. Each shows, through those above it, what its rows were at one of its checkpoints.
type Layer struct {
	Schema     string // that the connection knows it by
	Checkpoint int64  // that it shows; 0: the present
	MaxIno     int64  // the highest number of an inode then
	Living     bool   // of what is below it, it shows no rows of an inode that is not there
}

// rows is a query of the rows of a table that the first of some layers shows.
func (k *Kept) rows(layers []Layer) string {
	if l := &layers[0]; l.Checkpoint != 0 {
		return k.at(l, k.present(layers))
	}
	return "SELECT " + k.Rows("p.") + " FROM " + k.present(layers) + " p"
}

// present is a table, or a query in parentheses, of the rows that the first layer has now: those in its own table, and of what is
// below those that have no row of the same key there, and are not hidden.
func (k *Kept) present(layers []Layer) string {
	table := layers[0].Schema + "." + k.Table
	if len(layers) == 1 || k.Apart {
		return table
	}
	living := ""
	if layers[0].Living && !k.Host && k != KeptInode {
		living = " AND EXISTS (SELECT 1 FROM fs_inode i WHERE i.ino=u." + k.Key[0] + ")"
	}
	return fmt.Sprintf("(SELECT %s FROM %s p UNION ALL SELECT %s FROM (%s) u WHERE NOT EXISTS (SELECT 1 FROM %s x WHERE %s) AND NOT %s%s)",
		k.Rows("p."), table, k.Rows("u."), k.rows(layers[1:]), table, k.Equal("x", "u"), k.hidden(layers[0].Schema), living)
}

// hidden is a condition: that a layer hides a row u of what is below it.
func (k *Kept) hidden(schema string) string {
	second := "0"
	if len(k.Key) > 1 {
		second = "+u." + k.Key[1] // + takes the affinity away, which art_hidden has none of: it is found by its whole key
	}
	return fmt.Sprintf("EXISTS (SELECT 1 FROM %s.art_hidden h WHERE h.of_table='%s' AND h.key1=u.%s AND h.key2=%s)", schema, k.Table, k.Key[0], second)
}

// at is a query of the rows that a table had at a layer's checkpoint. Other conditions that are put on it become ones of the rows
// that are there now, and of those that were.
func (k *Kept) at(l *Layer, present string) string {
	now, then := "", ""
	if !k.Host {
		now, then = fmt.Sprintf("p.%s<=%d AND ", k.Key[0], l.MaxIno), fmt.Sprintf("h.%s<=%d AND ", k.Key[0], l.MaxIno)
	}
	if k.Entry {
		now += fmt.Sprintf("p.ino<=%d AND ", l.MaxIno)
		then += fmt.Sprintf("h.ino<=%d AND ", l.MaxIno)
	}
	return fmt.Sprintf(`SELECT %[1]s FROM %[2]s p WHERE %[3]sNOT EXISTS (SELECT 1 FROM %[4]s h WHERE %[5]s AND h.checkpoint>=%[6]d)
UNION ALL SELECT %[7]s FROM %[4]s h WHERE h.there=1 AND %[8]sh.checkpoint=(SELECT min(x.checkpoint) FROM %[4]s x WHERE %[9]s AND x.checkpoint>=%[6]d)`,
		k.Rows("p."), present, now, l.Schema+"."+k.Old, equal("h", k.Key, each("p.%s", k.Key)), l.Checkpoint,
		k.Rows("h."), then, equal("x", k.Key, each("h.%s", k.Key)))
}

// ViewsOf has a connection read what layers show: temporary views take the place of the tables, for all statements that are prepared
// afterwards. What is written goes to the tables by their full names. With layers below the first, views of what these show of some tables
// have names that begin with under_.
func ViewsOf(layers []Layer, under ...*Kept) string {
	var b strings.Builder
	view := func(name string, k *Kept, layers []Layer) {
		fmt.Fprintf(&b, "CREATE TEMP VIEW %s AS %s;\n", name, k.rows(layers))
	}
	for _, k := range Everything {
		top := slices.Clone(layers)
		if k.Apart { // where workspaces are does not depend on what is shown of the tree
			top[0].Checkpoint = 0
		}
		if len(layers) > 1 && slices.Contains(under, k) {
			view("under_"+k.Table, k, layers[1:])
		}
		if len(layers) > 1 && !k.Apart || top[0].Checkpoint != 0 {
			view(k.Table, k, top)
		}
	}
	return b.String()
}

// Independence are the statements that give a fork its own copies of the rows below it, inodes first. Rows of an inode that is not there
// any more are what they were when it was deleted: history has them, if it has the inode, and nothing else of them from then on.
func (k *Kept) Independence() []string {
	below := fmt.Sprintf("FROM under_%s u WHERE NOT EXISTS (SELECT 1 FROM main.%s x WHERE %s) AND NOT %s",
		k.Table, k.Table, k.Equal("x", "u"), k.hidden("main"))
	ino := "u." + k.Key[0]
	there := " AND EXISTS (SELECT 1 FROM main.fs_inode i WHERE i.ino=" + ino + ")"
	rows := fmt.Sprintf("INSERT INTO main.%s (%s) SELECT %s %s", k.Table, k.Rows(""), k.Rows("u."), below)
	if k.Host || k == KeptInode {
		return []string{rows}
	}
	deleted := "(SELECT max(i.checkpoint) FROM main.art_old_inode i WHERE i.there=1 AND i.ino=" + ino + ")"
	history := fmt.Sprintf("INSERT INTO main.%[1]s (%[2]s) SELECT %[3]s %[4]s AND NOT %[5]s AND %[6]s IS NOT NULL AND NOT EXISTS (SELECT 1 FROM main.%[1]s o WHERE %[7]s AND o.checkpoint>=%[6]s)",
		k.Old, k.columns(), list(each("u.%s", k.Key), deleted, "1", each("u.%s", k.Values)...), below, there[len(" AND "):], deleted, k.Equal("o", "u"))
	return []string{history, rows + there}
}
