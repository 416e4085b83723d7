package fsck

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/riverlytech/art/sqlvfs"
	"github.com/riverlytech/art/sqlvfs/internal/database"
)

func findings(t *testing.T, path string) string {
	t.Helper()
	list, err := Check(path)
	must(t, err)
	var b strings.Builder
	for _, f := range list {
		fmt.Fprintf(&b, "%d %s\n", f.Ino, f.Text)
	}
	return b.String()
}

func TestCheckFindsNothingInASoundDatabase(t *testing.T) {
	path := sample(t)
	before, err := os.ReadFile(path)
	must(t, err)
	if got := findings(t, path); got != "" {
		t.Error(got)
	}
	after, err := os.ReadFile(path)
	must(t, err)
	if !bytes.Equal(after, before) {
		t.Error("the file has changed")
	}
	if ents, _ := os.ReadDir(filepath.Dir(path)); len(ents) != 1 {
		t.Errorf("files left beside the database: %v", ents)
	}
}

func TestCheckWhileASessionRuns(t *testing.T) {
	path := sample(t)
	s := openTest(t, path)
	defer s.Close()
	in := create(t, s, "new", []byte("x"))
	must(t, s.Sync())
	must(t, s.Reduce(func(tx *sqlvfs.Tx) error {
		in.Attr.Nlink = 0
		tx.Dirty(in)
		return tx.Unlink(tx.Root(), "new")
	}))
	must(t, s.Sync()) // an orphan now: its content has no inode
	if got := findings(t, path); got != "" {
		t.Error(got)
	}
}

// logTables make a log of processes that is sound.
var logTables = database.WhenNeeded["art_process"] + ";" + database.WhenNeeded["art_change"] + `;
	INSERT INTO art_process VALUES (1, 1, NULL, 8, CAST('true' || x'00' AS BLOB), 0, NULL, 1, 1, NULL, NULL, NULL);
	INSERT INTO art_change VALUES (2, 0, 1, 1, 'file', 11, 1, 2);`

