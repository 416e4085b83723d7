package fsck

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/inode"
	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// salvager copies what can be read of a damaged database into a new one, table by table.
type salvager struct {
	from, to   *conn
	report     func(Finding)
	unreadable map[string]bool // tables of which something could not be read
	some       map[string]bool // tables of which something was copied
	births     bool            // there was a table art_birth
}

// maxForeign is the longest row of a table of others that is copied, in bytes. Of the tree's
// tables, longer ones than any that is written are nobody's but those of someone who means harm.
const maxForeign = 64 << 20

// maxProbes bounds the attempts to read something between unreadable pages of one table.
const maxProbes = 1 << 16

// run makes the tables in the new database and fills them. Those of others keep their schema, if it
// is nothing but a table's or an index's.
func (s *salvager) run() error {
	type object struct{ kind, name, sql string }
	var theirs []object
	err := database.ForRows(s.from.Conn, "SELECT type, name, sql FROM sqlite_schema WHERE sql NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'", func(q *sqlite3.Stmt) {
		theirs = append(theirs, object{q.ColumnText(0), q.ColumnText(1), q.ColumnText(2)})
	})
	if err := s.tolerate(err, "the schema"); err != nil {
		return err
	}
	has := func(table string) bool {
		return slices.ContainsFunc(theirs, func(o object) bool { return o.kind == "table" && strings.EqualFold(o.name, table) })
	}
	if has("art_parent") {
		return ErrFork
	}
	s.births = has("art_birth")
	// Tables first: they may be behind their indexes.
	slices.SortStableFunc(theirs, func(x, y object) int { return -cmp.Compare(x.kind, y.kind) })
	var tables []string
	for _, o := range theirs {
		if o.kind == "table" && !database.IsTreeTable(o.name) {
			if err := s.defineTable(o.name, o.sql); err != nil {
				s.lost("table %q: %v", o.name, err)
				continue
			}
			tables = append(tables, o.name)
		}
	}
	own := database.FormatTables + database.ArtTables
	for _, table := range []string{"art_fork", "art_flow", "art_process", "art_change", "art_released", "art_seal"} {
		if has(table) {
			own += database.WhenNeeded[table] + ";"
		}
	}
	if err := s.to.Exec(own); err != nil {
		return err
	}
	for _, table := range append(database.TreeTables, tables...) {
		if err := s.table(table); err != nil {
			return err
		}
	}
	if !s.some["fs_inode"] && !s.some["fs_dentry"] {
		return fmt.Errorf("%w: nothing of its tree can be read", database.ErrCorrupt) // an empty one would be no repair
	}
	ours := database.SchemaTexts()
	for _, o := range theirs {
		if o.kind == "index" && !slices.Contains(ours, o.sql) {
			if err := s.defineIndex(o.name, o.sql); err != nil {
				s.lost("index %q: %v", o.name, err)
			}
		}
	}
	return s.sequences()
}

func (s *salvager) lost(format string, args ...any) {
	s.report(Finding{Text: fmt.Sprintf(format, args...), Mended: "left out; the file that was repaired has it"})
}

// holes names the files that lost content, if any was lost: those with less than their size. What is
// not there reads as zeros, as the holes of sparse files do, which nothing tells apart.
func (s *salvager) holes() error {
	if !s.unreadable["fs_data"] {
		return nil
	}
	return database.ForRows(s.to.Conn, `SELECT i.ino, i.size, ifnull((SELECT sum(`+dataLength+`) FROM fs_data c WHERE c.ino = i.ino), 0) AS have
		FROM fs_inode i LEFT JOIN art_origin o ON o.ino = i.ino
		WHERE `+isRegular+` AND have < i.size AND ifnull(o.data_limit, 0) = 0`, func(q *sqlite3.Stmt) {
		s.report(Finding{Ino: int64(q.ColumnInt64(0)), Text: fmt.Sprintf("%d of %d bytes are not there", q.ColumnInt64(1)-q.ColumnInt64(2), q.ColumnInt64(1)),
			Mended: "zeros are in their place, which is as it should be in a sparse file"})
	})
}

// tolerate reports an error of the old database, and returns any other.
func (s *salvager) tolerate(err error, what string) error {
	if err != nil && isDamage(err) {
		s.lost("%s: %v", what, err)
		return nil
	}
	return err
}

