package fsck

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/riverlytech/art/sqlvfs"
	"github.com/riverlytech/art/sqlvfs/internal/database"
	"github.com/riverlytech/art/sqlvfs/internal/dbtest"
)

// repair repairs a database and returns what was told.
func repair(t *testing.T, path string) (backup, told string) {
	t.Helper()
	var b strings.Builder
	backup, err := Repair(path, func(f Finding) {
		fmt.Fprintf(&b, "%d %s: %s\n", f.Ino, f.Text, f.Mended)
		if f.Mended == "" {
			t.Errorf("nothing was done about %q", f.Text)
		}
	})
	if err != nil {
		t.Fatalf("%v, after\n%s", err, b.String())
	}
	return backup, b.String()
}

func TestRepairLeavesASoundDatabaseAlone(t *testing.T) {
	path := sample(t)
	before := bytesOf(t, path)
	if backup, told := repair(t, path); backup != "" || told != "" {
		t.Errorf("%q, %q", backup, told)
	}
	if bytesOf(t, path) != before {
		t.Error("the file has changed")
	}
}

// Each violation is mended, the old file stays, and what has nothing to do with it is as it was.
func TestRepairMendsEachViolation(t *testing.T) {
	sound := sample(t)
	s, err := sqlvfs.Open(sound, sqlvfs.Options{ReadOnly: true})
	must(t, err)
	want := portrait(t, s)
	must(t, s.Close())
	for _, c := range violations {
		t.Run(c.name, func(t *testing.T) {
			path := sample(t)
			alter(t, path, c.sql)
			damaged := bytesOf(t, path)
			backup, told := repair(t, path)
			if got := findings(t, path); got != "" {
				t.Errorf("after the repair: %s", got)
			}
			if what := strings.TrimSuffix(strings.SplitN(c.want, " ", 2)[1], "\n"); !strings.Contains(told, what) {
				t.Errorf("told\n%snot %q", told, what)
			}
			if bytesOf(t, backup) != damaged {
				t.Errorf("%s is not the old file", backup)
			}
			s, err := sqlvfs.Open(path, sqlvfs.Options{})
			must(t, err)
			got := portrait(t, s)
			must(t, s.Close())
			changed := 0
			for name, content := range want {
				if got[name] != content {
					changed++
				}
			}
			// Two names of one file are the most that one violation is about, and all that is in it
			// where it is of a directory.
			if changed > 2 && !strings.Contains(c.name, "no table") && !strings.Contains(c.name, "base") {
				t.Errorf("%d of %v are not as they were: %v\n%s", changed, len(want), strings.Join(keys(got), " "), told)
			}
		})
	}
}

func keys(m map[string]string) (list []string) {
	for k, v := range m {
		list = append(list, fmt.Sprintf("%s (%d)", k, len(v)))
	}
	return list
}

