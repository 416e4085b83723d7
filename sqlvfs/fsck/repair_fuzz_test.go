package fsck

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs"
	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// nasty are values that a column can be damaged to, as SQL.
var nasty = []string{
	"0", "1", "2", "3", "4", "5", "6", "7", "8", "-1", "99", "33188", "16877", "41471", "1<<52", "1<<62", "-9223372036854775808", "9223372036854775807",
	"1.5", "9e300", "'x'", "''", "'..'", "'a/b'", "'file'", "'dir'", "x''", "x'00'", "x'66ff'", "zeroblob(100)", "zeroblob(70000)", "'lost+found'", "'#2'",
}

// damageRows changes rows at random, as long as the schema takes it.
func damageRows(t testing.TB, path string, r *rand.Rand) (done []string) {
	t.Helper()
	c, err := sqlite3.Open(path)
	must(t, err)
	defer c.Close()
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	for range 1 + r.IntN(6) {
		table := pick([]string{"fs_inode", "fs_inode", "fs_dentry", "fs_dentry", "fs_dentry", "fs_data", "fs_data", "fs_symlink", "fs_origin", "art_origin", "art_whiteout", "art_base", "art_orphan", "art_xattr", "art_birth", "fs_config"})
		var columns []string
		must(t, database.ForRows(c, "SELECT name FROM pragma_table_xinfo('"+table+"')", func(q *sqlite3.Stmt) { columns = append(columns, q.ColumnText(0)) }))
		n, err := database.QueryInt(c, "SELECT count(*) FROM "+table)
		must(t, err)
		// The rows of a table without row numbers are found by their key.
		key, row := "rowid", ""
		if table == "art_whiteout" {
			key = "(parent_ino, name)"
		}
		row = fmt.Sprintf("%s = (SELECT %s FROM %s LIMIT 1 OFFSET %d)", key, strings.Trim(key, "()"), table, r.IntN(int(n)+1))
		if table == "art_whiteout" {
			row = fmt.Sprintf("%s IN (SELECT %s FROM %s LIMIT 1 OFFSET %d)", key, strings.Trim(key, "()"), table, r.IntN(int(n)+1))
		}
		var sql string
		switch r.IntN(4) {
		case 0:
			sql = "DELETE FROM " + table + " WHERE " + row
		case 1:
			values := make([]string, len(columns))
			for i := range values {
				values[i] = pick(nasty)
			}
			sql = "INSERT OR IGNORE INTO " + table + " VALUES (" + strings.Join(values, ", ") + ")"
		default:
			sql = "UPDATE OR IGNORE " + table + " SET " + pick(columns) + " = " + pick(nasty) + " WHERE " + row
		}
		// A datatype mismatch is what an INTEGER PRIMARY KEY does not take.
		if err := c.Exec(sql); err != nil && !errors.Is(err, sqlite3.MISMATCH) {
			t.Fatalf("%s: %v", sql, err)
		}
		done = append(done, sql)
	}
	return done
}

// wholeFiles returns the files of a damaged database that Check has nothing to say about, neither
// about them nor about a directory that they are in.
func wholeFiles(t testing.TB, path string) map[string]string {
	t.Helper()
	list, err := Check(path)
	must(t, err)
	bad := map[int64]bool{}
	for _, f := range list {
		bad[f.Ino] = true
	}
	s, err := sqlvfs.Open(path, sqlvfs.Options{ReadOnly: true})
	if err != nil {
		return nil // the root itself, or the chunk size
	}
	defer s.Close()
	whole := map[string]string{}
	walk(s, func(path string, o object) bool {
		if bad[int64(o.Ino)] || strings.Count(path, "/") > 10 {
			return false
		}
		switch {
		case o.Origin != nil:
			whole[path] = "origin " + o.Origin.Path // the workspace may have a new name
		case o.Attr.IsRegular() && o.Attr.Size < 1<<24:
			data := make([]byte, o.Attr.Size)
			if _, err := s.ReadAt(o.Inode, data, 0, nil); err == nil || len(data) == 0 {
				whole[path] = string(data)
			}
		case o.Attr.IsSymlink():
			whole[path] = "-> " + o.target
		}
		return true
	})
	return whole
}