// violations are changes of sample's database, and what Check says about them.
var violations = []struct{ name, sql, want string }{
	{"baseline of no tree", "INSERT INTO art_baseline VALUES (9, 'x', 0, 0, 0, 0, 0, 0, 0, 0, NULL, 2, 0, 0)", `2 baseline of "x" is of tree 9, which is not there`},
	{"baseline outside", "INSERT INTO art_tree VALUES (9, 'ws', 0, 0, 0); INSERT INTO art_baseline VALUES (9, '../x', 0, 0, 0, 0, 0, 0, 0, 0, NULL, 2, 0, 0)", `2 baseline of "../x" cannot be a path`},
	{"process", logTables + "INSERT INTO art_process VALUES (2, 1, 3, 8, x'', 0, NULL, 1, 1, NULL, NULL, NULL)", "0 process 2 of the log has numbers that cannot be"},
	{"change by nobody", logTables + "INSERT INTO art_change VALUES (2, 0, 9, 0, '', 2, 1, 1)", "2 a change by process 9, which is not there, or with numbers that cannot be"},
	{"change of no name", logTables + "INSERT INTO art_change VALUES (2, 0, 1, 0, '', 8, 1, 1)", "2 a change by process 1, which is not there, or with numbers that cannot be"},
	{"released", database.WhenNeeded["art_released"] + ";INSERT INTO art_released VALUES (1, '../x', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)",
		"1 what a pull has let go of after checkpoint 1, with a name or numbers that cannot be"},
	{"seal", database.WhenNeeded["art_seal"] + ";INSERT INTO art_seal VALUES (3, 1, 1, 1, zeroblob(31), x'', zeroblob(32), zeroblob(32))", "0 seal 3 is no seal"},
	{"no root", "DELETE FROM fs_inode WHERE ino=1", "1 the root directory is not there"},
	{"root is a file", "UPDATE fs_inode SET mode=33188 WHERE ino=1", "1 the root is no directory: mode 0100644"},
	{"number", "UPDATE fs_inode SET ino=1<<52 WHERE ino=8; UPDATE fs_dentry SET ino=1<<52 WHERE ino=8", "4503599627370496 inode numbers go from 1 to 2^52-1"},
	{"text for a number", "UPDATE fs_inode SET uid='root' WHERE ino=2", "2 a number is none"},
	{"type", "UPDATE fs_inode SET mode=420 WHERE ino=4", "4 mode 0644 is of no known type"},
	{"size", "UPDATE fs_inode SET size=-1 WHERE ino=4", "4 size is -1"},
	{"no size", "UPDATE fs_inode SET size=9223372036854775807 WHERE ino=4", "4 size is 9223372036854775807"},
	{"owner", "UPDATE fs_inode SET uid=-1 WHERE ino=4", "4 owner -1, group 0 or device 0 is not from 0 to 2^32-1"},
	{"text for a name's number", "UPDATE fs_dentry SET ino='x' WHERE ino=4", `0 name "inner" leads from or to what is no number`},
	{"text for a chunk's number", "UPDATE fs_data SET chunk_index='x' WHERE ino=2 AND chunk_index=1", "0 chunk x of inode 2: a number is none"},
	{"text for an origin's number", "UPDATE art_origin SET size='x' WHERE ino=7", `7 a number of origin "sub/part" is none`},
	{"text for a number on the host", "UPDATE fs_origin SET base_ino='x' WHERE delta_ino=7", "7 its number on the host is none"},
	{"a workspace without a name", "UPDATE art_base SET name='a/b'", `0 workspace 1 has a name that cannot be: "a/b"`},
	{"target with a zero", "UPDATE fs_symlink SET target='a'||char(0)", "5 symbolic link has no target, or one that cannot be"},
	{"an attribute of nothing", "INSERT INTO art_xattr VALUES (99, 'user.x', x'00')", `99 is not there, but has the extended attribute "user.x"`},
	{"a birth of nothing", "INSERT INTO art_birth VALUES (99, 5)", `99 is not there, but has a time of birth`},
	{"a birth that cannot be", "INSERT INTO art_birth VALUES (2, 'text')", `2 its time of birth is no number`},
	{"an attribute that cannot be", "INSERT INTO art_xattr VALUES (2, 'user.x', 'text')", `2 extended attribute "user.x" cannot be`},
	{"a baseline of nothing", "INSERT INTO art_baseline VALUES (7, x'61', 0, 0, 0, 0, 0, 0, 0, 0, NULL, 2, 0, 0)", `2 baseline of "a" is of tree 7, which is not there`},
	{"nanoseconds", "UPDATE fs_inode SET mtime_nsec=1000000000 WHERE ino=4", "4 a time has 0, 1000000000 or 0 nanoseconds"},
	{"name", "UPDATE fs_dentry SET name='../x' WHERE ino=4", `4 name "../x" in directory 3 cannot be`},
	{"name with a zero", "UPDATE fs_dentry SET name='a'||char(0)||'b' WHERE ino=4", `4 name "a\x00b" in directory 3 cannot be`},
	{"name is a blob", "UPDATE fs_dentry SET name=x'61' WHERE ino=4", `4 name "a" in directory 3 is no text`},
	{"long name", "UPDATE fs_dentry SET name=replace(hex(zeroblob(128)), '0', 'n') WHERE ino=4", `4 name "` + strings.Repeat("n", 256) + `" in directory 3 cannot be`},
	{"no parent", "UPDATE fs_dentry SET parent_ino=99 WHERE ino=4", `4 name "inner" is in inode 99, which is not there`},
	{"parent is a file", "UPDATE fs_dentry SET parent_ino=2 WHERE ino=4", `4 name "inner" is in inode 2, which is no directory`},
	{"no inode", "INSERT INTO fs_dentry (name, parent_ino, ino) VALUES ('x', 3, 99)", `99 is not there, but has the name "x" in directory 3`},
	{"root in a directory", "INSERT INTO fs_dentry (name, parent_ino, ino) VALUES ('x', 3, 1)", `1 the root has a name, "x" in directory 3`},
	{"directory twice", "INSERT INTO fs_dentry (name, parent_ino, ino) VALUES ('x', 1, 3)", "3 directory has 2 names"},
	{"cycle", "UPDATE fs_dentry SET parent_ino=6 WHERE ino=3; UPDATE fs_dentry SET parent_ino=3 WHERE ino=6", "3 directory cannot be reached"},
	{"no name", "DELETE FROM fs_dentry WHERE ino=4", "4 has no name"},
	{"no name and no links", "DELETE FROM fs_dentry WHERE ino=8; UPDATE fs_inode SET nlink=0 WHERE ino=8", "8 has no name"},
	{"directory without links", "UPDATE fs_inode SET nlink=0 WHERE ino=3", "3 directory has 0 links"},
	{"too many links", "UPDATE fs_inode SET nlink=3 WHERE ino=2", "2 has 3 links, but 2 names"},
	{"too few links", "UPDATE fs_inode SET nlink=0 WHERE ino=8", "8 has 0 links, but 1 names"},
	{"chunk of nothing", "INSERT INTO fs_data VALUES (99, 0, x'00')", "99 is not there, but has a chunk 0"},
	{"chunk of a directory", "INSERT INTO fs_data VALUES (3, 0, x'00')", "3 is no regular file (mode 040755), but has a chunk 0"},
	{"chunk beyond the end", "INSERT INTO fs_data VALUES (2, 3, x'00')", "2 chunk 3 is outside of the file's 163840 bytes"},
	{"chunk before the start", "INSERT INTO fs_data VALUES (2, -1, x'00')", "2 chunk -1 is outside of the file's 163840 bytes"},
	{"short chunk", "UPDATE fs_data SET data=zeroblob(100) WHERE ino=2 AND chunk_index=1", "2 chunk 1 is 100 bytes long and should be 65536"},
	{"short last chunk", "UPDATE fs_data SET data=zeroblob(100) WHERE ino=2 AND chunk_index=2", "2 chunk 2 is 100 bytes long and should be 32768"},
	{"link without target", "DELETE FROM fs_symlink WHERE ino=5", "5 symbolic link has no target, or one that cannot be"},
	{"link of another size", "UPDATE fs_inode SET size=9 WHERE ino=5", "5 symbolic link has 9 bytes, its target 4"},
	{"target of a file", "INSERT INTO fs_symlink VALUES (4, 'x')", `4 is no symbolic link, but has the target "x"`},
	{"target of nothing", "INSERT INTO fs_symlink VALUES (99, 'x')", `99 is not there, but has the target "x"`},
	{"origin of nothing", "INSERT INTO fs_origin VALUES (99, 1)", "99 is not there, but has an origin"},
	{"half an origin", "DELETE FROM fs_origin WHERE delta_ino=7", `7 origin "sub/part" has no number in fs_origin`},
	{"no base", "DELETE FROM art_base", `6 origin "over" is in base 1, which is not there`},
	{"origin elsewhere", "UPDATE art_origin SET path='../x' WHERE ino=7", `7 origin "../x" cannot be a path`},
	{"origin beyond the end", "UPDATE art_origin SET data_limit=1<<40 WHERE ino=7", `7 origin "sub/part" supplies the first 1099511627776 bytes of a file of 262144`},
	{"content for a directory", "UPDATE art_origin SET data_limit=5 WHERE ino=6", `6 is no regular file, but origin "over" supplies 5 bytes`},
	{"whiteout in a file", "INSERT INTO art_whiteout VALUES (2, 'x')", `2 whiteout of "x" is in no directory`},
	{"whiteout that cannot be", "INSERT INTO art_whiteout VALUES (6, '..')", `6 whiteout of ".." cannot be a name`},
	{"orphan with a name", "INSERT INTO art_orphan VALUES (2)", "2 is said to be deleted, but is there"},
	{"chunk size", "UPDATE fs_config SET value='x'", `0 database is damaged: chunk_size "x" is not a number from 512 to 16777216`},
	{"no table", "DROP TABLE art_origin", `0 there is no table "art_origin"`},
	{"a trigger", "CREATE TRIGGER t AFTER DELETE ON fs_inode BEGIN SELECT 1; END", `0 there is a trigger "t", which this format has not`},
	{"a view", "CREATE VIEW v AS SELECT 1", `0 there is a view "v", which this format has not`},
	{"a view for a table", "DROP TABLE art_base; CREATE VIEW art_base AS SELECT 1 AS id, 'x' AS name", `0 there is a view "art_base", which this format has not`},
	{"a virtual table", "PRAGMA writable_schema=ON; INSERT INTO sqlite_schema VALUES ('table', 'f', 'f', 0, 'CREATE VIRTUAL TABLE f USING fts5(x)')", `0 there is a virtual table "f", which this format has not`},
	{"a computed column", "ALTER TABLE fs_inode ADD COLUMN x AS (hex(zeroblob(100000)))", `0 column "x" of table "fs_inode" is computed`},
	{"an index of an expression", "CREATE INDEX i ON fs_dentry (hex(name))", `0 index "i" of table "fs_dentry" has an expression`},
	{"a partial index", "CREATE INDEX i ON fs_dentry (name) WHERE ino > 5", `0 index "i" of table "fs_dentry" has an expression`},
	{"a key too many", "CREATE UNIQUE INDEX i ON fs_inode (mtime_nsec, ino)", `0 table "fs_inode" may not hold the same mtime_nsec, ino twice`},
	{"a key that folds", "CREATE UNIQUE INDEX i ON fs_dentry (parent_ino, name COLLATE NOCASE)", `0 table "fs_dentry" may not hold the same parent_ino, name (NOCASE) twice`},
	{"a key too few", "ALTER TABLE fs_data RENAME TO old; CREATE TABLE fs_data (ino INTEGER NOT NULL, chunk_index INTEGER NOT NULL, data BLOB NOT NULL); INSERT INTO fs_data SELECT * FROM old; DROP TABLE old",
		`0 table "fs_data" may hold the same ino, chunk_index twice`},
	{"an unknown column", "ALTER TABLE fs_inode ADD COLUMN x", `0 table "fs_inode" has a column "x", which this format has not`},
	{"a pointer map", "PRAGMA journal_mode=DELETE; PRAGMA auto_vacuum=FULL; VACUUM", "0 the file has a pointer map (auto_vacuum)"},
	{"an index that lies", "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql='CREATE INDEX art_origin_number ON fs_origin (delta_ino)' WHERE name='art_origin_number'", "0 integrity check: "},
}