// What has lost its place keeps its content.
func TestRepairFindsWhatWasLost(t *testing.T) {
	for _, c := range []struct {
		name, sql string
		want      map[string]int // length of files
	}{
		{"a name", "DELETE FROM fs_dentry WHERE ino=2", map[string]int{"/lost+found/#2": 163840}},
		{"a file where lost+found would be", "DELETE FROM fs_dentry WHERE ino=2; UPDATE fs_dentry SET name='lost+found' WHERE ino=7", map[string]int{"/lost+found-2/#2": 163840}},
		{"the file's row", "DELETE FROM fs_inode WHERE ino=2", map[string]int{"/file": 163840, "/file2": 163840}},
		{"row and name", "DELETE FROM fs_inode WHERE ino=2; DELETE FROM fs_dentry WHERE ino=2", map[string]int{"/lost+found/#2": 163840}},
		{"a directory's row", "DELETE FROM fs_inode WHERE ino=3", map[string]int{"/dir/inner": 0}},
		{"a directory's row and name", "DELETE FROM fs_inode WHERE ino=3; DELETE FROM fs_dentry WHERE ino=3", map[string]int{"/lost+found/#3/inner": 0}},
		{"the root", "DELETE FROM fs_inode WHERE ino=1", map[string]int{"/file": 163840, "/dir/inner": 0}},
		{"the size", "UPDATE fs_inode SET size=-5 WHERE ino=2", map[string]int{"/file": 163840}},
		{"the size, too small", "UPDATE fs_inode SET size=5 WHERE ino=2", map[string]int{"/file": 5, "/lost+found/#9": 65536 + 32768, "/lost+found/#10": 65536}},
		{"empty content of nothing", "INSERT INTO fs_data VALUES (99, 0, x''), (98, 0, x''), (98, -1, 'AA'), (3, 0, x'')", map[string]int{"/file": 163840, "/lost+found/#102": 2}},
		{"a loop", "UPDATE fs_dentry SET parent_ino=6 WHERE ino=3; UPDATE fs_dentry SET parent_ino=3 WHERE ino=6", map[string]int{"/lost+found/#3/inner": 0}},
		{"a second place", "INSERT INTO fs_dentry (id, name, parent_ino, ino) VALUES (-5, 'up', 6, 3), (-6, 'down', 3, 6)", map[string]int{"/dir/inner": 0}},
		{"the chunk size", "DELETE FROM fs_config", map[string]int{"/file": 163840}},
		{"a name of bytes", "UPDATE fs_dentry SET name=x'66ff' WHERE ino=4", map[string]int{"/dir/f\xff": 0}},
		{"a target that is too long", "UPDATE fs_symlink SET target=replace(hex(zeroblob(50000)), '0', 'n')", map[string]int{"/link": 100000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := sample(t)
			// Content that is no zeros.
			alter(t, path, "UPDATE fs_data SET data=CAST(replace(hex(zeroblob(length(data)/2)), '0', 'A') AS BLOB);"+c.sql)
			_, told := repair(t, path)
			s, err := sqlvfs.Open(path, sqlvfs.Options{})
			must(t, err)
			defer s.Close()
			got := portrait(t, s)
			for name, length := range c.want {
				if len(got[name]) != length || strings.Trim(got[name], "An") != "" {
					t.Errorf("%s has %d bytes, want %d; there are %v\n%s", name, len(got[name]), length, keys(got), told)
				}
			}
		})
	}
}

// Backups are numbered, and none is overwritten.
func TestRepairKeepsEveryOldFile(t *testing.T) {
	path := sample(t)
	seen := map[string]bool{}
	for range 3 {
		alter(t, path, "UPDATE fs_inode SET nlink=77 WHERE ino=2")
		backup, _ := repair(t, path)
		if seen[backup] || filepath.Dir(backup) != filepath.Dir(path) {
			t.Errorf("%s again", backup)
		}
		seen[backup] = true
		if got := findings(t, backup); !strings.Contains(got, "77 links") {
			t.Errorf("%s: %q", backup, got)
		}
	}
	if ents, err := os.ReadDir(filepath.Dir(path)); err != nil || len(ents) != 4 {
		t.Errorf("%v, %v", ents, err)
	}
}

func TestRepairNeedsTheDatabaseAlone(t *testing.T) {
	path := sample(t)
	alter(t, path, "UPDATE fs_inode SET nlink=77 WHERE ino=2")
	before := bytesOf(t, path)
	try := func() error {
		_, err := Repair(path, func(Finding) {})
		return err
	}
	s := openTest(t, path)
	var used *sqlvfs.InUseError
	if err := try(); !errors.As(err, &used) || used.PID != os.Getpid() {
		t.Errorf("while a session runs: %v", err)
	}
	must(t, s.Close())
	r, err := sqlvfs.Open(path, sqlvfs.Options{ReadOnly: true})
	must(t, err)
	if err := try(); !errors.Is(err, sqlvfs.ErrBeingRead) {
		t.Errorf("while it is read: %v", err)
	}
	must(t, r.Close())
	if bytesOf(t, path) != before {
		t.Error("the file has changed")
	}
	must(t, try())
}

