package database

import "github.com/ncruces/go-sqlite3"

// FormatTables are the Agent Filesystem format's own, column for column. Readers of that format
// expect nothing else of them, but for tool_calls: the SDKs write calls down when they begin, and so
// need a status, and no NOT NULL where there is no result yet.
//
// Inode numbers grow (AUTOINCREMENT): other tools do not know our tables and leave rows of them
// behind when they delete an inode. A number that came back would find these, and a new directory
// show what the deleted one had shown.
const FormatTables = `
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

// ArtTables are ours.
//
// A whiteout belongs to a directory, not to a path as in fs_whiteout: so it moves with the
// directory when that, or one above it, is renamed, without a row being touched.
//
// art_origin says which object of which host tree supplies what the inode does not hold itself,
// and how that object looked then. data_limit is where the host's content ends to show through.
const ArtTables = `
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
` + xattrTable + baselineTables + layout4Tables + birthTable + historyTables + agreedTables

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

// Migrations[v] brings layout v to layout v+1. With layouts 8 to 10 came the tables of [WhenNeeded].
var Migrations = map[int64]string{1: xattrTable, 2: baselineTables, 3: layout4Tables, 4: birthTable + UnknownBirths, 5: historyTables, 6: agreedTables, 7: "", 8: "", 9: ""}

// layout4Tables came with layout 4.
const layout4Tables = workspaceTable + sessionTable + journalTable + versionColumns

// workspaceTable says which directory of the host each workspace of the tree is: its path, and what
// file system, device and inode that was. whole is 1 once all that the host had there is in the tree.
const workspaceTable = `
CREATE TABLE art_workspace (
	name TEXT PRIMARY KEY,
	path BLOB NOT NULL,
	fsid INTEGER NOT NULL,
	dev INTEGER NOT NULL,
	ino INTEGER NOT NULL,
	birth INTEGER NOT NULL,
	birth_nsec INTEGER NOT NULL,
	whole INTEGER NOT NULL DEFAULT 0);
`

// sessionTable is the log of the sessions that had the database: the process that ran each, when it began and ended,
// the command with its arguments, each ended by a NUL, the exit code, and how many files it made, changed and
// deleted. What is NULL is unknown: a session that was killed has no End.
const sessionTable = `
CREATE TABLE art_session (
	id INTEGER PRIMARY KEY,
	pid INTEGER NOT NULL,
	started INTEGER NOT NULL,
	started_nsec INTEGER NOT NULL,
	command BLOB NOT NULL,
	ended INTEGER,
	ended_nsec INTEGER,
	exit_code INTEGER,
	made INTEGER,
	changed INTEGER,
	deleted INTEGER);
`

// journalTable is what a pull writes down before it changes the workspace, in order, so that whoever opens
// the database after it was killed can finish that. It is empty but for then. What an entry says is package
// sync's.
const journalTable = `
CREATE TABLE art_journal (
	seq INTEGER PRIMARY KEY,
	entry BLOB NOT NULL);
`

// versionColumns came with layout 4. They say which other version of a host's file than the one that was
// copied up will do for its origin: one with the same content, by its SHA-256 (NULL is unknown), and one
// that a pull has made of it, up to a moment in seconds (see [Origin].Until; 0: there is none).
const versionColumns = `ALTER TABLE art_origin ADD COLUMN hash BLOB;
ALTER TABLE art_origin ADD COLUMN until INTEGER NOT NULL DEFAULT 0;
`

// birthTable came with layout 5. It says when inodes were made, in nanoseconds since 1970; NULL is unknown, which it is of those
// that were there before. One without a row was made at its access or its change time, whichever is earlier, so few inodes have a row.
const birthTable = `
CREATE TABLE art_birth (
	ino INTEGER PRIMARY KEY,
	birth INTEGER);
`

// UnknownBirths says of all that is there without a row that nobody knows when it was made: it is older than art_birth.
const UnknownBirths = `INSERT OR IGNORE INTO art_birth (ino) SELECT ino FROM fs_inode;
`

// historyTables came with layout 6. art_checkpoint has the moments that the tree can be shown at: the number of each grows with time, no
// inode that was there then has a number beyond max_ino, restored is the checkpoint that was gone back to, if it was, and redo where that
// leads back to. For each table of the tree, an art_old_ table says what a row was at a checkpoint that changed later (there is 1), or that
// there was none (0). See [Kept].
const historyTables = `
CREATE TABLE art_checkpoint (
	id INTEGER PRIMARY KEY,
	made INTEGER NOT NULL,
	made_nsec INTEGER NOT NULL,
	kind TEXT NOT NULL,
	label TEXT UNIQUE,
	session INTEGER,
	max_ino INTEGER NOT NULL,
	restored INTEGER,
	redo INTEGER);
