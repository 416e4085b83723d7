// Package dbtest makes databases for the tests of the store and of fsck.
package dbtest

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

//go:embed layout-*.sql agentfs-sdk.db
var files embed.FS

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Sample makes a database with one of everything: a file of two and a half chunks with two names
// (inode 2), a directory (3) with a file in it (4), a symbolic link (5), a directory with an origin
// (6) and a whiteout, a file with an origin (7) that supplies its first half, and a file whose
// origin has one more name on the host (8).
func Sample(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.db")
	Alter(t, path, fmt.Sprintf("PRAGMA page_size=%d; PRAGMA journal_mode=WAL; PRAGMA application_id=%d; PRAGMA user_version=%d;",
		database.PageSize, database.ApplicationID, database.SchemaVersion)+database.FormatTables+database.ArtTables+`
		INSERT INTO fs_config VALUES ('chunk_size', '65536'), ('schema_version', '0.4');
		INSERT INTO fs_inode (ino, mode, nlink, size, atime, mtime, ctime) VALUES (1, 16877, 2, 0, 0, 0, 0),
			(2, 33188, 2, 163840, 0, 1, 1), (3, 16877, 2, 0, 0, 5, 0), (4, 33152, 1, 0, 0, 0, 0), (5, 41471, 1, 4, 0, 5, 0),
			(6, 16877, 1, 0, 0, 5, 0), (7, 33188, 1, 262144, 0, 5, 0), (8, 33188, 2, 0, 0, 5, 0);
		INSERT INTO fs_dentry VALUES (1, 'dir', 1, 3), (2, 'file', 1, 2), (3, 'file2', 1, 2), (4, 'link', 1, 5), (5, 'over', 1, 6),
			(6, 'part', 1, 7), (7, 'twin', 1, 8), (8, 'inner', 3, 4);
		INSERT INTO fs_data VALUES (2, 0, zeroblob(65536)), (2, 1, zeroblob(65536)), (2, 2, zeroblob(32768));
		INSERT INTO fs_symlink VALUES (5, 'file');
		INSERT INTO fs_origin VALUES (6, (1<<52) + 6), (7, (1<<52) + 7), (8, (1<<52) + 8);
		INSERT INTO art_base VALUES (1, 'ws');
		INSERT INTO art_origin VALUES (6, 1, 'over', 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0),
			(7, 1, 'sub/part', 0, 0, 0, 0, 0, 0, 0, 131072, 0, NULL, 0), (8, 1, 'twin', 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0);
		INSERT INTO art_whiteout VALUES (6, 'gone');`)
	return path
}

// Layout makes a database as a layout had it: with the tree of [Sample], and less content. Every layout
// that ever was has a file here, written by the program of its time.
func Layout(t testing.TB, layout int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "old.db")
	Alter(t, path, LayoutSQL(t, layout))
	return path
}

// LayoutSQL are the statements that make such a database.
func LayoutSQL(t testing.TB, layout int) string {
	t.Helper()
	sql, err := files.ReadFile(fmt.Sprintf("layout-%d.sql", layout))
	must(t, err)
	return string(sql)
}

// LayoutTree is what is in each.
var LayoutTree = map[string]string{"/file": "hi", "/file2": "hi", "/dir/inner": "", "/link": "-> file", "/part": "sub/part", "/twin": "twin", "/over": "over but gone"}

// SDK copies the database that agentfs-sdk has made (agentfs-sdk.mjs), and gives it what other tools of
// the format add.
func SDK(t testing.TB, sql string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sdk.db")
	must(t, os.WriteFile(path, SDKFile(), 0o600))
	Alter(t, path, sql)
	return path
}

// SDKFile is that database's file.
func SDKFile() []byte {
	data, err := files.ReadFile("agentfs-sdk.db")
	if err != nil {
		panic(err) // it is embedded
	}
	return data
}

// SDKTree is what the SDK has put into it.
var SDKTree = map[string]string{
	"/big.bin": func() string {
		var b strings.Builder
		for i := range 10000 {
			b.WriteByte(byte(i*7 + i>>8))
		}
		return b.String()
	}(),
	"/dir/sub/full":     strings.Repeat("x", 4096),
	"/link":             "-> notes/today.txt",
	"/notes/empty":      "",
	"/notes/today.txt":  "hello FROM the sdk\n",
	"/notes/\U0001F4D3": "a name of four bytes\n",
	"/wide":             "-> notes/\U0001F4D3",
}

// Alter runs statements in a database, which it makes if it is not there.
func Alter(t testing.TB, path, sql string) {
	t.Helper()
	c, err := sqlite3.Open(path)
	must(t, err)
	defer c.Close()
	must(t, c.Exec(sql))
}

// AlterInLog leaves what it changes in the log, as a process does that is killed.
func AlterInLog(t testing.TB, path, sql string) {
	t.Helper()
	c, err := sqlite3.Open(path)
	must(t, err)
	defer c.Close()
	_, err = c.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true)
	must(t, err)
	must(t, c.Exec("PRAGMA wal_autocheckpoint=0;"+sql))
}

// Bytes are those of a database and its log.
func Bytes(t testing.TB, path string) string {
	t.Helper()
	var all []byte
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + suffix)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		all = append(append(all, data...), '|')
	}
	return string(all)
}

// Dump returns all rows of a table.
func Dump(t testing.TB, path, table string) string {
	t.Helper()
	c, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READONLY)
	must(t, err)
	defer c.Close()
	q, _, err := c.Prepare("SELECT * FROM " + table)
	must(t, err)
	defer q.Close()
	var b strings.Builder
	for q.Step() {
		for i := range q.ColumnCount() {
			fmt.Fprintf(&b, "%s=%q ", q.ColumnName(i), q.ColumnRawText(i))
		}
		b.WriteByte('\n')
	}
	must(t, q.Err())
	return b.String()
}
