// Package fsck checks a database of package sqlvfs as fsck(8) does a file system, and repairs it.
package fsck

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// conn is a connection with its prepared statements.
type conn = database.Conn

// Finding is a violation of the format's rules.
type Finding struct {
	Ino    int64  // the inode that it is about; 0 when it is about none
	Text   string // one line; names in it are quoted
	Mended string // what was done about it; "" by Check

	ofTree bool // a rule's
}

// Check reads a database and returns every violation of the rules that a tree in it must keep:
// those of SQLite, of the Agent Filesystem format, and of the art_ tables (rules.go lists
// them). Nothing is changed, and a session may be running: what its last commit left is checked.
// The error says that the file cannot be checked at all: it cannot be read, or is refused as by
// sqlvfs.Open.
func Check(path string) (_ []Finding, err error) {
	defer database.CatchOutOfMemory(&err)
	if _, err := database.Inspect(path, true, false); err != nil {
		return nil, err
	}
	c, err := database.ConnectReadOnly(path, database.HostFiles)
	if err != nil {
		return nil, database.Explain(err)
	}
	defer c.Close()
	return CheckConn(c)
}

// CheckConn is Check of a connection that only reads.
func CheckConn(c *database.Conn) ([]Finding, error) {
	// What a query gathers of a large tree does not fit in memory.
	if err := c.Exec("PRAGMA temp_store=FILE"); err != nil {
		return nil, err
	}
	k := &checker{conn: c}
	err := k.overlay()
	if err == nil {
		err = k.check()
	}
	err = database.Explain(err)
	// Damage that stops a query is what was looked for, not a reason to give up what was found.
	if errors.Is(err, database.ErrCorrupt) {
		k.add(0, "%v", err)
		err = nil
	}
	return k.findings, err
}

type checker struct {
	*conn
	chunkSize int64
	findings  []Finding
}

func (k *checker) add(ino int64, format string, args ...any) {
	k.findings = append(k.findings, Finding{Ino: ino, Text: fmt.Sprintf(format, args...)})
}

// overlay has the connection read what a fork has of its parent too, so that the rules are asked of the tree that it shows. Of an inode
// that a fork has deleted, rows below it stay.
func (k *checker) overlay() error {
	stack, err := database.Descend(k.Conn)
	if err == nil && stack.Forked() {
		stack.Layers[0].Living = true
		err = stack.Overlay(k.conn)
	}
	return err
}

func (k *checker) check() error {
	// One transaction: all queries see the same commit.
	if err := k.Exec("BEGIN"); err != nil {
		return err
	}
	app, version, err := database.Marks(k.Conn)
	if err != nil {
		return err
	}
	if err := k.missing(app, version); err != nil {
		return err
	}
	deviations, _, err := database.Deviations(k.Conn)
	if err != nil {
		return err
	}
	for _, d := range deviations {
		if d.Runs == "" || !d.Harmless { // others may have computed columns in tables of their own
			k.add(0, "%s", d.Text)
		}
	}
	if err := k.integrity(deviations); err != nil {
		return err
	}
	if mode, err := database.PragmaInt(k.Conn, "auto_vacuum"); err != nil {
		return err
	} else if mode != 0 {
		k.add(0, "the file has a pointer map (auto_vacuum), which other tools of the format do not maintain and leave damaged")
	}
	if k.chunkSize, err = database.ReadChunkSize(k.Conn); err != nil {
		return err
	}
	if err := database.Functions(k.Conn, k.chunkSize); err != nil {
		return err
	}
	// query_only, which connectReadOnly sets, refuses temporary tables too.
	if err := k.Exec("PRAGMA query_only=OFF"); err != nil {
		return err
	}
	defer k.Exec("PRAGMA query_only=ON")
	if err := k.standIns(); err != nil {
		return err
	}
	for _, r := range slices.Concat(rules, historyRules) {
		if err := k.apply(r); err != nil {
			return err
		}
	}
	return nil
}

// missing looks for tables that are not there.
func (k *checker) missing(app, version int64) error {
	there := map[string]bool{}
	err := database.ForRows(k.Conn, "SELECT lower(name) FROM sqlite_schema", func(q *sqlite3.Stmt) { there[q.ColumnText(0)] = true })
	for _, table := range database.TreeTables {
		// marks has seen to it that those are there without which a database is not one of the format.
		if _, may := database.WhenNeeded[table]; !there[table] && !may && app == database.ApplicationID && version >= database.Since[table] {
			k.add(0, "there is no table %q", table)
		}
	}
	return err
}

