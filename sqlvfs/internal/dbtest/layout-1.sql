-- What layout 1 has made of the tree that sample in dbtest.go describes, with less content.
PRAGMA page_size=16384;
PRAGMA auto_vacuum=INCREMENTAL;
PRAGMA application_id=1634890801;
PRAGMA user_version=1;
BEGIN TRANSACTION;
CREATE TABLE fs_config (
	key TEXT PRIMARY KEY,
	value TEXT NOT NULL);
INSERT INTO fs_config VALUES('chunk_size','65536');
INSERT INTO fs_config VALUES('schema_version','0.4');
CREATE TABLE fs_inode (
	ino INTEGER PRIMARY KEY,
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
INSERT INTO fs_inode VALUES(2,33188,2,0,0,2,0,1795252790,1795252790,0,0,732433470,732433470);
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
	started_at INTEGER NOT NULL,
	completed_at INTEGER NOT NULL,
	duration_ms INTEGER NOT NULL);
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
	data_limit INTEGER NOT NULL);
INSERT INTO art_origin VALUES(6,1,X'6f766572',0,0,0,0,0,0,0,0);
INSERT INTO art_origin VALUES(7,1,X'7375622f70617274',0,0,0,0,0,0,0,131072);
INSERT INTO art_origin VALUES(8,1,X'7477696e',0,0,0,0,0,0,0,0);
CREATE TABLE art_whiteout (
	parent_ino INTEGER NOT NULL,
	name TEXT NOT NULL,
	PRIMARY KEY (parent_ino, name)) WITHOUT ROWID;
INSERT INTO art_whiteout VALUES(6,'gone');
CREATE TABLE art_orphan (
	ino INTEGER PRIMARY KEY);
DELETE FROM sqlite_sequence;
CREATE INDEX art_origin_number ON fs_origin (base_ino);
COMMIT;
