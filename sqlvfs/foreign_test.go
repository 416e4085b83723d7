package sqlvfs

import (
	"bytes"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// What other tools of the format can write to: no pointer map, which their engines do not maintain,
// and numbers that do not come back.
func TestOthersMayWriteToOurFile(t *testing.T) {
	path := sample(t)
	c, err := sqlite3.Open(path)
	must(t, err)
	defer c.Close()
	if mode, err := pragmaInt(c, "auto_vacuum"); err != nil || mode != 0 {
		t.Errorf("auto_vacuum is %d, %v", mode, err)
	}
	// As the agentfs-sdk does it: it knows neither origins nor whiteouts.
	top, err := queryInt(c, "SELECT max(ino) FROM fs_inode")
	must(t, err)
	must(t, c.Exec("DELETE FROM fs_inode WHERE ino=(SELECT max(ino) FROM fs_inode)"))
	must(t, c.Exec("INSERT INTO fs_inode (mode, atime, mtime, ctime) VALUES (16877, 1, 1, 1)"))
	if again, err := queryInt(c, "SELECT max(ino) FROM fs_inode"); err != nil || again <= top {
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
	s.Lock()
	in, err := s.New(Attr{Mode: syscall.S_IFREG | 0o644})
	s.Unlock()
	must(t, err)
	data := bytes.Repeat([]byte("late"), DefaultChunkSize)
	must(t, s.WriteAt(in, data, 0, nil, Now()))
	must(t, s.Sync())
	s.Lock()
	in.Attr.Nlink = 1
	s.Dirty(in)
	must(t, s.Link(s.Root(), "late", in))
	s.Unlock()
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
