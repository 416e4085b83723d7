package sqlvfs

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/riverlytech/art/sqlvfs/fsck"
	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// filesBeside returns what there is of a database besides the file itself.
func filesBeside(t *testing.T, path string) []string {
	t.Helper()
	names, err := filepath.Glob(path + "-*")
	must(t, err)
	return names
}

// What is refused stays as it is, byte for byte, also when the reason is in the log of a session
// that was killed.
func TestRefusedStaysAsItIs(t *testing.T) {
	for _, c := range []struct {
		name, sql string
		want      error
	}{
		{"newer", "PRAGMA user_version=99", ErrNewer},
		{"another application's", "PRAGMA application_id=1", ErrForeign},
		{"no marks and no tables", "PRAGMA application_id=0; DROP TABLE fs_data", ErrForeign},
		{"a trigger", "CREATE TRIGGER t AFTER INSERT ON fs_inode BEGIN DELETE FROM fs_data; END", ErrCorrupt},
		{"a view for a table", "DROP TABLE fs_inode; CREATE VIEW fs_inode AS SELECT 1", ErrCorrupt},
		{"a computed column", "ALTER TABLE fs_inode ADD COLUMN x AS (hex(zeroblob(1000)))", ErrCorrupt},
		{"an index of an expression", "CREATE INDEX i ON fs_dentry (hex(zeroblob(1000)))", ErrCorrupt},
		{"a column that we do not write", "ALTER TABLE fs_dentry RENAME TO o; CREATE TABLE fs_dentry (id INTEGER PRIMARY KEY, name TEXT, parent_ino INTEGER, ino INTEGER, x NOT NULL, UNIQUE (parent_ino, name))", ErrCorrupt},
		{"names that may come twice", "ALTER TABLE fs_dentry RENAME TO o; CREATE TABLE fs_dentry (id INTEGER PRIMARY KEY, name TEXT, parent_ino INTEGER, ino INTEGER)", ErrCorrupt},
		{"no table", "DROP TABLE art_origin", ErrCorrupt},
		{"no chunk size", "DELETE FROM fs_config", ErrCorrupt},
		{"no root", "DELETE FROM fs_inode", ErrCorrupt},
		{"root is a file", "UPDATE fs_inode SET mode=33188", ErrCorrupt},
	} {
		for where, alter := range map[string]func(testing.TB, string, string){"": alter, " in the log": alterInLog} {
			t.Run(c.name+where, func(t *testing.T) {
				path := sample(t)
				alter(t, path, c.sql)
				before, beside := bytesOf(t, path), filesBeside(t, path)
				for _, readOnly := range []bool{true, false} {
					if s, err := Open(path, Options{ReadOnly: readOnly, Create: !readOnly, Root: rootAttr}); !errors.Is(err, c.want) {
						t.Errorf("opened read-only %v: %v, want %v", readOnly, err, c.want)
						if err == nil {
							s.Close()
						}
					}
					if bytesOf(t, path) != before {
						t.Errorf("opened read-only %v: the file has changed", readOnly)
					}
					if now := filesBeside(t, path); !slices.Equal(now, beside) {
						t.Errorf("opened read-only %v: there is %q, and was %q", readOnly, now, beside)
					}
				}
				fsck.Check(path)
				if bytesOf(t, path) != before {
					t.Error("checked: the file has changed")
				}
			})
		}
	}
}