// What was left in the log is part of what is repaired, and of the old file that stays.
func TestRepairOfALog(t *testing.T) {
	path := sample(t)
	alterInLog(t, path, "UPDATE fs_inode SET uid=4711, nlink=77 WHERE ino=2")
	backup, _ := repair(t, path)
	for _, p := range []string{path, backup} {
		s, err := sqlvfs.Open(p, sqlvfs.Options{ReadOnly: true})
		must(t, err)
		if uid := ownerOf(s, "/file"); uid != 4711 {
			t.Errorf("%s: owner is %d", p, uid)
		}
		must(t, s.Close())
	}
	if got := findings(t, path); got != "" {
		t.Error(got)
	}
}

// ownerOf is the owner of what has a path.
func ownerOf(s *sqlvfs.Store, path string) (uid uint32) {
	walk(s, func(p string, o object) bool {
		if p == path {
			uid = o.Attr.UID
		}
		return true
	})
	return uid
}

// The log of processes comes along, but for what cannot be.
func TestRepairKeepsTheLogOfProcesses(t *testing.T) {
	path := sample(t)
	alter(t, path, logTables)
	before := map[string]string{"art_process": dump(t, path, "art_process"), "art_change": dump(t, path, "art_change")}
	alter(t, path, "INSERT INTO art_process VALUES (2, 1, 3, 8, x'', 0, NULL, 1, 1, NULL, NULL, NULL); INSERT INTO art_change VALUES (2, 0, 2, 0, '', 2, 1, 1)")
	_, told := repair(t, path)
	for table, rows := range before {
		if got := dump(t, path, table); got != rows {
			t.Errorf("%s holds\n%sand held\n%s%s", table, got, rows, told)
		}
	}
}

// Tables of others come along with their rows and keys; what would run code does not.
func TestRepairKeepsWhatIsOthers(t *testing.T) {
	path := sdkDatabase(t, `
		CREATE TABLE extra (a TEXT PRIMARY KEY, b);
		CREATE TABLE computed (a, b AS (hex(a)));
		CREATE TABLE stored (a, b AS (hex(a)) STORED);
		CREATE INDEX computed_a ON computed (a);
		CREATE INDEX extra_b ON extra (b);
		CREATE INDEX extra_upper ON extra (upper(a));
		CREATE VIEW v AS SELECT * FROM extra;
		CREATE TRIGGER t AFTER INSERT ON fs_inode BEGIN DELETE FROM extra; END;
		CREATE TABLE "it's ""odd""" ("x y" BLOB DEFAULT (hex(zeroblob(3))), rowid TEXT) STRICT;
		INSERT INTO extra VALUES ('one', 1), ('two', x'02');
		INSERT INTO "it's ""odd""" VALUES (x'00ff', 'r');
		INSERT INTO computed VALUES ('c');
		INSERT INTO kv_store (key, value, created_at) VALUES ('k', '{}', 5);
		UPDATE fs_inode SET nlink=77 WHERE ino=2;`)
	kept := []string{"extra", "computed", `"it's ""odd"""`, "kv_store", "tool_calls", "fs_config"}
	before := map[string]string{}
	for _, table := range kept {
		before[table] = dump(t, path, table)
	}
	_, told := repair(t, path)
	for _, table := range kept {
		if got := dump(t, path, table); got != before[table] {
			t.Errorf("%s holds\n%sand held\n%s%s", table, got, before[table], told)
		}
	}
	for _, what := range []string{`view "v"`, `trigger "t"`, `index "extra_upper"`, `index "computed_a"`, `table "stored"`} {
		if !strings.Contains(told, what) {
			t.Errorf("told nothing of %s:\n%s", what, told)
		}
	}
	if schema := dump(t, path, "sqlite_schema"); !strings.Contains(schema, "extra_b") || strings.Contains(schema, "extra_upper") || strings.Contains(schema, "TRIGGER") {
		t.Errorf("the schema is\n%s", schema)
	}
	s := openTest(t, path)
	if got := portrait(t, s); !maps.Equal(got, sdkTree) {
		t.Errorf("the tree is %q", got)
	}
	must(t, s.Close())
}

