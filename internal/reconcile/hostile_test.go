package reconcile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/sqlvfs"
)

// entry is SQL that adds a row and a name of it; parent 0 is the workspace.
func entry(parent int, name string, ino int, mode uint32) string {
	at := fmt.Sprint(parent)
	if parent == 0 {
		at = "(SELECT ino FROM fs_dentry WHERE parent_ino=1 AND name='ws')"
	}
	return fmt.Sprintf(`INSERT OR IGNORE INTO fs_inode (ino, mode, nlink, size, atime, mtime, ctime) VALUES (%d, %d, 2, 5, 1, 1, 1);
		INSERT OR IGNORE INTO fs_data (ino, chunk_index, data) SELECT %[1]d, 0, 'owned' WHERE %[2]d & 61440 = 32768;
		INSERT INTO fs_dentry (name, parent_ino, ino) VALUES ('%s', %s, %[1]d);`, ino, mode, name, at)
}

const (
	asFile = unix.S_IFREG | 0o644
	asDir  = unix.S_IFDIR | 0o755
)

// TestHostileNamesStayInside: whatever the database says, nothing outside of the workspace changes.
func TestHostileNamesStayInside(t *testing.T) {
	for what, c := range map[string]struct {
		sql   string
		there string // name of a symbolic link in the workspace that leads outside
		told  string
	}{
		"dot dot":             {sql: entry(0, "../x", 1000, asFile), told: "ws/../x: not an entry"},
		"dot dot alone":       {sql: entry(0, "..", 1000, asDir) + entry(1000, "x", 1001, asFile), told: "ws/..: not an entry"},
		"absolute":            {sql: entry(0, "/tmp/art-hostile-name", 1000, asFile), told: "ws//tmp/art-hostile-name: not an entry"},
		"slash in name":       {sql: entry(0, "out/x", 1000, asFile), there: "out", told: "ws/out/x: not an entry"},
		"empty":               {sql: entry(0, "", 1000, asFile), told: "ws/: not an entry"},
		"dot":                 {sql: entry(0, ".", 1000, asDir) + entry(1000, "x", 1001, asFile), told: "ws/.: not an entry"},
		"link for directory":  {sql: entry(0, "out", 1000, asDir) + entry(1000, "x", 1001, asFile), there: "out"},
		"link for file":       {sql: entry(0, "out", 1000, asFile), there: "out"},
		"loop":                {sql: entry(0, "a", 1000, asDir) + entry(1000, "b", 1001, asDir) + entry(1001, "c", 1000, asDir), told: errLoop.Error()},
		"directory twice":     {sql: entry(0, "a", 1000, asDir) + entry(0, "b", 1000, asDir), told: errLoop.Error()},
		"workspace in itself": {sql: "INSERT INTO fs_dentry (name, parent_ino, ino) SELECT 'self', ino, ino FROM fs_dentry WHERE parent_ino=1 AND name='ws'", told: "ws/self: not an entry"},
		"root below":          {sql: entry(0, "root", 1, asDir), told: "ws/root: not an entry"},
		"set user id":         {sql: entry(0, "suid", 1000, unix.S_IFREG|unix.S_ISUID|unix.S_ISGID|0o755)},
		"set group id":        {sql: entry(0, "sgid", 1000, unix.S_IFDIR|unix.S_ISGID|0o777)},
		"device":              {sql: entry(0, "null", 1000, unix.S_IFCHR|0o666)},
		"no such inode":       {sql: "INSERT INTO fs_dentry (name, parent_ino, ino) SELECT 'ghost', ino, 7777 FROM fs_dentry WHERE parent_ino=1 AND name='ws'", told: "ws/ghost: not an entry"},
		"origin outside": {sql: entry(0, "stolen", 1000, asFile) + `DELETE FROM fs_data WHERE ino=1000; INSERT OR REPLACE INTO art_base (id, name) VALUES (1, 'ws');
			INSERT INTO fs_origin VALUES (1000, 5000000000000000);
			INSERT INTO art_origin VALUES (1000, 1, CAST('../outside/secret' AS BLOB), 0,0,5,0,0,0,0,5,0,NULL,0)`, told: "ws/stolen"},
		"origin through a link": {sql: entry(0, "stolen", 1000, asFile) + `DELETE FROM fs_data WHERE ino=1000; INSERT OR REPLACE INTO art_base (id, name) VALUES (1, 'ws');
			INSERT INTO fs_origin VALUES (1000, 5000000000000000);
			INSERT INTO art_origin VALUES (1000, 1, CAST('out/secret' AS BLOB), 0,0,5,0,0,0,0,5,0,NULL,0)`, there: "out", told: "ws/stolen"},
		"directory origin through a link": {sql: entry(0, "stolen", 1000, asDir) + `INSERT OR REPLACE INTO art_base (id, name) VALUES (1, 'ws');
			INSERT INTO fs_origin VALUES (1000, 5000000000000000);
			INSERT INTO art_origin VALUES (1000, 1, CAST('out' AS BLOB), 0,0,5,0,0,0,0,0,0,NULL,0)`, there: "out", told: "ws/stolen"},
	} {
		t.Run(what, func(t *testing.T) {
			b := newBench(t)
			parent := filepath.Dir(b.ws)
			b.push()
			b.sql(c.sql)
			must(t, os.Mkdir(filepath.Join(parent, "outside"), 0o755))
			must(t, os.WriteFile(filepath.Join(parent, "outside/secret"), []byte("12345"), 0o600))
			if c.there != "" {
				must(t, os.Symlink("../outside", b.path(c.there)))
			}
			before := tree(t, filepath.Join(parent, "outside"))
			_, told, err := b.run(Pull, b.ws)
			wantTree(t, filepath.Join(parent, "outside"), before)
			if c.told != "" && (!errors.Is(err, ErrIncomplete) && !errors.Is(err, ErrConflicts) || !strings.Contains(told, c.told)) {
				t.Errorf("%v; told %q, want %q", err, told, c.told)
			}
			names, _ := filepath.Glob(filepath.Join(parent, "*"))
			if len(names) != 3 {
				t.Errorf("beside the workspace: %v", names)
			}
			must(t, filepath.WalkDir(b.ws, func(path string, d os.DirEntry, err error) error {
				if err != nil {
					return err
				}
				i, err := d.Info()
				if err == nil && i.Mode()&(os.ModeSetuid|os.ModeSetgid|os.ModeDevice|os.ModeNamedPipe) != 0 {
					t.Errorf("%s: %v", path, i.Mode())
				}
				if data, _ := os.ReadFile(path); err == nil && i.Mode().IsRegular() && string(data) == "12345" {
					t.Errorf("%s holds what is outside", path)
				}
				return err
			}))
			wantAbsent(t, "/tmp/art-hostile-name")
		})
	}
}

