-- What layout 8 has made of the tree that sample in dbtest.go describes, with less content, and a checkpoint of it.
PRAGMA application_id=1634890801;
PRAGMA user_version=10;
BEGIN TRANSACTION;
CREATE TABLE fs_config (
	key TEXT PRIMARY KEY,
	value TEXT NOT NULL);
INSERT INTO fs_config VALUES('chunk_size','65536');
INSERT INTO fs_config VALUES('schema_version','0.4');
CREATE TABLE fs_inode (
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
INSERT INTO fs_inode VALUES(1,16877,2,0,0,0,0,0,0,0,0,0,0);
INSERT INTO fs_inode VALUES(2,33188,2,0,0,2,0,1795252792,1795252792,0,0,709244940,709244940);
INSERT INTO fs_inode VALUES(3,16877,2,0,0,0,0,5,0,0,0,6,0);
INSERT INTO fs_inode VALUES(4,33152,1,0,0,0,0,0,0,0,0,0,0);
INSERT INTO fs_inode VALUES(5,41471,1,0,0,4,0,5,0,0,0,6,0);
INSERT INTO fs_inode VALUES(6,16877,1,0,0,0,0,5,0,0,0,6,0);
INSERT INTO fs_inode VALUES(7,33188,1,0,0,262144,0,5,0,0,0,6,0);
INSERT INTO fs_inode VALUES(8,33188,2,0,0,0,0,5,0,0,0,6,0);
CREATE TABLE fs_dentry (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL,
	parent_ino INTEGER NOT NULL,
	ino INTEGER NOT NULL,
	UNIQUE (parent_ino, name));
INSERT INTO fs_dentry VALUES(1,'dir',1,3);
INSERT INTO fs_dentry VALUES(2,'file',1,2);
INSERT INTO fs_dentry VALUES(3,'file2',1,2);
INSERT INTO fs_dentry VALUES(4,'link',1,5);
INSERT INTO fs_dentry VALUES(5,'over',1,6);
INSERT INTO fs_dentry VALUES(6,'part',1,7);
INSERT INTO fs_dentry VALUES(7,'twin',1,8);
INSERT INTO fs_dentry VALUES(8,'inner',3,4);
CREATE TABLE fs_data (
	ino INTEGER NOT NULL,
	chunk_index INTEGER NOT NULL,
	data BLOB NOT NULL,
	PRIMARY KEY (ino, chunk_index));
INSERT INTO fs_data VALUES(2,0,X'6869');
CREATE TABLE fs_symlink (
	ino INTEGER PRIMARY KEY,
	target TEXT NOT NULL);
INSERT INTO fs_symlink VALUES(5,'file');
CREATE TABLE fs_whiteout (
	path TEXT PRIMARY KEY,
	parent_path TEXT NOT NULL,
	created_at INTEGER NOT NULL);
CREATE TABLE fs_origin (
	delta_ino INTEGER PRIMARY KEY,
	base_ino INTEGER NOT NULL);
INSERT INTO fs_origin VALUES(6,4503599627370502);
INSERT INTO fs_origin VALUES(7,4503599627370503);
INSERT INTO fs_origin VALUES(8,4503599627370504);
CREATE TABLE kv_store (
	key TEXT PRIMARY KEY,
	value TEXT NOT NULL,
	created_at INTEGER DEFAULT (unixepoch()),
	updated_at INTEGER DEFAULT (unixepoch()));
CREATE TABLE tool_calls (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	name TEXT NOT NULL,
	parameters TEXT,
	result TEXT,
	error TEXT,
	status TEXT NOT NULL DEFAULT 'pending',
	started_at INTEGER NOT NULL,
	completed_at INTEGER,
	duration_ms INTEGER);
CREATE TABLE art_base (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE);
INSERT INTO art_base VALUES(1,'ws');
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
	data_limit INTEGER NOT NULL, base_mode INTEGER NOT NULL DEFAULT 0, hash BLOB, until INTEGER NOT NULL DEFAULT 0);
INSERT INTO art_origin VALUES(6,1,X'6f766572',0,0,0,0,0,0,0,0,0,NULL,0);
INSERT INTO art_origin VALUES(7,1,X'7375622f70617274',0,0,0,0,0,0,0,131072,0,NULL,0);
INSERT INTO art_origin VALUES(8,1,X'7477696e',0,0,0,0,0,0,0,0,0,NULL,0);
CREATE TABLE art_whiteout (
	parent_ino INTEGER NOT NULL,
	name TEXT NOT NULL,
	PRIMARY KEY (parent_ino, name)) WITHOUT ROWID;
INSERT INTO art_whiteout VALUES(6,'gone');
CREATE TABLE art_orphan (
	ino INTEGER PRIMARY KEY);
