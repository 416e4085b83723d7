package fs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/riverlytech/art/sqlvfs"
	"github.com/riverlytech/art/sqlvfs/fsck"
)

// specimen makes a base, and a database over it with something of everything.
func specimen(t rapid.TB, dir string) (base, db string) {
	base, db = filepath.Join(dir, "base"), filepath.Join(dir, "specimen.db")
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(base, "dir/sub"), 0o755))
	for i, path := range []string{"file", "large", "dir/a", "dir/b", "dir/sub/c"} {
		must(os.WriteFile(filepath.Join(base, path), someBytes(1000+i*70_000, i), 0o644))
	}
	must(os.Symlink("file", filepath.Join(base, "symlink")))
	s := &inProcess{base: base, db: db}
	s.begin(t)
	defer s.end()
	for _, path := range []string{"home", "ws/large", "ws/dir/a"} {
		f, err := s.open(path, unix.O_RDWR|unix.O_CREAT, 0o644)
		must(err)
		must(f.WriteAt(someBytes(100_000, len(path)), 65_000))
		f.Release()
	}
	must(errors.Join(
		s.mkdir("d", 0o755), s.mkdir("d/e", 0o755), s.symlink("../home", "d/symlink"),
		s.link("home", "d/link"), s.mknod("fifo", unix.S_IFIFO|0o644), s.unlink("ws/file"),
		s.rename("ws/dir", "ws/moved"), s.link("ws/moved/b", "b"),
	))
	home, err := s.lstat("home")
	must(err)
	must(s.overlay.Setxattr(Caller{}, home.Ino, "user.a", []byte("value"), 0))
	return base, db
}

// oddities are values that some column should not have.
var oddities = []any{
	nil, 0, 1, 2, 3, 4, 5, 6, -1, math.MaxInt64, math.MinInt64, 1 << 31, 1 << 32, 1<<52 - 1, 1 << 52, 1<<52 + 5, 1 << 53,
	0o040755, 0o100644, 0o120777, 0o170000, 65536, 1e300, "", "a", ".", "..", "a/b", "../../etc", "/", "dir", "ws",
	strings.Repeat("x", 300), strings.Repeat("../", 2000), "\xff\xfe", []byte{}, []byte("blob"), make([]byte, 70_000), "64", "512", "16777216",
}

