package database

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"
)

// TreeTables are the tables that a tree is made of, which are read and written here. What others
// keep in the same file is theirs.
var TreeTables = []string{
	"fs_config", "fs_inode", "fs_dentry", "fs_data", "fs_symlink", "fs_whiteout", "fs_origin",
	"art_base", "art_origin", "art_whiteout", "art_orphan", "art_xattr",
	"art_tree", "art_baseline", "art_workspace", "art_session", "art_journal", "art_birth",
	"art_checkpoint", "art_old_inode", "art_old_dentry", "art_old_data", "art_old_symlink", "art_old_number", "art_old_origin", "art_old_whiteout", "art_old_xattr", "art_old_birth",
	"art_old_baseline", "art_old_workspace",
	"art_fork", "art_parent", "art_hidden",
	"art_flow", "art_process", "art_change", "art_released", "art_seal",
}

// Since says with which layout of ours a table or a column came, if not with the first.
var Since = map[string]int64{
	"art_xattr": 2,
	"art_tree":  3, "art_baseline": 3, "art_origin.base_mode": 3,
	"art_workspace": 4, "art_origin.hash": 4, "art_origin.until": 4, "art_session": 4, "art_journal": 4,
	"art_birth":      5,
	"art_checkpoint": 6, "art_old_inode": 6, "art_old_dentry": 6, "art_old_data": 6, "art_old_symlink": 6, "art_old_number": 6, "art_old_origin": 6, "art_old_whiteout": 6, "art_old_xattr": 6, "art_old_birth": 6,
	"art_old_baseline": 7, "art_old_workspace": 7,
	"art_fork": 8, "art_parent": 8, "art_hidden": 8,
	"art_flow":    9,
	"art_process": 10, "art_change": 10, "art_released": 10, "art_seal": 10,
}

// Deviation is what a schema has that the format has not, or lacks that it has.
type Deviation struct {
	Text string
	// table that cannot be looked into without running an expression of the schema's author; "" if
	// it is not that.
	Runs string
	// Harmless: the tree can be read and written all the same.
	Harmless bool
}

// Deviations compares a database's schema with the format's. It runs nothing that the schema says. Of a connection to a fork, which has
// views of the tables' names (see [Stack.Overlay]), it is that of the fork's own file.
func Deviations(c *sqlite3.Conn) (list []Deviation, whole bool, err error) {
	add := func(d Deviation) { list = append(list, d) }
	err = ForRows(c, "PRAGMA encoding", func(q *sqlite3.Stmt) {
		if e := q.ColumnText(0); e != "UTF-8" {
			add(Deviation{Text: fmt.Sprintf("text is kept as %s, which has no room for names that are no Unicode", e)})
		}
	})
	if err != nil {
		return nil, false, err
	}
	known, whole, err := familiar(c)
	if err != nil || known {
		return list, whole, err
	}
	err = ForRows(c, `SELECT type, name FROM sqlite_schema
		WHERE NOT (type = 'table' AND sql LIKE 'CREATE TABLE %' OR type = 'index' AND (sql IS NULL OR sql LIKE 'CREATE INDEX %' OR sql LIKE 'CREATE UNIQUE INDEX %'))`, func(q *sqlite3.Stmt) {
		kind := q.ColumnText(0)
		if kind == "table" {
			kind = "virtual table"
		}
		add(Deviation{Text: fmt.Sprintf("there is a %s %q, which this format has not", kind, q.ColumnRawText(1))})
	})
	if err != nil {
		return nil, false, err
	}
	err = ForRows(c, `SELECT t.name, x.name FROM sqlite_schema t, pragma_table_xinfo(t.name, 'main') x
		WHERE `+isTable+` AND x.hidden <> 0`, func(q *sqlite3.Stmt) {
		add(Deviation{Text: fmt.Sprintf("column %q of table %q is computed", q.ColumnRawText(1), q.ColumnRawText(0)),
			Runs: q.ColumnText(0), Harmless: !IsTreeTable(q.ColumnText(0))})
	})
	if err != nil {
		return nil, false, err
	}
	err = ForRows(c, `SELECT DISTINCT t.name, i.name FROM sqlite_schema t, pragma_index_list(t.name, 'main') i
		WHERE `+isTable+` AND (i.partial OR EXISTS (SELECT 1 FROM pragma_index_xinfo(i.name, 'main') x WHERE x.cid = -2))`, func(q *sqlite3.Stmt) {
		add(Deviation{Text: fmt.Sprintf("index %q of table %q has an expression", q.ColumnRawText(1), q.ColumnRawText(0)),
			Runs: q.ColumnText(0), Harmless: !IsTreeTable(q.ColumnText(0))})
	})
	if err != nil {
		return nil, false, err
	}
	columns, err := compareColumns(c)
	return append(list, columns...), false, err
}

// isTable leaves out virtual tables, which a pragma would Connect to their modules.
const isTable = "t.type = 'table' AND t.sql LIKE 'CREATE TABLE %'"

func IsTreeTable(name string) bool {
	return slices.ContainsFunc(TreeTables, func(t string) bool { return strings.EqualFold(t, name) })
}