// isDamage tells whether an error of a reading statement means that something cannot be read, and
// not that the work is to end. Out of memory is what a row leads to that claims to be huge.
func isDamage(err error) bool {
	for _, code := range []sqlite3.ErrorCode{sqlite3.CORRUPT, sqlite3.NOTADB, sqlite3.IOERR, sqlite3.TOOBIG, sqlite3.NOMEM, sqlite3.ERROR, sqlite3.FORMAT} {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}

// defineTable makes a table of the old database in the new one. A virtual column is computed when
// it is asked for, which nobody does; a stored one would be with every row.
func (s *salvager) defineTable(name, sql string) error {
	if err := s.define(sql, "CREATE TABLE "); err != nil {
		return err
	}
	stored, err := database.QueryInt(s.to.Conn, "SELECT count(*) FROM pragma_table_xinfo("+sqlite3.Quote(name)+") WHERE hidden = 3")
	if err != nil || stored == 0 {
		return err
	}
	return cmp.Or(s.to.Exec("DROP TABLE "+sqlite3.QuoteIdentifier(name)), errors.New("it has a computed column"))
}

// defineIndex makes an index of the old database in the new one, unless it has an expression or is
// a key of a table of the tree.
func (s *salvager) defineIndex(name, sql string) error {
	if err := s.define(sql, "CREATE INDEX ", "CREATE UNIQUE INDEX "); err != nil {
		return err
	}
	var table string
	wrong := false
	err := database.ForRows(s.to.Conn, `SELECT s.tbl_name, i."unique", i.partial OR EXISTS (SELECT 1 FROM pragma_index_xinfo(i.name) x WHERE x.cid = -2)
			OR EXISTS (SELECT 1 FROM pragma_table_xinfo(s.tbl_name) c WHERE c.hidden <> 0)
		FROM sqlite_schema s, pragma_index_list(s.tbl_name) i WHERE i.name = s.name AND s.name = `+sqlite3.Quote(name), func(q *sqlite3.Stmt) {
		table = q.ColumnText(0)
		wrong = q.ColumnBool(2) || q.ColumnBool(1) && database.IsTreeTable(table)
	})
	if err != nil || !wrong {
		return err
	}
	return cmp.Or(s.to.Exec("DROP INDEX "+sqlite3.QuoteIdentifier(name)), fmt.Errorf("it has an expression, or a key that table %q has not", table))
}

// define runs a statement of the old database's schema in the new one. It may be anything: only one
// of the right kind is run, and nothing is selected by it. Functions that an index calls would run
// for every row.
func (s *salvager) define(sql string, kinds ...string) error {
	if !slices.ContainsFunc(kinds, func(k string) bool { return strings.HasPrefix(strings.ToUpper(sql), k) }) {
		return errors.New("unexpected statement")
	}
	isIndex := kinds[0] != "CREATE TABLE "
	err := s.to.SetAuthorizer(func(action sqlite3.AuthorizerActionCode, _, _, _, _ string) sqlite3.AuthorizerReturnCode {
		if action == sqlite3.AUTH_SELECT || isIndex && action == sqlite3.AUTH_FUNCTION {
			return sqlite3.AUTH_DENY
		}
		return sqlite3.AUTH_OK
	})
	if err != nil {
		return err
	}
	defer s.to.SetAuthorizer(nil)
	q, tail, err := s.to.Prepare(sql)
	if err != nil {
		return err
	}
	defer q.Close()
	if strings.TrimSpace(tail) != "" {
		return errors.New("it is more than one statement")
	}
	return q.Exec()
}

// column is one that both databases have.
type column struct {
	name     string
	required bool // may not be NULL
}

// table copies a table's rows.
func (s *salvager) table(name string) error {
	there := map[string]bool{}
	err := database.ForRows(s.from.Conn, "SELECT lower(name) FROM pragma_table_xinfo("+sqlite3.Quote(name)+") WHERE hidden = 0", func(q *sqlite3.Stmt) {
		there[q.ColumnText(0)] = true
	})
	if err := s.tolerate(err, fmt.Sprintf("table %q", name)); err != nil || len(there) == 0 {
		return err
	}
	var columns []column
	var key []string // of a table without row numbers
	err = database.ForRows(s.to.Conn, `SELECT x.name, x."notnull", x.pk AND l.wr FROM pragma_table_xinfo(`+sqlite3.Quote(name)+`) x, pragma_table_list(`+sqlite3.Quote(name)+`) l
		WHERE x.hidden = 0 AND l.schema = 'main' ORDER BY x.pk`, func(q *sqlite3.Stmt) {
		c := column{q.ColumnText(0), q.ColumnBool(1)}
		if there[strings.ToLower(c.name)] {
			columns = append(columns, c)
			if q.ColumnBool(2) {
				key = append(key, sqlite3.QuoteIdentifier(c.name))
			}
		}
	})
	if err != nil || len(columns) == 0 {
		return err
	}
	if !database.IsTreeTable(name) {
		for _, c := range []*conn{s.from, s.to} {
			defer c.Limit(sqlite3.LIMIT_LENGTH, c.Limit(sqlite3.LIMIT_LENGTH, maxForeign))
		}
	}
	t := &tableCopy{salvager: s, name: name, columns: columns}
	t.insert = t.insertion()
	if len(key) > 0 {
		return t.byKey(strings.Join(key, ", "), strings.Join(key, " DESC, ")+" DESC")
	}
	return t.byNumber()
}

// sequences takes over up to where row numbers were given, so that none comes back.
func (s *salvager) sequences() error {
	type sequence struct {
		table string
		last  int64
	}
	var list []sequence
	err := database.ForRows(s.from.Conn, "SELECT name, seq FROM sqlite_sequence", func(q *sqlite3.Stmt) {
		list = append(list, sequence{q.ColumnText(0), q.ColumnInt64(1)})
	})
	if err != nil && isDamage(err) { // there may be none
		err = nil
	}
	for _, l := range list {
		// The largest number there is would leave none to give.
		if err != nil || l.last == math.MaxInt64 || strings.EqualFold(l.table, "fs_inode") && l.last >= inode.MaxIno {
			continue
		}
		q := s.to.Prep(`INSERT INTO sqlite_sequence (name, seq) SELECT ?1, 0 WHERE ?1 NOT IN (SELECT name FROM sqlite_sequence)
			AND ?1 IN (SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%')`)
		q.BindText(1, l.table)
		if err = s.to.Run(q); err != nil {
			break
		}
		q = s.to.Prep("UPDATE sqlite_sequence SET seq = max(seq, ?2) WHERE name = ?1")
		q.BindText(1, l.table)
		q.BindInt64(2, l.last)
		err = s.to.Run(q)
	}
	return err
}