// integrity asks SQLite for its own opinion. That evaluates expressions of indexes and computed
// columns; tables that have some are left out.
func (k *checker) integrity(list []database.Deviation) error {
	runs := map[string]bool{}
	for _, d := range list {
		if d.Runs != "" {
			runs[d.Runs] = true
		}
	}
	if len(runs) == 0 {
		return k.integrityOf("")
	}
	var tables []string
	err := database.ForRows(k.Conn, "SELECT name FROM sqlite_schema WHERE type='table'", func(q *sqlite3.Stmt) {
		if name := q.ColumnText(0); !runs[name] {
			tables = append(tables, name)
		}
	})
	for _, name := range tables {
		if err == nil {
			err = k.integrityOf("(" + sqlite3.Quote(name) + ")")
		}
	}
	return err
}

func (k *checker) integrityOf(table string) error {
	return database.ForRows(k.Conn, "PRAGMA main.integrity_check"+table, func(q *sqlite3.Stmt) {
		if text := q.ColumnText(0); text != "ok" {
			k.add(0, "integrity check: %q", text) // it may hold names from the file
		}
	})
}

// standIns makes empty temporary tables for those that a database of the format, which art has not
// written to, one of an older layout, or one without forks may lack; so the rules can ask without asking what there is.
func (k *checker) standIns() error {
	tables := map[string]string{
		"fs_symlink":     "ino, target",
		"fs_origin":      "delta_ino, base_ino",
		"art_base":       "id, name",
		"art_tree":       "id, name",
		"art_baseline":   "tree, path, row",
		"art_origin":     "ino, base, path, dev, base_ino, size, mtime, mtime_nsec, ctime, ctime_nsec, data_limit",
		"art_whiteout":   "parent_ino, name",
		"art_orphan":     "ino",
		"art_xattr":      "ino, name, value",
		"art_birth":      "ino, birth",
		"art_fork":       "secret, checkpoint, path",
		"art_flow":       "id, session, number, began, began_nsec, ended_nsec, denied, sent, received, times",
		"art_process":    "id, session, parent, pid, argv, cut, dir, started, started_nsec, ended, ended_nsec, exit_code",
		"art_change":     "ino, checkpoint, process, parent_ino, name, what, first, last",
		"art_released":   "parent_ino, name, checkpoint, ino, ino_ctime, ino_ctime_nsec, mode, dev, base_ino, size, mtime, mtime_nsec, ctime, ctime_nsec",
		"art_seal":       "id, session, made, made_nsec, previous, digests, digest, hash",
		"art_checkpoint": "id, made, made_nsec, kind, label, session, max_ino, restored, redo",
	}
	for _, t := range database.Everything {
		tables[t.Old] = strings.Join(append(append([]string{}, t.Key...), "checkpoint", "there"), ", ")
		if len(t.Values) > 0 {
			tables[t.Old] += ", " + strings.Join(t.Values, ", ")
		}
	}
	for name, columns := range tables {
		n, err := database.QueryInt(k.Conn, "SELECT count(*) FROM sqlite_schema WHERE type='table' AND name='"+name+"'")
		if err != nil {
			return err
		}
		if n == 0 {
			if err := k.Exec("CREATE TEMP TABLE " + name + " (" + columns + ")"); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxText is how much of a name or a target a finding tells, in bytes.
const maxText = 2 * database.NameMax

// apply adds a finding for each row that a rule's query yields.
func (k *checker) apply(r rule) error {
	q, _, err := k.Prepare(r.query)
	if err != nil {
		return fmt.Errorf("%w: %v", database.ErrCorrupt, err)
	}
	defer q.Close()
	for q.Step() {
		var args []any
		for i := 1; i < q.ColumnCount(); i++ {
			if q.ColumnType(i) == sqlite3.INTEGER {
				args = append(args, q.ColumnInt64(i))
			} else {
				text := q.ColumnRawBlob(i)
				args = append(args, string(text[:min(len(text), maxText)]))
			}
		}
		k.add(int64(q.ColumnInt64(0)), r.text, args...)
		k.findings[len(k.findings)-1].ofTree = true
	}
	return q.Err()
}
