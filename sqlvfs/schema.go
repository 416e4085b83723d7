package sqlvfs

import (
	"fmt"
	"strconv"

	"github.com/ncruces/go-sqlite3"
)

const (
	// ApplicationID marks a database as art's in SQLite's header ("art1" in ASCII).
	ApplicationID = 0x61727431
	// SchemaVersion is the newest layout of the art_ tables, kept in SQLite's user_version.
	SchemaVersion = 4
	// FormatVersion is the version of the Agent Filesystem format that is written.
	FormatVersion = "0.4"

	// DefaultChunkSize is the size of a row of file content in new databases, in bytes. Larger
	// chunks stream faster, smaller ones make a changed byte of a large file cheaper.
	DefaultChunkSize = 64 << 10
	maxChunkSize     = 16 << 20

	// pageSize of new databases, in bytes: rows of content are the slowest part of the chain,
	// and large pages carry them with less overhead than the 4 KiB default.
	pageSize = 16 << 10
)

// formatTables are the Agent Filesystem format's own, column for column. Readers of that format
// expect nothing else of them, but for tool_calls: the SDKs write calls down when they begin, and so
// need a status, and no NOT NULL where there is no result yet.
//
// Inode numbers grow (AUTOINCREMENT): other tools do not know our tables and leave rows of them
// behind when they delete an inode. A number that came back would find these, and a new directory
// show what the deleted one had shown.
const formatTables = `
CREATE TABLE IF NOT EXISTS fs_config (
	key TEXT PRIMARY KEY,
	value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS fs_inode (
	ino INTEGER PRIMARY KEY AUTOINCREMENT,
	mode INTEGER NOT NULL,
	nlink INTEGER NOT NULL DEFAULT 0,
	uid INTEGER NOT NULL DEFAULT 0,
	gid INTEGER NOT NULL DEFAULT 0,
	size INTEGER NOT NULL DEFAULT 0,
	atime INTEGER NOT NULL,
	mtime INTEGER NOT NULL,
	ctime INTEGER NOT NULL,
	rdev INTEGER NOT NULL DEFAULT 0,
	atime_nsec INTEGER NOT NULL DEFAULT 0,
	mtime_nsec INTEGER NOT NULL DEFAULT 0,
	ctime_nsec INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS fs_dentry (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL,
	parent_ino INTEGER NOT NULL,
	ino INTEGER NOT NULL,
	UNIQUE (parent_ino, name));
CREATE TABLE IF NOT EXISTS fs_data (
	ino INTEGER NOT NULL,
	chunk_index INTEGER NOT NULL,
	data BLOB NOT NULL,
	PRIMARY KEY (ino, chunk_index));
CREATE TABLE IF NOT EXISTS fs_symlink (
	ino INTEGER PRIMARY KEY,
	target TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS fs_whiteout (
	path TEXT PRIMARY KEY,
	parent_path TEXT NOT NULL,
	created_at INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS fs_origin (
	delta_ino INTEGER PRIMARY KEY,
	base_ino INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS kv_store (
	key TEXT PRIMARY KEY,
	value TEXT NOT NULL,
	created_at INTEGER DEFAULT (unixepoch()),
	updated_at INTEGER DEFAULT (unixepoch()));
CREATE TABLE IF NOT EXISTS tool_calls (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	name TEXT NOT NULL,
	parameters TEXT,
	result TEXT,
	error TEXT,
	status TEXT NOT NULL DEFAULT 'pending',
	started_at INTEGER NOT NULL,
	completed_at INTEGER,
	duration_ms INTEGER);
`

// artTables are ours.
//
// A whiteout belongs to a directory, not to a path as in fs_whiteout: so it moves with the
// directory when that, or one above it, is renamed, without a row being touched.
//
// art_origin says which object of which host tree supplies what the inode does not hold itself,
// and how that object looked then. data_limit is where the host's content ends to show through.
const artTables = `
CREATE TABLE art_base (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE);
CREATE TABLE art_origin (
	ino INTEGER PRIMARY KEY,
	base INTEGER NOT NULL,
	path BLOB NOT NULL,
	dev INTEGER NOT NULL,
	base_ino INTEGER NOT NULL,
	size INTEGER NOT NULL,
	mtime INTEGER NOT NULL,
	mtime_nsec INTEGER NOT NULL,
	ctime INTEGER NOT NULL,
	ctime_nsec INTEGER NOT NULL,
	data_limit INTEGER NOT NULL);
CREATE TABLE art_whiteout (
	parent_ino INTEGER NOT NULL,
	name TEXT NOT NULL,
	PRIMARY KEY (parent_ino, name)) WITHOUT ROWID;
CREATE TABLE art_orphan (
	ino INTEGER PRIMARY KEY);
CREATE INDEX IF NOT EXISTS art_origin_number ON fs_origin (base_ino);
` + xattrTable + baselineTables + layout4Tables