// A database that has a name twice, which its schema denies, has one of them brought, and the other one told of.
func TestNameThatIsThereTwice(t *testing.T) {
	b := newBench(t)
	b.push()
	b.sql(`CREATE TABLE other (id INTEGER PRIMARY KEY, name TEXT NOT NULL, parent_ino INTEGER NOT NULL, ino INTEGER NOT NULL); INSERT INTO other SELECT id, name, parent_ino, ino FROM fs_dentry; DROP TABLE fs_dentry; ALTER TABLE other RENAME TO fs_dentry;
		CREATE INDEX names ON fs_dentry (parent_ino, name);` +
		entry(0, "new", 1000, asDir) +
		entry(1000, "files", 1001, asFile) + entry(1000, "files", 1002, asFile) +
		entry(1000, "dirs", 1003, asDir) + entry(1000, "dirs", 1004, asDir) + entry(1003, "x", 1005, asFile) + entry(1004, "x", 1006, asFile) +
		entry(1000, "both", 1007, asFile) + entry(1000, "both", 1008, asDir) + entry(1008, "x", 1009, asFile) +
		entry(0, "other", 1010, asFile) +
		`PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql='CREATE UNIQUE INDEX names ON fs_dentry (parent_ino, name)' WHERE name='names'`)
	dir := b.other()
	_, told, err := b.run(Pull, dir)
	if !errors.Is(err, ErrIncomplete) {
		t.Errorf("%v, told %q", err, told)
	}
	for _, name := range []string{"files", "dirs", "both"} {
		if !strings.Contains(told, "ws/new/"+name+": ") {
			t.Errorf("%s is not told of:\n%s", name, told)
		}
	}
	for _, name := range []string{"new/files", "new/dirs/x", "other"} {
		wantContent(t, filepath.Join(dir, name), "owned")
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 2 {
		t.Errorf("left in the workspace: %v", names)
	}
}

// A push over a database with loops ends, and leaves the tree right.
func TestPushOverLoop(t *testing.T) {
	b := newBench(t)
	b.push()
	b.sql(entry(0, "a", 1000, asDir) + entry(1000, "b", 1001, asDir) + entry(1001, "c", 1000, asDir))
	b.write("a", "a file now")
	b.push(force)
	if n := b.count("SELECT count(*) FROM fs_inode WHERE ino IN (1000, 1001)"); n != 0 {
		t.Errorf("%d rows of the loop are left", n)
	}
	dir := b.other()
	b.pull(dir)
	wantContent(t, filepath.Join(dir, "a"), "a file now")
}

func TestKindsChange(t *testing.T) {
	b := newBench(t)
	b.write("file", "1")
	b.write("dir/below/deep", "2")
	must(t, os.Symlink("file", b.path("link")))
	must(t, os.Mkdir(b.path("hollow"), 0o755))
	b.push()
	must(t, os.RemoveAll(b.path("dir")))
	must(t, os.Remove(b.path("file")))
	must(t, os.Remove(b.path("link")))
	must(t, os.Remove(b.path("hollow")))
	b.write("dir", "a file")
	b.write("file/x", "in a directory")
	b.write("link", "no link")
	must(t, os.Symlink("dir", b.path("hollow")))
	old := b.other()
	must(t, os.WriteFile(filepath.Join(old, "file"), nil, 0o644))
	must(t, os.Symlink("/nonexistent", filepath.Join(old, "link")))
	must(t, os.Mkdir(filepath.Join(old, "hollow"), 0o755))
	b.push()
	b.checkRows()
	if n := b.count("SELECT count(*) FROM fs_inode"); n != 7 {
		t.Errorf("%d inodes", n)
	}
	b.pull(old, force)
	wantTree(t, old, tree(t, b.ws))
}

func TestInPlaceKeepsTheInode(t *testing.T) {
	b := newBench(t)
	b.write("f", strings.Repeat("long", 50_000))
	b.write("d/x", "1")
	b.push()
	const inos = "SELECT sum(ino*length(name)) FROM fs_dentry"
	before := b.count(inos)
	b.write("f", "short")
	must(t, os.Chmod(b.path("d"), 0o700))
	out, _ := b.push()
	if !strings.Contains(out, "FILE /ws/f (5 bytes") || !strings.Contains(out, "DIR  /ws/d ") || strings.Contains(out, "/ws/d/x") {
		t.Errorf("printed:\n%s", out)
	}
	if b.count(inos) != before {
		t.Error("inode numbers changed")
	}
	dir := b.other()
	b.pull(dir)
	wantTree(t, dir, tree(t, b.ws))
}

// Two names of one row become two files on the host: neither may overwrite the other.
func TestLinksComeApart(t *testing.T) {
	b := newBench(t)
	b.write("a", "same")
	must(t, os.Link(b.path("a"), b.path("b")))
	must(t, os.Link(b.path("a"), b.path("c")))
	b.push()
	must(t, os.Remove(b.path("a")))
	b.write("a", "one")
	must(t, os.Remove(b.path("b")))
	b.write("b", "two")
	b.push()
	b.checkRows()
	dir := b.other()
	b.pull(dir)
	wantTree(t, dir, tree(t, b.ws))
}

func TestErrors(t *testing.T) {
	b := newBench(t)
	b.write("x", "1")
	check := func(what string, do func(context.Context, Options) error, dir, want, hint string) {
		t.Helper()
		_, _, err := b.run(do, dir)
		var h cli.Hinted
		if err == nil || !strings.Contains(err.Error(), want) || hint != "" && (!errors.As(err, &h) || !strings.Contains(h.Hint(), hint)) {
			t.Errorf("%s: %v", what, err)
		}
	}
	check("missing workspace", Push, b.path("none"), "no such file", "mkdir")
	wantAbsent(t, b.db)
	check("file for workspace", Push, b.path("x"), "not a directory", "")
	check("root", Push, "/", "it has no name", "choose")
	check("missing database", Pull, b.ws, "ws.db: no such file", "")
	wantAbsent(t, b.db)
	b.push()
	must(t, os.MkdirAll(b.ws+"2/not-empty", 0o755))
	check("other name", Pull, b.ws+"2", "no workspace /ws2/: it has /ws/", "name")
	held, err := sqlvfs.Open(b.db, sqlvfs.Options{})
	must(t, err)
	check("in use", Pull, b.ws, fmt.Sprint(os.Getpid()), "end that session")
	check("in use", Push, b.ws, fmt.Sprint(os.Getpid()), "end that session")
	must(t, held.Close())
	b.db = b.path("x")
	check("no database", Pull, b.ws, "not an SQLite database", "")
	wantContent(t, b.path("x"), "1")
}

// An interrupted pull leaves the workspace as it was.
func TestInterrupted(t *testing.T) {
	b := newBench(t)
	b.write("x", "1")
	b.push()
	dir := b.other()
	before := tree(t, dir)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for what, do := range map[string]func(context.Context, Options) error{"push": Push, "pull": Pull} {
		from := map[string]string{"push": b.ws, "pull": dir}[what]
		b.belongs(from)
		err := do(ctx, Options{Dir: from, DB: b.db, Stdout: io.Discard, Stderr: io.Discard})
		if !errors.Is(err, errInterrupted) {
			t.Errorf("%s: %v", what, err)
		}
	}
	wantTree(t, dir, before)
}
