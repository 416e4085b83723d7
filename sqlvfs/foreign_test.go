package sqlvfs

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// What other tools of the format can write to: no pointer map, which their engines do not maintain,
// and numbers that do not come back.
func TestOthersMayWriteToOurFile(t *testing.T) {
	path := sample(t)
	c, err := sqlite3.Open(path)
	must(t, err)
	defer c.Close()
	if mode, err := database.PragmaInt(c, "auto_vacuum"); err != nil || mode != 0 {
		t.Errorf("auto_vacuum is %d, %v", mode, err)
	}
	// As the agentfs-sdk does it: it knows neither origins nor whiteouts.
	top, err := database.QueryInt(c, "SELECT max(ino) FROM fs_inode")
	must(t, err)
	must(t, c.Exec("DELETE FROM fs_inode WHERE ino=(SELECT max(ino) FROM fs_inode)"))
	must(t, c.Exec("INSERT INTO fs_inode (mode, atime, mtime, ctime) VALUES (16877, 1, 1, 1)"))
	if again, err := database.QueryInt(c, "SELECT max(ino) FROM fs_inode"); err != nil || again <= top {
		t.Errorf("number %d was given again after %d was deleted (%v)", again, top, err)
	}
}

// Rows that a deletion by another tool has left behind must not become those of a new inode.
func TestNewInodesInheritNothing(t *testing.T) {
	path := sample(t)
	alter(t, path, `
		DELETE FROM fs_dentry WHERE ino IN (6, 7, 8);
		DELETE FROM fs_inode WHERE ino IN (6, 7, 8);
		INSERT INTO art_whiteout VALUES (9, 'x');
		INSERT INTO fs_symlink VALUES (10, 'x');
		INSERT INTO fs_data VALUES (11, 0, 'x');`)
	s := openTest(t, path)
	in := create(t, s, "new", syscall.S_IFDIR|0o755)
	if in.Ino <= 11 {
		t.Errorf("a new inode has the number %d, which rows are still about", in.Ino)
	}
	must(t, s.Close())
}

// A file that was filled before it got its name, in more than one transaction, is no orphan.
func TestFileThatGetsItsNameLate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := openTest(t, path)
	var in *Inode
	must(t, s.Update(func(tx *Tx) (err error) {
		in, err = tx.New(Attr{Mode: syscall.S_IFREG | 0o644})
		return err
	}))
	data := bytes.Repeat([]byte("late"), DefaultChunkSize)
	must(t, s.WriteAt(in, data, 0, nil, Now()))
	must(t, s.Sync())
	step(s, func(tx *Tx) {
		in.Attr.Nlink = 1
		tx.Dirty(in)
		must(t, tx.Link(tx.Root(), "late", in))
	})
	must(t, s.Sync())
	if got := findings(t, path); got != "" {
		t.Error(got)
	}
	must(t, s.Close())

	s = openTest(t, path)
	in = lookup(t, s, "late")
	if !bytes.Equal(content(t, s, in), data) {
		t.Error("content differs")
	}
	must(t, s.Close())
}

func TestDatabaseOfTheSDKIsReadAsItIs(t *testing.T) {
	path := sdkDatabase(t, "")
	before, err := os.ReadFile(path)
	must(t, err)
	s, err := Open(path, Options{ReadOnly: true})
	must(t, err)
	if got := portrait(t, s); !maps.Equal(got, sdkTree) {
		t.Errorf("the tree is %q", got)
	}
	must(t, s.Close())
	if got := findings(t, path); got != "" {
		t.Error(got)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the file has changed (%v)", err)
	}
}