// xattrTable came with layout 2. An inode of the delta has the extended attributes that are here,
// and no others: those of an origin are copied with it.
const xattrTable = `
CREATE TABLE art_xattr (
	ino INTEGER NOT NULL,
	name TEXT NOT NULL,
	value BLOB NOT NULL,
	PRIMARY KEY (ino, name));
`

// baselineTables came with layout 3. art_baseline remembers what the host's object at a path of a
// workspace was when the tree here and the host's agreed, or when the tree last showed it; row and
// row_ctime are the inode that agreed with it, and its change time then. A directory of the host is
// known by its number and the moment it was made (art_tree): another one of the same name has
// baselines of its own.
//
// An origin's mode is the object's when it was copied up; 0 is unknown.
const baselineTables = `
ALTER TABLE art_origin ADD COLUMN base_mode INTEGER NOT NULL DEFAULT 0;
CREATE TABLE art_tree (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL,
	ino INTEGER NOT NULL,
	birth INTEGER NOT NULL,
	birth_nsec INTEGER NOT NULL,
	UNIQUE (name, ino, birth, birth_nsec));
CREATE TABLE art_baseline (
	tree INTEGER NOT NULL,
	path BLOB NOT NULL,
	mode INTEGER NOT NULL,
	dev INTEGER NOT NULL,
	base_ino INTEGER NOT NULL,
	size INTEGER NOT NULL,
	mtime INTEGER NOT NULL,
	mtime_nsec INTEGER NOT NULL,
	ctime INTEGER NOT NULL,
	ctime_nsec INTEGER NOT NULL,
	hash BLOB,
	row INTEGER NOT NULL,
	row_ctime INTEGER NOT NULL,
	row_ctime_nsec INTEGER NOT NULL,
	PRIMARY KEY (tree, path)) WITHOUT ROWID;
`

// migrations[v] brings layout v to layout v+1.
var migrations = map[int64]string{1: xattrTable, 2: baselineTables, 3: layout4Tables}

// marks reads what the header says a database is, which may be newer in the log than it is in the
// file. A newer one and one of another application is refused.
func marks(c *sqlite3.Conn) (app, version int64, err error) {
	if app, err = pragmaInt(c, "application_id"); err != nil {
		return
	}
	if version, err = pragmaInt(c, "user_version"); err != nil {
		return
	}
	switch {
	case app == ApplicationID && version > SchemaVersion:
		err = newerError(version)
	case app != 0 && app != ApplicationID:
		err = foreignError(app)
	case app == 0:
		err = checkAdoptable(c)
	}
	return
}

// admit refuses a database that must not be written: what marks refuses, and one whose schema is
// not the format's. Nothing is changed.
func admit(c *sqlite3.Conn) (app, version int64, err error) {
	app, version, err = marks(c)
	if err == nil && app == ApplicationID {
		err = checkColumns(c, substitutes(app, version))
	} else if err == nil {
		_, err = checkSchema(c)
	}
	return
}

func newerError(version int64) error {
	return fmt.Errorf("%w: layout %d, this program knows up to %d", ErrNewer, version, SchemaVersion)
}

func foreignError(app int64) error {
	return fmt.Errorf("%w (application id %#x)", ErrForeign, uint32(app))
}

// initSchema brings a database that was admitted to the current layout in one transaction: a new
// one, one made by another tool of the format, or an older one of ours.
func initSchema(c *sqlite3.Conn, app, version int64, root Attr) (err error) {
	if app == ApplicationID && version == SchemaVersion {
		return nil
	}
	if err := c.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() { err = end(c, err) }()
	if app == ApplicationID {
		err = migrate(c, version)
	} else {
		err = createTables(c, root)
	}
	if err != nil {
		return err
	}
	if err := c.Exec(fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d", ApplicationID, SchemaVersion)); err != nil {
		return err
	}
	return checkColumns(c, nil)
}

// createTables makes what is missing of the tables, in an empty database or in one of another tool.
func createTables(c *sqlite3.Conn, root Attr) error {
	if err := c.Exec(formatTables + artTables); err != nil {
		return err
	}
	if err := seed(c, root); err != nil {
		return err
	}
	return adoptWhiteouts(c)
}

func migrate(c *sqlite3.Conn, version int64) error {
	for ; version < SchemaVersion; version++ {
		step, ok := migrations[version]
		if !ok {
			return fmt.Errorf("%w: layout %d never was", ErrCorrupt, version)
		}
		if err := c.Exec(step); err != nil {
			return fmt.Errorf("bring layout %d up to date: %w", version, err)
		}
	}
	return nil
}

// checkAdoptable accepts a database of the Agent Filesystem format. Anything else belongs to another
// application and must not gain tables from us; but one without tables, which is errEmpty, may.
func checkAdoptable(c *sqlite3.Conn) error {
	tables, err := queryInt(c, "SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return err
	}
	if tables == 0 {
		return errEmpty
	}
	n, err := queryInt(c, "SELECT count(*) FROM sqlite_schema WHERE type='table' AND name IN ('fs_config','fs_inode','fs_dentry','fs_data')")
	if err != nil {
		return err
	}
	if n != 4 {
		return ErrForeign
	}
	return nil
}

