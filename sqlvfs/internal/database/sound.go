package database

import (
	"errors"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"
)

// badCheckpoint is a condition of rows of art_checkpoint that no checkpoint has, by itself. An inode number is below 2^52, and so a
// checkpoint's own number never runs out.
const badCheckpoint = `id NOT BETWEEN 1 AND (1 << 52) - 1 OR typeof(made) <> 'integer' OR typeof(made_nsec) <> 'integer' OR made_nsec NOT BETWEEN 0 AND 999999999
	OR typeof(kind) <> 'text' OR typeof(max_ino) <> 'integer' OR max_ino NOT BETWEEN 1 AND (1 << 52) - 1
	OR typeof(session) NOT IN ('integer', 'null') OR typeof(restored) NOT IN ('integer', 'null') OR typeof(redo) NOT IN ('integer', 'null')`

// Conditions of rows of art_checkpoint that no checkpoint has, also beside those before it: the highest number of an inode never falls. The
// first is for few rows, since it looks at all that are before each; the second looks at all once.
const (
	BadCheckpoint  = badCheckpoint + ` OR max_ino < (SELECT max(e.max_ino) FROM art_checkpoint e WHERE e.id < art_checkpoint.id)`
	BadCheckpoints = `id IN (SELECT id FROM (
		SELECT *, max(max_ino) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM art_checkpoint)
		WHERE max_ino < before OR ` + badCheckpoint + `)`
)

// BadXattr is a condition of rows of extended attributes that no attribute has.
const BadXattr = `typeof($name) <> 'text' OR length(CAST($name AS BLOB)) NOT BETWEEN 1 AND 255 OR instr(CAST($name AS BLOB), x'00')
	OR typeof($value) <> 'blob' OR length($value) > 65536`

// bad are conditions of rows, by table, that no row has which was there. $ stands for the prefix of columns.
var bad = map[*Kept]string{
	KeptInode: notIntegers("ino", "mode", "nlink", "uid", "gid", "size", "atime", "mtime", "ctime", "rdev", "atime_nsec", "mtime_nsec", "ctime_nsec") +
		` OR $ino = 0 OR $ino NOT BETWEEN 1 - (1 << 52) AND (1 << 52) - 1 OR $ino = 1 AND ($mode & 61440) <> 16384
		OR $mode & ~65535 OR ($mode & 61440) NOT IN (4096, 8192, 16384, 24576, 32768, 40960, 49152)
		OR ($uid | $gid | $rdev | $nlink) & ~4294967295 OR $size NOT BETWEEN 0 AND max_size()
		OR min($atime_nsec, $mtime_nsec, $ctime_nsec) < 0 OR max($atime_nsec, $mtime_nsec, $ctime_nsec) > 999999999`,
	KeptDentry:   notIntegers("parent_ino", "ino") + ` OR $ino IN (0, 1) OR $ino NOT BETWEEN 1 - (1 << 52) AND (1 << 52) - 1 OR typeof($name) <> 'text' OR NOT valid_name($name)`,
	KeptData:     notIntegers("ino", "chunk_index") + ` OR $chunk_index NOT BETWEEN 0 AND max_size() / chunk_size() - 1`,
	KeptSymlink:  `ifnull(length(CAST($target AS BLOB)), 0) NOT BETWEEN 1 AND 4095 OR instr(CAST($target AS BLOB), x'00')`,
	KeptNumber:   notIntegers("base_ino"),
	KeptOrigin:   notIntegers("base", "dev", "base_ino", "size", "mtime", "mtime_nsec", "ctime", "ctime_nsec", "data_limit") + ` OR $data_limit < 0 OR NOT valid_path($path)`,
	KeptWhiteout: notIntegers("parent_ino") + ` OR typeof($name) <> 'text' OR NOT valid_name($name)`,
	KeptXattr:    BadXattr,
	KeptBaseline: notIntegers("tree", "mode", "dev", "base_ino", "size", "mtime", "mtime_nsec", "ctime", "ctime_nsec", "row", "row_ctime", "row_ctime_nsec") +
		` OR NOT valid_path($path) OR $row NOT BETWEEN 1 - (1 << 52) AND (1 << 52) - 1`,
	KeptWorkspace: notIntegers("fsid", "dev", "ino", "birth", "birth_nsec", "whole") + ` OR typeof($name) <> 'text' OR NOT valid_name($name) OR typeof($path) <> 'blob'`,
	KeptBirth:     `typeof($birth) NOT IN ('integer', 'null')`,
}

func notIntegers(columns ...string) string {
	return "NOT integers(" + strings.Join(each("$%s", columns), ", ") + ")" // faster than one typeof for each
}

// Bad is a condition that a row of the table has, now or then, whose values cannot be. It uses [Functions].
func (k *Kept) Bad(prefix string) string { return Columns(bad[k], prefix) }

// Columns puts a prefix before the columns of a condition.
func Columns(condition, prefix string) string { return strings.ReplaceAll(condition, "$", prefix) }

// Functions gives a connection what conditions need of Go.
func Functions(c *sqlite3.Conn, chunkSize int64) error {
	predicate := func(name string, valid func(string) bool) error {
		return c.CreateFunction(name, 1, sqlite3.DETERMINISTIC, func(ctx sqlite3.Context, arg ...sqlite3.Value) {
			ctx.ResultBool(valid(string(arg[0].RawBlob())))
		})
	}
	number := func(name string, n int64) error {
		return c.CreateFunction(name, 0, sqlite3.DETERMINISTIC, func(ctx sqlite3.Context, _ ...sqlite3.Value) { ctx.ResultInt64(n) })
	}
	return errors.Join(
		c.CreateFunction("integers", -1, sqlite3.DETERMINISTIC, func(ctx sqlite3.Context, all ...sqlite3.Value) {
			ctx.ResultBool(!slices.ContainsFunc(all, func(v sqlite3.Value) bool { return v.Type() != sqlite3.INTEGER }))
		}),
		predicate("valid_name", ValidName),
		predicate("valid_path", ValidPath),
		number("chunk_size", chunkSize),
		number("max_size", MaxSize(chunkSize)),
	)
}