// damage changes a database as the edits say, five bytes each: the values of rows, or bytes of the file.
func damage(t *testing.T, path string, edits []byte) {
	c, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var tables []string
	q, _, err := c.Prepare("SELECT name FROM sqlite_schema WHERE type='table' ORDER BY name")
	if err != nil {
		t.Fatal(err)
	}
	for q.Step() {
		tables = append(tables, q.ColumnText(0))
	}
	q.Close()
	var bytes [][]byte
	for edit := range slices.Chunk(edits, 5) {
		if len(edit) < 5 {
			break
		}
		if edit[0]%2 == 1 {
			bytes = append(bytes, edit)
			continue
		}
		oddRow(t, c, tables[int(edit[1])%len(tables)], int(edit[2]), int(edit[3]), int(edit[4]))
	}
	// The log belongs to the file that is damaged.
	if err := errors.Join(c.Exec("PRAGMA journal_mode=DELETE"), c.Close()); err != nil {
		t.Fatal(err)
	}
	if len(bytes) == 0 {
		return
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, edit := range bytes {
		at := int(binary.BigEndian.Uint32([]byte{0, edit[1], edit[2], edit[3]})) % len(data)
		data[at] = edit[4]
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// oddRow puts an oddity into a column of a row, deletes the row, or repeats it.
func oddRow(t *testing.T, c *sqlite3.Conn, table string, column, row, odd int) {
	var names []string
	q, _, err := c.Prepare("SELECT * FROM " + table)
	if err != nil {
		t.Fatal(err)
	}
	for i := range q.ColumnCount() {
		names = append(names, q.ColumnName(i))
	}
	q.Close()
	key := names[0]
	which := fmt.Sprintf("WHERE %s = (SELECT %s FROM %s LIMIT 1 OFFSET %d %% max(1, (SELECT count(*) FROM %s)))", key, key, table, row, table)
	if odd == 255 {
		if err := c.Exec("DELETE FROM " + table + " " + which); err != nil {
			t.Fatal(err)
		}
		return
	}
	u, _, err := c.Prepare(fmt.Sprintf("UPDATE OR IGNORE %s SET %s = ? %s", table, names[column%len(names)], which))
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	switch v := oddities[odd%len(oddities)].(type) {
	case nil:
		u.BindNull(1)
	case int:
		u.BindInt64(1, int64(v))
	case float64:
		u.BindFloat(1, v)
	case string:
		u.BindRawText(1, []byte(v))
	case []byte:
		u.BindBlob(1, v)
	}
	// What the schema refuses cannot be in a database.
	if err := u.Exec(); err != nil && !errors.Is(err, sqlite3.CONSTRAINT) && !errors.Is(err, sqlite3.MISMATCH) {
		t.Fatal(err)
	}
}

// use does to a tree what a session would: everything is looked at, and with change something is
// done to it. Errors are no matter, but it ends, and takes no more memory than a tree of that size
// may.
func use(s *inProcess, change bool) {
	visited := 0
	var walk func(dir string, depth int)
	walk = func(dir string, depth int) {
		ents, _ := s.readdir(dir, 7, func([]DirEntry) {})
		for _, e := range ents {
			if visited++; e.Name == "." || e.Name == ".." || visited > 200 || depth > 8 {
				continue
			}
			path := strings.TrimPrefix(dir+"/"+e.Name, "/")
			got, err := s.lstat(path)
			if err != nil {
				continue
			}
			s.readlink(path)
			names, _ := s.overlay.Listxattr(Caller{}, got.Ino)
			for _, name := range names {
				s.overlay.Getxattr(got.Ino, name)
			}
			if got.Attr.IsDir() {
				walk(path, depth+1)
			} else if f, err := s.open(path, unix.O_RDWR, 0); err == nil {
				p := make([]byte, 10_000)
				for _, off := range []int64{0, 60_000, got.Attr.Size - 10, got.Attr.Size / 2} {
					f.ReadAt(p, max(off, 0))
				}
				if change {
					f.WriteAt(p, 65_000)
					f.truncate(66_000)
				}
				f.Release()
			}
			if change {
				switch visited % 4 {
				case 0:
					s.rename(path, fmt.Sprintf("renamed-%d", visited))
				case 1:
					s.unlink(path)
				case 2:
					s.link(path, fmt.Sprintf("linked-%d", visited))
				}
			}
		}
	}
	walk("", 0)
	s.forget()
}

// Whatever is in a database, opening, walking, changing and checking it ends, with an error at most.
func FuzzDamagedDatabase(f *testing.F) {
	dir := f.TempDir()
	base, db := specimen(f, dir)
	data, err := os.ReadFile(db)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(false, []byte{})
	f.Add(true, []byte{})
	for odd := range oddities {
		// One odd value in each of some columns of every table.
		var edits []byte
		for table := range byte(12) {
			edits = append(edits, 0, table, byte(odd)%7, byte(odd), byte(odd))
		}
		f.Add(odd%2 == 0, edits)
	}
	f.Fuzz(func(t *testing.T, readOnly bool, edits []byte) {
		path := filepath.Join(t.TempDir(), "a.db")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		damage(t, path, edits)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		begin := time.Now()

		fsck.Check(path)
		s := &inProcess{base: base, db: path, disconnect: func() {}}
		s.store, err = sqlvfs.Open(path, sqlvfs.Options{ReadOnly: readOnly})
		if err == nil {
			if s.host, err = OpenHost(base, path); err != nil {
				t.Fatal(err)
			}
			s.overlay, err = NewOverlay(OverlayOptions{Store: s.store, Base: s.host, Name: workspace, Logf: func(string, ...any) {}})
			if err != nil {
				t.Fatal(err)
			}
			s.kernel = newKernel(s.overlay)
			use(s, false)
			use(s, !readOnly)
			s.end()
			fsck.Check(path)
		}

		runtime.ReadMemStats(&after)
		if took := time.Since(begin); took > 20*time.Second {
			t.Errorf("took %v", took)
		}
		if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 512 {
			t.Errorf("allocated %d MiB in all", n)
		}
	})
}

// A directory may be read from any offset, in any order, while entries come and go.
func FuzzDirectoryOffset(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0, 5})
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\x00\x03\x01\xff\xff\xff\xff\xff\xff\xff\xff\x07\x00\x00\x00\x00\x00\x00\x00\x00\xff"))
	f.Add([]byte("\x7f\xff\xff\xff\xff\xff\xff\xff\x02\x80\x00\x00\x00\x00\x00\x00\x00\x04"))
	s := &inProcess{}
	s.base, s.db = specimen(f, f.TempDir())
	s.begin(f)
	f.Cleanup(s.end)
	f.Fuzz(func(t *testing.T, reads []byte) {
		e, err := s.lstat("ws/moved")
		if err != nil {
			t.Fatal(err)
		}
		defer s.forget()
		for read := range slices.Chunk(reads, 9) {
			if len(read) < 9 {
				break
			}
			offset, room, plus := binary.BigEndian.Uint64(read), int(read[8]%8), read[8]&128 != 0
			for last := offset; ; {
				n := 0
				err := s.overlay.ReadDir(e.Ino, last, plus, func(e DirEntry) bool {
					if n == room {
						return false
					}
					if n++; e.Name == "" || e.Offset <= last {
						t.Fatalf("entry %q at offset %d after %d", e.Name, e.Offset, last)
					}
					last = e.Offset
					if plus && e.Entry.Ino != 0 {
						s.owed[e.Entry.Ino]++
					}
					return true
				})
				if err != nil {
					t.Fatal(err)
				}
				if n == 0 {
					break
				}
			}
			if read[8]&64 != 0 {
				if s.mkdir("ws/moved/new", 0o755) != nil {
					s.rmdir("ws/moved/new")
				}
			}
		}
	})
}