// Rows are damaged at random. After a repair Check finds nothing, and every file that was whole is
// what and where it was.
func FuzzRepairOfRows(f *testing.F) {
	for seed := range uint64(40) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		path := sample(t)
		alter(t, path, "UPDATE fs_data SET data=CAST(replace(hex(zeroblob(length(data)/2)), '0', 'A') AS BLOB)")
		done := damageRows(t, path, r)
		want := wholeFiles(t, path)
		backup, told := repair(t, path)
		if got := findings(t, path); got != "" {
			t.Errorf("after\n%s\nand\n%s\ncheck finds\n%s", strings.Join(done, "\n"), told, got)
		}
		if backup == "" && told != "" {
			t.Errorf("told %q", told)
		}
		got := wholeFiles(t, path)
		for name, content := range want {
			if got[name] != content {
				t.Errorf("after\n%s\nand\n%s\n%s has %d bytes and had %d", strings.Join(done, "\n"), told, name, len(got[name]), len(content))
			}
		}
		s, err := sqlvfs.Open(path, sqlvfs.Options{})
		must(t, err)
		must(t, s.Close())
	})
}

// forest makes a database of small pages with many files, which hold their name again and again, and
// fit on a page: what an overflow page holds is anything.
func forest(t *testing.T) (path string, names []string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "a.db")
	s := openTest(t, path)
	for i := range 150 {
		name := fmt.Sprintf("file%03d", i)
		in := create(t, s, name, bytes.Repeat([]byte(name), 70))
		must(t, s.Update(func(tx *sqlvfs.Tx) error { return tx.SetXattr(in, "user.name", []byte(name)) }))
		names = append(names, name)
	}
	must(t, s.Close())
	alter(t, path, "PRAGMA journal_mode=DELETE; PRAGMA page_size=1024; VACUUM")
	return path, names
}

// One page after the other is overwritten. What can be repaired is sound then; no file has
// content that is not its own; and most files are there, under their names or in lost+found.
func TestRepairAroundUnreadablePages(t *testing.T) {
	sound, names := forest(t)
	whole, err := os.ReadFile(sound)
	must(t, err)
	const page = 1024
	pages := len(whole) / page
	step := max(1, pages/25)
	fewest, refused := len(names), 0
	for n := 1; n < pages; n += step {
		path := filepath.Join(t.TempDir(), "b.db")
		damaged := bytes.Clone(whole)
		copy(damaged[n*page:], bytes.Repeat([]byte("no page of a tree is like this. "), page/32))
		must(t, os.WriteFile(path, damaged, 0o600))
		backup, err := Repair(path, func(Finding) {})
		if err != nil {
			refused++
			if now, _ := os.ReadFile(path); !bytes.Equal(now, damaged) {
				t.Errorf("page %d: not repaired (%v), but changed", n, err)
			}
			continue
		}
		if got := findings(t, path); got != "" {
			t.Errorf("page %d: %s", n, got)
		}
		if backup == "" {
			continue // a page that is not used
		}
		found := 0
		s, err := sqlvfs.Open(path, sqlvfs.Options{ReadOnly: true})
		must(t, err)
		for name, content := range portrait(t, s) {
			base := filepath.Base(name)
			own := strings.HasPrefix(base, "#")
			for i := 0; i < len(content); i += 7 {
				part := content[i:min(i+7, len(content))]
				if part != base && strings.Trim(part, "\x00") != "" && !own {
					t.Fatalf("page %d: %s holds %q", n, name, part)
				}
			}
			if len(content) == 490 && !strings.Contains(content, "\x00") {
				found++
			}
		}
		must(t, s.Close())
		fewest = min(fewest, found)
	}
	if fewest < len(names)/2 || refused > 3 {
		t.Errorf("of %d files at least %d were found; %d of %d files were refused", len(names), fewest, refused, pages/step)
	}
}