// checkColumns proves that every statement that the package uses fits the tables, so that a
// database with the right marks and the wrong tables is refused at the door. subst is as for conn.
func checkColumns(c *sqlite3.Conn, subst map[string]string) error {
	if whole, err := checkSchema(c); err != nil || whole {
		return err
	}
	for _, q := range []string{
		"SELECT key, value FROM fs_config",
		qInode, qChildren, qChunks, qOrigin,
		"SELECT parent_ino, name FROM art_whiteout",
		"SELECT ino FROM art_orphan",
		"SELECT id, name FROM art_base",
		qXattrs, qTrees, qBaselines, qWorkspaces, qSessions, qJournal,
	} {
		if t, ok := subst[q]; ok {
			q = t
		}
		s, _, err := c.Prepare(q)
		if err != nil {
			return fmt.Errorf("%w: %v", ErrCorrupt, err)
		}
		s.Close()
	}
	return nil
}

// checkSchema refuses a schema that would have code of its author run, or whose tables cannot hold
// a tree. whole says that it is the one that this package writes, to the word.
func checkSchema(c *sqlite3.Conn) (whole bool, err error) {
	list, whole, err := deviations(c)
	if err != nil {
		return false, err
	}
	for _, d := range list {
		if !d.harmless {
			return false, fmt.Errorf("%w: %s", ErrCorrupt, d.text)
		}
	}
	return whole, nil
}

// seed writes what a new tree starts with: the chunk size, which never changes afterwards, and the
// root directory. In an adopted database both are there already.
func seed(c *sqlite3.Conn, root Attr) error {
	s, _, err := c.Prepare("INSERT OR IGNORE INTO fs_config (key, value) VALUES ('chunk_size', ?), ('schema_version', ?)")
	if err != nil {
		return err
	}
	defer s.Close()
	s.BindText(1, strconv.Itoa(DefaultChunkSize))
	s.BindText(2, FormatVersion)
	if err := s.Exec(); err != nil {
		return err
	}
	n, err := queryInt(c, "SELECT count(*) FROM fs_inode WHERE ino=1")
	if err != nil || n != 0 {
		return err
	}
	ins, _, err := c.Prepare(qPutInode)
	if err != nil {
		return err
	}
	defer ins.Close()
	bindInode(ins, RootIno, &root)
	return ins.Exec()
}

// adoptWhiteouts turns the path-bound whiteouts of other writers into ours, where the directory
// they speak of is in the tree; a whiteout below an unknown directory hides nothing. Only paths that
// begin one of a whiteout are followed: the tree may unfold without end.
func adoptWhiteouts(c *sqlite3.Conn) error {
	return c.Exec(`
WITH RECURSIVE dir(ino, path) AS (
	SELECT 1, ''
	UNION
	SELECT d.ino, dir.path || '/' || d.name FROM dir JOIN fs_dentry d ON d.parent_ino = dir.ino
		JOIN fs_inode i ON i.ino = d.ino WHERE (i.mode & 61440) = 16384
		AND EXISTS (SELECT 1 FROM fs_whiteout WHERE path > dir.path || '/' || d.name || '/' AND path < dir.path || '/' || d.name || '0'))
INSERT OR IGNORE INTO art_whiteout (parent_ino, name)
	SELECT dir.ino, substr(w.path, length(dir.path) + 2) FROM fs_whiteout w
	JOIN dir ON substr(w.path, 1, length(dir.path) + 1) = dir.path || '/'
	WHERE instr(substr(w.path, length(dir.path) + 2), '/') = 0 AND length(w.path) > length(dir.path) + 1`)
}

func readChunkSize(c *sqlite3.Conn) (int64, error) {
	s, _, err := c.Prepare("SELECT value FROM fs_config WHERE key='chunk_size'")
	if err != nil {
		return 0, err
	}
	defer s.Close()
	if !s.Step() {
		if err := s.Err(); err != nil {
			return 0, err
		}
		return 0, fmt.Errorf("%w: fs_config has no chunk_size", ErrCorrupt)
	}
	n, err := strconv.ParseInt(s.ColumnText(0), 10, 64)
	if err != nil || n < 512 || n > maxChunkSize {
		return 0, fmt.Errorf("%w: chunk_size %q is not a number from 512 to %d", ErrCorrupt, s.ColumnText(0), maxChunkSize)
	}
	return n, nil
}

func pragmaInt(c *sqlite3.Conn, name string) (int64, error) { return queryInt(c, "PRAGMA "+name) }

func queryInt(c *sqlite3.Conn, q string) (int64, error) {
	s, _, err := c.Prepare(q)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	var n int64
	if s.Step() {
		n = s.ColumnInt64(0)
	}
	return n, s.Err()
}