// What is no database at all is refused as it is, and nobody waits for it.
func TestNoDatabase(t *testing.T) {
	dir := t.TempDir()
	path := func(name, content string) string {
		p := filepath.Join(dir, name)
		must(t, os.WriteFile(p, []byte(content), 0o600))
		return p
	}
	must(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	header, err := os.ReadFile(sample(t))
	must(t, err)
	for name, p := range map[string]string{
		"directory":       dir,
		"fifo":            filepath.Join(dir, "fifo"),
		"device":          "/dev/null",
		"text":            path("text", "hello"),
		"a header":        path("header", string(header[:100])),
		"half a page":     path("half", string(header[:database.PageSize/2])),
		"zeros":           path("zeros", string(make([]byte, 1<<16))),
		"header, garbage": path("garbage", string(header[:100])+strings.Repeat("garbage ", 1<<13)),
	} {
		for _, readOnly := range []bool{true, false} {
			done := make(chan struct{})
			go func() {
				defer close(done)
				if s, err := Open(p, Options{ReadOnly: readOnly, Create: !readOnly, Root: rootAttr}); err == nil {
					t.Errorf("%s was opened", name)
					s.Close()
				} else if !errors.Is(err, ErrNotDatabase) && !errors.Is(err, ErrCorrupt) {
					t.Errorf("%s: %v", name, err)
				}
			}()
			select {
			case <-done:
			case <-time.After(30 * time.Second):
				t.Fatalf("%s: waits", name)
			}
		}
	}
}

// An empty file is one in which a database is yet to be made, and only a session makes one.
func TestEmptyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "empty")
	must(t, os.WriteFile(path, nil, 0o600))
	for _, opt := range []Options{{ReadOnly: true}, {}} {
		if _, err := Open(path, opt); !errors.Is(err, ErrNotDatabase) {
			t.Errorf("%+v: %v", opt, err)
		}
	}
	if _, err := fsck.Repair(path, func(fsck.Finding) {}); !errors.Is(err, ErrNotDatabase) {
		t.Errorf("repaired: %v", err)
	}
	if bytesOf(t, path) != "||" {
		t.Error("the file has changed")
	}
	must(t, openTest(t, path).Close())
}

// A log and an index that someone has left beside the database are worth what SQLite makes of
// them: an empty log is none, one without its marks is none, and an index is made anew.
func TestHostileLog(t *testing.T) {
	for name, c := range map[string]struct{ wal, shm []byte }{
		"empty":   {[]byte{}, nil},
		"garbage": {bytes.Repeat([]byte("garbage "), 1<<14), bytes.Repeat([]byte{0xff}, 1<<16)},
		"index":   {nil, bytes.Repeat([]byte{0xff}, 1<<16)},
	} {
		for _, readOnly := range []bool{true, false} {
			path := sample(t)
			if c.wal != nil {
				must(t, os.WriteFile(path+"-wal", c.wal, 0o600))
			}
			if c.shm != nil {
				must(t, os.WriteFile(path+"-shm", c.shm, 0o600))
			}
			s, err := Open(path, Options{ReadOnly: readOnly})
			if err != nil {
				t.Errorf("%s, read-only %v: %v", name, readOnly, err)
				continue
			}
			if got := len(content(t, s, lookup(t, s, "file"))); got != 5*DefaultChunkSize/2 {
				t.Errorf("%s, read-only %v: the file is %d bytes long", name, readOnly, got)
			}
			must(t, s.Close())
		}
	}
}