// familiar tells whether a schema is, word for word, what this package writes, and whether all of
// that is there that every database has. That is cheap to see, and spares nearly every database the comparison.
func familiar(c *sqlite3.Conn) (known, whole bool, err error) {
	texts := map[string]bool{"": true, "CREATE TABLE sqlite_sequence(name,seq)": true}
	missing := map[string]bool{}
	for _, text := range SchemaTexts() {
		texts[text], missing[text] = true, true
	}
	for _, text := range WhenNeeded {
		texts[text] = true
	}
	known = true
	err = ForRows(c, "SELECT sql, type FROM sqlite_schema", func(q *sqlite3.Stmt) {
		text := q.ColumnText(0)
		known = known && texts[text] && (q.ColumnText(1) == "table" || q.ColumnText(1) == "index")
		delete(missing, text)
	})
	return known, known && len(missing) == 0, err
}

// SchemaTexts returns what sqlite_schema holds of the tables that all databases have: statements
// without IF NOT EXISTS, and with columns that were added before their last parenthesis
// (https://sqlite.org/schematab.html).
func SchemaTexts() []string {
	var texts []string
	for _, s := range strings.Split(FormatTables+ArtTables, ";\n") {
		s = strings.Replace(strings.TrimSpace(s), " IF NOT EXISTS", "", 1)
		rest, isAlter := strings.CutPrefix(s, "ALTER TABLE ")
		if !isAlter {
			texts = append(texts, s)
			continue
		}
		table, column, _ := strings.Cut(rest, " ADD COLUMN ")
		for i, t := range texts {
			if strings.HasPrefix(t, "CREATE TABLE "+table+" ") {
				texts[i] = strings.TrimSuffix(t, ")") + ", " + column + ")"
			}
		}
	}
	return texts
}

// compareColumns compares the columns and keys of the tree's tables with those of tables that this
// package has just made. A table that is not there at all is no Deviation.
func compareColumns(c *sqlite3.Conn) ([]Deviation, error) {
	model, err := sqlite3.OpenFlags(":memory:", sqlite3.OPEN_READWRITE|sqlite3.OPEN_MEMORY)
	if err != nil {
		return nil, err
	}
	defer model.Close()
	if err := model.Exec(FormatTables + ArtTables + strings.Join(slices.Collect(maps.Values(WhenNeeded)), ";")); err != nil {
		return nil, err
	}
	version, err := PragmaInt(c, "user_version")
	if err != nil {
		return nil, err
	}
	var list []Deviation
	for _, table := range TreeTables {
		have, err := columnsOf(c, table)
		if err != nil {
			return nil, err
		}
		want, err := columnsOf(model, table)
		if err != nil {
			return nil, err
		}
		if len(have) == 0 {
			continue
		}
		for name := range want {
			// One widely used writer of the format has no parent_path.
			if _, ok := have[name]; !ok && name != "parent_path" && version >= Since[table+"."+name] {
				list = append(list, Deviation{Text: fmt.Sprintf("table %q has no column %q", table, name)})
			}
		}
		for name, required := range have {
			if _, ok := want[name]; !ok {
				list = append(list, Deviation{Text: fmt.Sprintf("table %q has a column %q, which this format has not", table, name), Harmless: !required})
			}
		}
		haveKeys, err := keysOf(c, table)
		if err != nil {
			return nil, err
		}
		wantKeys, err := keysOf(model, table)
		if err != nil {
			return nil, err
		}
		for key := range wantKeys {
			if !haveKeys[key] {
				list = append(list, Deviation{Text: fmt.Sprintf("table %q may hold the same %s twice", table, key)})
			}
		}
		for key := range haveKeys {
			if !wantKeys[key] {
				list = append(list, Deviation{Text: fmt.Sprintf("table %q may not hold the same %s twice", table, key)})
			}
		}
	}
	slices.SortFunc(list, func(x, y Deviation) int { return strings.Compare(x.Text, y.Text) })
	return list, nil
}

// columnsOf returns a table's columns, and for each whether a row cannot be written without it.
func columnsOf(c *sqlite3.Conn, table string) (map[string]bool, error) {
	columns := map[string]bool{}
	err := ForRows(c, `SELECT name, "notnull" AND dflt_value IS NULL AND NOT pk FROM pragma_table_xinfo('`+table+`', 'main')`, func(q *sqlite3.Stmt) {
		columns[strings.ToLower(q.ColumnText(0))] = q.ColumnBool(1)
	})
	return columns, err
}

// keysOf returns what a table has one row of at most, as lists of columns.
func keysOf(c *sqlite3.Conn, table string) (map[string]bool, error) {
	keys := map[string]bool{}
	// The first is the key of an ordinary table that is the row's number.
	err := ForRows(c, `SELECT lower(name) FROM pragma_table_xinfo('`+table+`', 'main') WHERE pk AND upper(type) = 'INTEGER'
			AND (SELECT count(*) FROM pragma_table_xinfo('`+table+`', 'main') WHERE pk) = 1
		UNION SELECT group_concat(lower(x.name) || CASE WHEN x.coll = 'BINARY' THEN '' ELSE ' (' || x.coll || ')' END, ', ' ORDER BY x.seqno)
			FROM pragma_index_list('`+table+`', 'main') i, pragma_index_xinfo(i.name, 'main') x WHERE i."unique" AND x.key GROUP BY i.name`, func(q *sqlite3.Stmt) {
		keys[q.ColumnText(0)] = true
	})
	return keys, err
}