func TestCheckFindsEachViolation(t *testing.T) {
	for _, c := range violations {
		t.Run(c.name, func(t *testing.T) {
			path := sample(t)
			alter(t, path, c.sql)
			if got := findings(t, path); !strings.Contains("\n"+got, "\n"+c.want) {
				t.Errorf("want %q, found:\n%s", c.want, got)
			}
		})
	}
}

// A database of the format that art has not touched lacks the tables of origins and whiteouts.
func TestCheckOfAForeignDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	alter(t, path, `
		CREATE TABLE fs_config (key TEXT PRIMARY KEY, value TEXT NOT NULL);
		CREATE TABLE fs_inode (ino INTEGER PRIMARY KEY AUTOINCREMENT, mode INTEGER NOT NULL, nlink INTEGER NOT NULL DEFAULT 0,
			uid INTEGER NOT NULL DEFAULT 0, gid INTEGER NOT NULL DEFAULT 0, size INTEGER NOT NULL DEFAULT 0,
			atime INTEGER NOT NULL, mtime INTEGER NOT NULL, ctime INTEGER NOT NULL, rdev INTEGER NOT NULL DEFAULT 0,
			atime_nsec INTEGER NOT NULL DEFAULT 0, mtime_nsec INTEGER NOT NULL DEFAULT 0, ctime_nsec INTEGER NOT NULL DEFAULT 0);
		CREATE TABLE fs_dentry (id INTEGER PRIMARY KEY, name TEXT NOT NULL, parent_ino INTEGER NOT NULL, ino INTEGER NOT NULL, UNIQUE (parent_ino, name));
		CREATE TABLE fs_data (ino INTEGER NOT NULL, chunk_index INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (ino, chunk_index));
		INSERT INTO fs_config VALUES ('chunk_size', '4096');
		INSERT INTO fs_inode (ino, mode, nlink, size, atime, mtime, ctime) VALUES (1, 16877, 2, 0, 1, 1, 1), (2, 33188, 1, 5000, 1, 1, 1);
		INSERT INTO fs_dentry (name, parent_ino, ino) VALUES ('f', 1, 2);
		INSERT INTO fs_data VALUES (2, 0, zeroblob(4096)), (2, 1, zeroblob(904));`)
	if got := findings(t, path); got != "" {
		t.Error(got)
	}
	alter(t, path, "DELETE FROM fs_dentry")
	if got := findings(t, path); got != "2 has no name\n" {
		t.Errorf("found %q", got)
	}
}

func TestCheckOfADamagedFile(t *testing.T) {
	path := sample(t)
	data, err := os.ReadFile(path)
	must(t, err)
	for i := 5 * database.PageSize; i < len(data); i += database.PageSize {
		copy(data[i:], "no page of a tree begins like this")
	}
	must(t, os.WriteFile(path, data, 0o600))
	if got := findings(t, path); !strings.Contains(got, "0 ") {
		t.Errorf("found %q", got)
	}
}

func TestCheckRefusesWhatIsNoDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text")
	must(t, os.WriteFile(path, []byte("hello"), 0o600))
	if _, err := Check(path); !errors.Is(err, sqlvfs.ErrNotDatabase) {
		t.Error(err)
	}
	if _, err := Check(path + "2"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