// Text in another encoding has no room for every name; a repair brings it into the one that has.
func TestTextOfAnotherEncoding(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	alter(t, path, "PRAGMA encoding='UTF-16le';"+dbtest.LayoutSQL(t, database.SchemaVersion))
	if _, err := sqlvfs.Open(path, sqlvfs.Options{}); !errors.Is(err, sqlvfs.ErrCorrupt) {
		t.Errorf("opened: %v", err)
	}
	if got := findings(t, path); !strings.Contains(got, "UTF-16le") {
		t.Errorf("check: %s", got)
	}
	repair(t, path)
	s := openTest(t, path)
	if got := portrait(t, s); !maps.Equal(got, fixtureTree) {
		t.Errorf("the tree is %q", got)
	}
	must(t, s.Close())
}

// A schema that makes no sense in part keeps nobody from the rest.
func TestRepairOfASchema(t *testing.T) {
	for name, sql := range map[string]string{
		"nonsense":       "INSERT INTO sqlite_schema VALUES ('table', 'x', 'x', 3, 'CREATE nonsense')",
		"a page too far": "UPDATE sqlite_schema SET rootpage=99999999 WHERE name='fs_data'",
	} {
		t.Run(name, func(t *testing.T) {
			path := sample(t)
			alter(t, path, "PRAGMA writable_schema=ON;"+sql)
			if got := findings(t, path); !strings.Contains(got, "malformed") {
				t.Errorf("check: %q", got)
			}
			repair(t, path)
			if got := findings(t, path); got != "" {
				t.Error(got)
			}
			s, err := sqlvfs.Open(path, sqlvfs.Options{ReadOnly: true})
			must(t, err)
			if got := portrait(t, s); len(got) != 7 {
				t.Errorf("there are %v", keys(got))
			}
			must(t, s.Close())
		})
	}
}

// Where nothing can be read, an empty tree would be no repair.
func TestRepairOfNothingIsRefused(t *testing.T) {
	path := sample(t)
	data, err := os.ReadFile(path)
	must(t, err)
	for i := 100; i < database.PageSize; i++ { // the schema, behind the header
		data[i] = 0xff
	}
	must(t, os.WriteFile(path, data, 0o600))
	if _, err := Repair(path, func(Finding) {}); !errors.Is(err, sqlvfs.ErrCorrupt) {
		t.Errorf("got %v", err)
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, data) {
		t.Errorf("the file has changed, %v", err)
	}
	if ents, err := os.ReadDir(filepath.Dir(path)); err != nil || len(ents) != 1 {
		t.Errorf("left behind: %v, %v", ents, err)
	}
}

// A repair that is killed leaves the old file or the new one.
func TestRepairIsWholeOrNone(t *testing.T) {
	if path := os.Getenv("ART_TEST_REPAIR"); path != "" {
		_, err := Repair(path, func(Finding) {})
		must(t, err)
		return
	}
	path := sample(t)
	alter(t, path, "UPDATE fs_inode SET nlink=77 WHERE ino=2")
	damaged := bytesOf(t, path)
	command := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run=^TestRepairIsWholeOrNone$")
		cmd.Env = append(os.Environ(), "ART_TEST_REPAIR="+path)
		return cmd
	}
	killed := 0
	for wait := time.Millisecond; ; wait += 5 * time.Millisecond {
		cmd := command()
		must(t, cmd.Start())
		time.Sleep(wait)
		cmd.Process.Kill()
		if cmd.Wait() == nil {
			break // it was faster
		}
		if cmd.ProcessState.Exited() {
			t.Fatalf("after %d repairs that were killed, one failed", killed)
		}
		killed++
		if bytesOf(t, path) != damaged {
			if got := findings(t, path); got != "" {
				t.Fatalf("killed after %v: %s", wait, got)
			}
			alter(t, path, "UPDATE fs_inode SET nlink=77 WHERE ino=2")
			damaged = bytesOf(t, path)
		}
	}
	if got := findings(t, path); got != "" || killed == 0 {
		t.Errorf("killed %d times; in the end: %s", killed, got)
	}
}