CREATE TABLE art_old_inode (
	ino INTEGER NOT NULL,
	checkpoint INTEGER NOT NULL,
	there INTEGER NOT NULL,
	mode INTEGER,
	nlink INTEGER,
	uid INTEGER,
	gid INTEGER,
	size INTEGER,
	atime INTEGER,
	mtime INTEGER,
	ctime INTEGER,
	rdev INTEGER,
	atime_nsec INTEGER,
	mtime_nsec INTEGER,
	ctime_nsec INTEGER,
	PRIMARY KEY (ino, checkpoint)) WITHOUT ROWID;
CREATE INDEX art_old_inode_checkpoint ON art_old_inode (checkpoint);
CREATE TABLE art_old_dentry (
	parent_ino INTEGER NOT NULL,
	name TEXT NOT NULL,
	checkpoint INTEGER NOT NULL,
	there INTEGER NOT NULL,
	ino INTEGER,
	PRIMARY KEY (parent_ino, name, checkpoint)) WITHOUT ROWID;
CREATE INDEX art_old_dentry_checkpoint ON art_old_dentry (checkpoint);
CREATE TABLE art_old_data (
	ino INTEGER NOT NULL,
	chunk_index INTEGER NOT NULL,
	checkpoint INTEGER NOT NULL,
	there INTEGER NOT NULL,
	data BLOB,
	PRIMARY KEY (ino, chunk_index, checkpoint));
CREATE INDEX art_old_data_checkpoint ON art_old_data (checkpoint);
CREATE TABLE art_old_symlink (
	ino INTEGER NOT NULL,
	checkpoint INTEGER NOT NULL,
	there INTEGER NOT NULL,
	target TEXT,
	PRIMARY KEY (ino, checkpoint)) WITHOUT ROWID;
CREATE INDEX art_old_symlink_checkpoint ON art_old_symlink (checkpoint);
CREATE TABLE art_old_number (
	delta_ino INTEGER NOT NULL,
	checkpoint INTEGER NOT NULL,
	there INTEGER NOT NULL,
	base_ino INTEGER,
	PRIMARY KEY (delta_ino, checkpoint)) WITHOUT ROWID;
CREATE INDEX art_old_number_checkpoint ON art_old_number (checkpoint);
CREATE TABLE art_old_origin (
	ino INTEGER NOT NULL,
	checkpoint INTEGER NOT NULL,
	there INTEGER NOT NULL,
	base INTEGER,
	path BLOB,
	dev INTEGER,
	base_ino INTEGER,
	size INTEGER,
	mtime INTEGER,
	mtime_nsec INTEGER,
	ctime INTEGER,
	ctime_nsec INTEGER,
	data_limit INTEGER,
	base_mode INTEGER,
	hash BLOB,
	until INTEGER,
	PRIMARY KEY (ino, checkpoint)) WITHOUT ROWID;
CREATE INDEX art_old_origin_checkpoint ON art_old_origin (checkpoint);
CREATE TABLE art_old_whiteout (
	parent_ino INTEGER NOT NULL,
	name TEXT NOT NULL,
	checkpoint INTEGER NOT NULL,
	there INTEGER NOT NULL,
	PRIMARY KEY (parent_ino, name, checkpoint)) WITHOUT ROWID;
CREATE INDEX art_old_whiteout_checkpoint ON art_old_whiteout (checkpoint);
CREATE TABLE art_old_xattr (
	ino INTEGER NOT NULL,
	name TEXT NOT NULL,
	checkpoint INTEGER NOT NULL,
	there INTEGER NOT NULL,
	value BLOB,
	PRIMARY KEY (ino, name, checkpoint)) WITHOUT ROWID;
CREATE INDEX art_old_xattr_checkpoint ON art_old_xattr (checkpoint);
CREATE TABLE art_old_birth (
	ino INTEGER NOT NULL,
	checkpoint INTEGER NOT NULL,
	there INTEGER NOT NULL,
	birth INTEGER,
	PRIMARY KEY (ino, checkpoint)) WITHOUT ROWID;
CREATE INDEX art_old_birth_checkpoint ON art_old_birth (checkpoint);
`

// agreedTables came with layout 7: the history of what the host and the tree have agreed on. replaced is 1 where a pull has
// replaced or removed, since the checkpoint, what the host had at the path.
const agreedTables = `
CREATE TABLE art_old_baseline (
	tree INTEGER NOT NULL,
	path BLOB NOT NULL,
	checkpoint INTEGER NOT NULL,
	there INTEGER NOT NULL,
	mode INTEGER,
	dev INTEGER,
	base_ino INTEGER,
	size INTEGER,
	mtime INTEGER,
	mtime_nsec INTEGER,
	ctime INTEGER,
	ctime_nsec INTEGER,
	hash BLOB,
	row INTEGER,
	row_ctime INTEGER,
	row_ctime_nsec INTEGER,
	replaced INTEGER,
	PRIMARY KEY (tree, path, checkpoint)) WITHOUT ROWID;