// Rows that make no sense end in an error for the one who asks for them, and in nothing else.
func TestHostileRows(t *testing.T) {
	const long = "replace(hex(zeroblob(5000)), '0', 'n')"
	for _, c := range []struct {
		name, sql string
		shows     string // a name in the root that must be there all the same
	}{
		{"names", `UPDATE fs_dentry SET name='..' WHERE ino=4; UPDATE fs_dentry SET name='a/b' WHERE ino=5;
			UPDATE fs_dentry SET name='' WHERE ino=6; UPDATE fs_dentry SET name='a'||char(0) WHERE ino=7; UPDATE fs_dentry SET name=` + long + ` WHERE ino=8`, "file"},
		{"size", "UPDATE fs_inode SET size=1<<62 WHERE ino=2", "file"},
		{"largest size", "UPDATE fs_inode SET size=9223372036854775807 WHERE ino=2", "file"},
		{"negative size", "UPDATE fs_inode SET size=-1 WHERE ino=2", "dir"},
		{"negative everything", "UPDATE fs_inode SET nlink=-1, uid=-1, gid=-1, rdev=-1, atime=-1<<62, mtime=-1<<62, ctime=-1<<62, atime_nsec=-1, mtime_nsec=-1, ctime_nsec=-1 WHERE ino>1", "file"},
		{"text for numbers", "UPDATE fs_inode SET nlink='x', uid='x', gid='x', size='x', atime='x' WHERE ino>1; UPDATE fs_dentry SET ino='x' WHERE ino=8; UPDATE fs_data SET chunk_index='x' WHERE chunk_index=0", "file"},
		{"blobs for numbers", "UPDATE fs_inode SET mode=x'00ff' WHERE ino=2; UPDATE fs_dentry SET parent_ino=zeroblob(1000) WHERE ino=4", "dir"},
		{"content that is too long", "UPDATE fs_data SET data=zeroblob(20000000) WHERE chunk_index=0", "dir"},
		{"a name that is too long to read", "UPDATE fs_dentry SET name=zeroblob(20000000) WHERE ino=4", "file"},
		{"a target that is too long to read", "UPDATE fs_symlink SET target=zeroblob(20000000)", "file"},
		{"content before the start and at the end of numbers", "INSERT INTO fs_data VALUES (2, -9223372036854775808, 'x'), (2, 9223372036854775807, 'x')", "file"},
		{"a loop", "INSERT INTO fs_dentry (name, parent_ino, ino) VALUES ('up', 6, 3), ('down', 3, 6)", "dir"},
		{"the root below", "INSERT INTO fs_dentry (name, parent_ino, ino) VALUES ('root', 3, 1)", "dir"},
		{"an origin elsewhere", "UPDATE art_origin SET path=CAST('../../etc/passwd' AS BLOB), data_limit=-1, base_ino=-1, size=-1", "file"},
		{"numbers of the host that hide others", "UPDATE fs_origin SET base_ino=1; INSERT INTO fs_origin VALUES (2, -1)", "file"},
		{"whiteouts of what is there", "INSERT INTO art_whiteout SELECT parent_ino, name FROM fs_dentry", "file"},
		{"orphans that are there", "INSERT INTO art_orphan SELECT ino FROM fs_inode; INSERT INTO art_orphan VALUES (-1), (1<<62)", "file"},
		{"attributes", "INSERT INTO art_xattr VALUES (2, '', 'x'), (2, x'00', 5), (2, 'user.long', zeroblob(20000000))", "dir"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := sample(t)
			alter(t, path, c.sql)
			for _, readOnly := range []bool{true, false} {
				s, err := Open(path, Options{ReadOnly: readOnly})
				must(t, err)
				if _, ok := visit(s)[c.shows]; !ok {
					t.Errorf("read-only %v: %q is not there", readOnly, c.shows)
				}
				must(t, s.Close())
			}
			if _, err := fsck.Check(path); err != nil {
				t.Error(err)
			}
		})
	}
}

// visit asks for everything in a tree and forgives every error. It returns the names in the root.
func visit(s *Store) map[string]bool {
	names, seen := map[string]bool{}, map[Ino]bool{}
	var walk func(ino Ino)
	walk = func(ino Ino) {
		in, err := Query(s, func(tx *Tx) (*Inode, error) { return tx.Get(ino) })
		if err != nil || seen[ino] {
			return
		}
		defer put(s, in)
		seen[ino] = true
		s.ReadAt(in, make([]byte, 3*DefaultChunkSize), 0, bytes.NewReader(nil))
		s.ReadAt(in, make([]byte, DefaultChunkSize), max(in.Attr.Size-1, 0), io.NewSectionReader(bytes.NewReader(nil), 0, 0))
		var children []Child
		step(s, func(tx *Tx) {
			children, _ = tx.Children(in)
			if xattrs, err := tx.Xattrs(in); err == nil && len(xattrs) > 0 {
				tx.Xattr(in, xattrs[0])
			}
		})
		for _, c := range children {
			if ino == RootIno {
				names[c.Name] = true
			}
			walk(c.Ino)
		}
	}
	walk(RootIno)
	return names
}

// The log is beside one name of a database: by another one, what was written last is not seen, and what is written is lost.
func TestSeveralNames(t *testing.T) {
	path := sample(t)
	other := path + ".other"
	must(t, os.Link(path, other))
	for _, name := range []string{path, other} {
		for _, readOnly := range []bool{true, false} {
			if s, err := Open(name, Options{ReadOnly: readOnly}); !errors.Is(err, ErrNames) {
				t.Errorf("opened, read-only %v: %v", readOnly, err)
				if err == nil {
					s.Close()
				}
			}
		}
		if beside := filesBeside(t, name); len(beside) > 0 {
			t.Errorf("left %v", beside)
		}
	}
	must(t, os.Remove(other))
	s, err := Open(path, Options{})
	must(t, err)
	must(t, s.Close())
}