// What art changes are the tables of the tree. All others keep their rows, also those it does not
// know; and the chunk size stays what it is.
func TestDatabaseOfTheSDKIsChanged(t *testing.T) {
	path := sdkDatabase(t, `
		CREATE TABLE fs_origin (delta_ino INTEGER PRIMARY KEY, base_ino INTEGER NOT NULL);
		CREATE TABLE fs_overlay_config (key TEXT PRIMARY KEY, value TEXT NOT NULL);
		CREATE TABLE extra (x);
		INSERT INTO fs_origin VALUES (3, 4711);
		INSERT INTO fs_overlay_config VALUES ('base_path', '/srv');
		INSERT INTO extra VALUES ('y');`)
	kept := []string{"kv_store", "tool_calls", "fs_origin", "fs_overlay_config", "extra", "fs_config"}
	before := map[string]string{}
	for _, table := range kept {
		before[table] = dump(t, path, table)
	}

	want := maps.Clone(sdkTree)
	s := openTest(t, path)
	if got := s.ChunkSize(); got != 4096 {
		t.Errorf("chunks of %d bytes", got)
	}
	if got := portrait(t, s); !maps.Equal(got, want) {
		t.Errorf("the tree is %q", got)
	}
	in := lookup(t, s, "big.bin")
	must(t, s.WriteAt(in, []byte("changed"), 4093, nil, Now()))
	want["/big.bin"] = want["/big.bin"][:4093] + "changed" + want["/big.bin"][4100:]
	fresh := create(t, s, "fresh", syscall.S_IFREG|0o600)
	if fresh.Ino != 12 {
		t.Errorf("the new file is inode %d", fresh.Ino)
	}
	want["/fresh"] = strings.Repeat("new", 5000)
	must(t, s.WriteAt(fresh, []byte(want["/fresh"]), 0, nil, Now()))
	gone := lookup(t, s, "link")
	step(s, func(tx *Tx) {
		must(t, tx.Unlink(tx.Root(), "link"))
		gone.Attr.Nlink = 0
		tx.Dirty(gone)
		tx.Put(gone)
	})
	delete(want, "/link")
	must(t, s.Close())

	s = openTest(t, path)
	if got := portrait(t, s); !maps.Equal(got, want) {
		t.Errorf("the tree is %q", got)
	}
	must(t, s.Close())
	if got := findings(t, path); got != "" {
		t.Error(got)
	}
	for _, table := range kept {
		if got := dump(t, path, table); got != before[table] {
			t.Errorf("%s holds\n%sand held\n%s", table, got, before[table])
		}
	}
}

// Both shapes of the format's whiteouts are taken over, and left where they are.
func TestWhiteoutsOfOthers(t *testing.T) {
	for _, c := range []struct{ name, sql string }{
		{"with the parent's path", `CREATE TABLE fs_whiteout (path TEXT PRIMARY KEY, parent_path TEXT NOT NULL, created_at INTEGER NOT NULL);
			INSERT INTO fs_whiteout VALUES ('/dir/old', '/dir', 1), ('/dir/sub/older', '/dir/sub', 1), ('/top', '/', 1), ('/no/where', '/no', 1)`},
		{"without", `CREATE TABLE fs_whiteout (path TEXT PRIMARY KEY, created_at INTEGER NOT NULL);
			INSERT INTO fs_whiteout VALUES ('/dir/old', 1), ('/dir/sub/older', 1), ('/top', 1), ('/no/where', 1)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := sdkDatabase(t, c.sql)
			before := dump(t, path, "fs_whiteout")
			s := openTest(t, path)
			step(s, func(tx *Tx) {
				for dir, want := range map[Ino]string{RootIno: "top", 7: "old", 8: "older", 2: ""} {
					in, err := tx.Get(dir)
					must(t, err)
					got, err := tx.Whiteouts(in)
					must(t, err)
					if strings.Join(got, " ") != want {
						t.Errorf("inode %d has whiteouts %q, want %q", dir, got, want)
					}
					tx.Put(in)
				}
			})
			must(t, s.Close())
			if got := dump(t, path, "fs_whiteout"); got != before {
				t.Errorf("fs_whiteout holds\n%sand held\n%s", got, before)
			}
			if got := findings(t, path); got != "" {
				t.Error(got)
			}
		})
	}
}