CREATE INDEX art_old_baseline_checkpoint ON art_old_baseline (checkpoint);
CREATE TABLE art_old_workspace (
	name TEXT NOT NULL,
	checkpoint INTEGER NOT NULL,
	there INTEGER NOT NULL,
	path BLOB,
	fsid INTEGER,
	dev INTEGER,
	ino INTEGER,
	birth INTEGER,
	birth_nsec INTEGER,
	whole INTEGER,
	PRIMARY KEY (name, checkpoint)) WITHOUT ROWID;
CREATE INDEX art_old_workspace_checkpoint ON art_old_workspace (checkpoint);
`

// WhenNeeded are the tables, with what makes them, that not all databases have. art_flow has what guests with a network by name have done
// there, since layout 9; art_process and art_change have what processes have done, art_released what pulls have let go of, and art_seal
// what sessions have sealed of their records, since layout 10. The
// others are of forks and databases with forks. art_fork has the forks of the tree: each is a database that
// reads rows of this one as they were at a checkpoint, which therefore stays. A fork says in art_parent which database that is, and has a
// secret in common with it: none can name a database as its parent that does not know of it. The tables of its tree have rows of its own
// alone, and art_hidden has the keys of rows that are its parent's and not its own.
var WhenNeeded = map[string]string{
	"art_fork": `CREATE TABLE art_fork (
	secret BLOB PRIMARY KEY,
	checkpoint INTEGER NOT NULL,
	path BLOB NOT NULL,
	made INTEGER NOT NULL,
	made_nsec INTEGER NOT NULL) WITHOUT ROWID`,
	"art_parent": `CREATE TABLE art_parent (
	id INTEGER PRIMARY KEY,
	path BLOB NOT NULL,
	secret BLOB NOT NULL,
	checkpoint INTEGER NOT NULL,
	max_ino INTEGER NOT NULL)`,
	"art_hidden": `CREATE TABLE art_hidden (
	of_table TEXT NOT NULL,
	key1 INTEGER NOT NULL,
	key2 NOT NULL,
	PRIMARY KEY (of_table, key1, key2)) WITHOUT ROWID`,
	"art_flow": `CREATE TABLE art_flow (
	id INTEGER PRIMARY KEY,
	session INTEGER NOT NULL,
	number INTEGER NOT NULL,
	began INTEGER NOT NULL,
	began_nsec INTEGER NOT NULL,
	ended INTEGER,
	ended_nsec INTEGER,
	pid INTEGER,
	command BLOB,
	name TEXT,
	address TEXT,
	port INTEGER,
	protocol TEXT,
	denied INTEGER NOT NULL,
	rule TEXT,
	why TEXT,
	allow TEXT,
	sent INTEGER NOT NULL,
	received INTEGER NOT NULL,
	times INTEGER NOT NULL,
	UNIQUE (session, number))`,
	"art_process": `CREATE TABLE art_process (
	id INTEGER PRIMARY KEY,
	session INTEGER NOT NULL,
	parent INTEGER,
	pid INTEGER,
	argv BLOB NOT NULL,
	cut INTEGER NOT NULL,
	dir BLOB,
	started INTEGER NOT NULL,
	started_nsec INTEGER NOT NULL,
	ended INTEGER,
	ended_nsec INTEGER,
	exit_code INTEGER)`,
	"art_seal": `CREATE TABLE art_seal (
	id INTEGER PRIMARY KEY,
	session INTEGER NOT NULL,
	made INTEGER NOT NULL,
	made_nsec INTEGER NOT NULL,
	previous BLOB NOT NULL,
	digests BLOB NOT NULL,
	digest BLOB NOT NULL,
	hash BLOB NOT NULL)`,
	"art_released": `CREATE TABLE art_released (
	parent_ino INTEGER NOT NULL,
	name TEXT NOT NULL,
	checkpoint INTEGER NOT NULL,
	ino INTEGER NOT NULL,
	ino_ctime INTEGER NOT NULL,
	ino_ctime_nsec INTEGER NOT NULL,
	mode INTEGER NOT NULL,
	dev INTEGER NOT NULL,
	base_ino INTEGER NOT NULL,
	size INTEGER NOT NULL,
	mtime INTEGER NOT NULL,
	mtime_nsec INTEGER NOT NULL,
	ctime INTEGER NOT NULL,
	ctime_nsec INTEGER NOT NULL,
	PRIMARY KEY (parent_ino, name, checkpoint)) WITHOUT ROWID`,
	"art_change": `CREATE TABLE art_change (
	ino INTEGER NOT NULL,
	checkpoint INTEGER NOT NULL,
	process INTEGER NOT NULL,
	parent_ino INTEGER NOT NULL,
	name TEXT NOT NULL,
	what INTEGER NOT NULL,
	first INTEGER NOT NULL,
	last INTEGER NOT NULL,
	PRIMARY KEY (ino, checkpoint, process, parent_ino, name)) WITHOUT ROWID`,
}

// Has tells whether a database has a table of [WhenNeeded].
func Has(c *sqlite3.Conn, table string) (bool, error) {
	n, err := QueryInt(c, "SELECT count(*) FROM main.sqlite_schema WHERE type='table' AND name='"+table+"' COLLATE NOCASE")
	return n > 0, err
}