// A repair that was killed after it had given the old file its other name, and before the new one took its place, stops neither
// sessions nor the next repair, which uses that name.
func TestRepairAfterOneThatWasKilled(t *testing.T) {
	path := sample(t)
	alter(t, path, "UPDATE fs_inode SET nlink=77 WHERE ino=2")
	must(t, os.WriteFile(path+".before-repair", nil, 0o600)) // of a repair before that
	must(t, os.Link(path, path+".before-repair-2"))
	damaged := bytesOf(t, path)
	s, err := sqlvfs.Open(path, sqlvfs.Options{ReadOnly: true})
	must(t, err)
	must(t, s.Close())
	if backup, _ := repair(t, path); backup != path+".before-repair-2" || bytesOf(t, backup) != damaged {
		t.Errorf("the old file is %s", backup)
	}
	if got := findings(t, path); got != "" {
		t.Error(got)
	}
	if files, err := filepath.Glob(path + "*"); err != nil || len(files) != 3 {
		t.Errorf("there are %v, %v", files, err)
	}
}

// A repair brings an older layout up to date too, and cures the pointer map of the first.
func TestRepairOfEveryLayout(t *testing.T) {
	for layout := 1; layout <= database.SchemaVersion; layout++ {
		path := fixture(t, layout)
		alter(t, path, "UPDATE fs_inode SET nlink=77 WHERE ino=2")
		repair(t, path)
		if got := findings(t, path); got != "" {
			t.Errorf("layout %d: %s", layout, got)
		}
		s, err := sqlvfs.Open(path, sqlvfs.Options{ReadOnly: true})
		must(t, err)
		if got := portrait(t, s); !maps.Equal(got, fixtureTree) {
			t.Errorf("layout %d: the tree is %q", layout, got)
		}
		must(t, s.Close())
	}
}

// A repair keeps what a database knows of its forks, as far as that can be; a fork itself is not repaired.
func TestRepairOfForks(t *testing.T) {
	dir := t.TempDir()
	parent, fork := filepath.Join(dir, "parent.db"), filepath.Join(dir, "fork.db")
	s, err := sqlvfs.Open(parent, sqlvfs.Options{Create: true, Root: sqlvfs.Attr{Mode: 0o40755, Nlink: 2}})
	must(t, err)
	secret := sqlvfs.NewSecret()
	c, err := s.AddFork(fork, secret, "")
	must(t, err)
	must(t, sqlvfs.MakeFork(parent, fork, secret, c))
	must(t, s.Close())
	for _, path := range []string{parent, fork} {
		if got := findings(t, path); got != "" {
			t.Errorf("%s: %s", path, got)
		}
	}
	alter(t, fork, "CREATE TABLE notes (x)") // another program's
	if got := findings(t, fork); got != "" {
		t.Errorf("with a table of another program's: %s", got)
	}
	alter(t, fork, "CREATE INDEX odd ON fs_dentry(name) WHERE ino > 5")
	if got := findings(t, fork); !strings.Contains(got, `index "odd" of table "fs_dentry" has an expression`) {
		t.Errorf("with an index of another program's: %s", got)
	}
	alter(t, fork, "DROP INDEX odd")
	alter(t, parent, "UPDATE fs_inode SET nlink=77; INSERT INTO art_fork VALUES (randomblob(16), 99, x'2f', 0, 0)")
	if _, told := repair(t, parent); !strings.Contains(told, `the fork "/" is of checkpoint 99, which is not there: it is forgotten`) {
		t.Error(told)
	}
	if got := findings(t, fork); got != "" {
		t.Errorf("of the repaired parent: %s", got)
	}
	alter(t, fork, "INSERT INTO art_xattr VALUES (77, 'user.a', x'00')")
	before := bytesOf(t, fork)
	if _, err := Repair(fork, func(Finding) {}); !errors.Is(err, ErrFork) || bytesOf(t, fork) != before {
		t.Errorf("a fork: %v", err)
	}
}