CREATE TABLE art_xattr (
	ino INTEGER NOT NULL,
	name TEXT NOT NULL,
	value BLOB NOT NULL,
	PRIMARY KEY (ino, name));
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
CREATE TABLE art_workspace (
	name TEXT PRIMARY KEY,
	path BLOB NOT NULL,
	fsid INTEGER NOT NULL,
	dev INTEGER NOT NULL,
	ino INTEGER NOT NULL,
	birth INTEGER NOT NULL,
	birth_nsec INTEGER NOT NULL,
	whole INTEGER NOT NULL DEFAULT 0);
INSERT INTO art_workspace VALUES('ws',X'2f7372762f7773',0,0,0,0,0,0);
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
INSERT INTO art_session VALUES(1,4711,1795252792,709244940,X'7472756500',1795252793,0,0,7,1,1);
CREATE TABLE art_journal (
	seq INTEGER PRIMARY KEY,
	entry BLOB NOT NULL);
CREATE TABLE art_birth (
	ino INTEGER PRIMARY KEY,
	birth INTEGER);
INSERT INTO art_birth VALUES(1,NULL);
INSERT INTO art_birth VALUES(2,NULL);
INSERT INTO art_birth VALUES(3,NULL);
INSERT INTO art_birth VALUES(4,NULL);
INSERT INTO art_birth VALUES(5,NULL);
INSERT INTO art_birth VALUES(6,NULL);
INSERT INTO art_birth VALUES(7,NULL);
INSERT INTO art_birth VALUES(8,NULL);
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
INSERT INTO art_checkpoint VALUES(1,1795431958,85491724,'user','first',NULL,8,NULL,NULL);
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
CREATE TABLE art_old_dentry (
	parent_ino INTEGER NOT NULL,
	name TEXT NOT NULL,
	checkpoint INTEGER NOT NULL,
	there INTEGER NOT NULL,
	ino INTEGER,
	PRIMARY KEY (parent_ino, name, checkpoint)) WITHOUT ROWID;
CREATE TABLE art_old_data (
	ino INTEGER NOT NULL,
	chunk_index INTEGER NOT NULL,
	checkpoint INTEGER NOT NULL,
	there INTEGER NOT NULL,
	data BLOB,
	PRIMARY KEY (ino, chunk_index, checkpoint));
CREATE TABLE art_old_symlink (
	ino INTEGER NOT NULL,
	checkpoint INTEGER NOT NULL,
	there INTEGER NOT NULL,
	target TEXT,
	PRIMARY KEY (ino, checkpoint)) WITHOUT ROWID;
CREATE TABLE art_old_number (
	delta_ino INTEGER NOT NULL,
	checkpoint INTEGER NOT NULL,
	there INTEGER NOT NULL,
	base_ino INTEGER,
	PRIMARY KEY (delta_ino, checkpoint)) WITHOUT ROWID;
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
CREATE TABLE art_old_whiteout (
	parent_ino INTEGER NOT NULL,
	name TEXT NOT NULL,
	checkpoint INTEGER NOT NULL,
	there INTEGER NOT NULL,
	PRIMARY KEY (parent_ino, name, checkpoint)) WITHOUT ROWID;
CREATE TABLE art_old_xattr (
	ino INTEGER NOT NULL,
	name TEXT NOT NULL,
	checkpoint INTEGER NOT NULL,
	there INTEGER NOT NULL,
	value BLOB,
	PRIMARY KEY (ino, name, checkpoint)) WITHOUT ROWID;
CREATE TABLE art_old_birth (
	ino INTEGER NOT NULL,
	checkpoint INTEGER NOT NULL,
	there INTEGER NOT NULL,
	birth INTEGER,
	PRIMARY KEY (ino, checkpoint)) WITHOUT ROWID;
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
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('fs_inode',8);
CREATE INDEX art_origin_number ON fs_origin (base_ino);
CREATE INDEX art_old_inode_checkpoint ON art_old_inode (checkpoint);
CREATE INDEX art_old_dentry_checkpoint ON art_old_dentry (checkpoint);
CREATE INDEX art_old_data_checkpoint ON art_old_data (checkpoint);
CREATE INDEX art_old_symlink_checkpoint ON art_old_symlink (checkpoint);
CREATE INDEX art_old_number_checkpoint ON art_old_number (checkpoint);
CREATE INDEX art_old_origin_checkpoint ON art_old_origin (checkpoint);
CREATE INDEX art_old_whiteout_checkpoint ON art_old_whiteout (checkpoint);
CREATE INDEX art_old_xattr_checkpoint ON art_old_xattr (checkpoint);
CREATE INDEX art_old_birth_checkpoint ON art_old_birth (checkpoint);
CREATE INDEX art_old_baseline_checkpoint ON art_old_baseline (checkpoint);
CREATE INDEX art_old_workspace_checkpoint ON art_old_workspace (checkpoint);
COMMIT;
