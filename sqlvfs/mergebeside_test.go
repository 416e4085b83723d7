package sqlvfs

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// besideMerge makes a database that stays open, and a fork of it, in which something is made, moved and linked, and that somebody alters
// then. The inodes are the directory 2, the file 3, and in the fork the directories 4 and, in it, 5, the file 6 and the symbolic link 7.
func besideMerge(t *testing.T, sql string) (s *Store, path string, m *MergedFork) {
	t.Helper()
	dir := t.TempDir()
	path, fork, secret := filepath.Join(dir, "a.db"), filepath.Join(dir, "fork.db"), NewSecret()
	s = openTest(t, path)
	put(s, create(t, s, "dir", syscall.S_IFDIR|0o755))
	put(s, create(t, s, "file", syscall.S_IFREG|0o644))
	c, err := s.AddFork(fork, secret, "")
	must(t, err)
	must(t, MakeFork(path, fork, secret, c))
	f := openTest(t, fork)
	old, file := lookup(t, f, "dir"), lookup(t, f, "file")
	top := create(t, f, "new", syscall.S_IFDIR|0o755)
	must(t, f.Update(func(tx *Tx) error {
		in, err := tx.New(Attr{Mode: syscall.S_IFDIR | 0o755, Nlink: 2})
		must(t, err)
		must(t, tx.Link(top, "inner", in))
		tx.Put(in)
		must(t, tx.Link(top, "again", file))
		file.Attr.Nlink++
		tx.Dirty(file)
		must(t, tx.Unlink(tx.Root(), "dir"))
		return tx.Link(top, "dir", old)
	}))
	made := create(t, f, "made", syscall.S_IFREG|0o644)
	must(t, f.WriteAt(made, []byte("content"), 0, nil, Now()))
	must(t, f.Update(func(tx *Tx) error {
		in, err := tx.New(Attr{Mode: syscall.S_IFLNK | 0o777, Nlink: 1, Size: 6})
		must(t, err)
		tx.SetTarget(in, "target")
		defer tx.Put(in)
		return tx.Link(tx.Root(), "link", in)
	}))
	for _, in := range []*Inode{old, file, top, made} {
		put(f, in)
	}
	must(t, f.Close())
	if sql != "" {
		alter(t, fork, sql)
	}
	must(t, FoldLog(fork))
	file2, err := os.Open(fork)
	must(t, err)
	m, err = s.OpenMerged(file2)
	must(t, err)
	return s, path, m
}

// A merge that somebody has written by hand cannot make a tree that makes no sense: it stays as it is.
func TestMergeOfNonsenseIsRefused(t *testing.T) {
	const name = "INSERT INTO fs_dentry (parent_ino, name, ino) VALUES "
	for _, c := range []struct{ name, sql string }{
		{"a new directory twice", name + "(1, 'twice', 4)"},
		{"a new directory twice in a new one", name + "(5, 'twice', 4)"},
		{"an old directory twice", name + "(4, 'twice', 2)"},
		{"an old directory nowhere", "DELETE FROM fs_dentry WHERE ino=2"},
		{"a new directory nowhere", "DELETE FROM fs_dentry WHERE ino=4"},
		{"a cycle", "UPDATE fs_dentry SET parent_ino=5, name='c' WHERE ino=4"},
		{"a cycle with an old one", "UPDATE fs_dentry SET parent_ino=2, name='c' WHERE ino=4"},
		{"a directory without links", "UPDATE fs_inode SET nlink=0 WHERE ino=4"},
		{"a file without links", "UPDATE fs_inode SET nlink=0 WHERE ino=6"},
		{"a file with too many links", "UPDATE fs_inode SET nlink=9 WHERE ino=6"},
		{"an old file with too many links", "UPDATE fs_inode SET nlink=9 WHERE ino=3"},
		{"an old file with a name more", name + "(1, 'more', 3)"},
		{"a file nowhere", "DELETE FROM fs_dentry WHERE ino=6"},
		{"no parent", name + "(99, 'x', 6); UPDATE fs_inode SET nlink=2 WHERE ino=6"},
		{"a file as parent", name + "(6, 'x', 6); UPDATE fs_inode SET nlink=2 WHERE ino=6"},
		{"a name of nothing", name + "(4, 'x', 99)"},
		{"a name of the root", name + "(4, 'x', 1)"},
		{"content of nothing", "INSERT INTO fs_data (ino, chunk_index, data) VALUES (99, 0, x'00')"},
		{"content of a directory", "INSERT INTO fs_data (ino, chunk_index, data) VALUES (4, 0, x'00')"},
		{"content beyond the end", "INSERT INTO fs_data (ino, chunk_index, data) VALUES (6, 5, x'00')"},
		{"content cut short", "UPDATE fs_data SET data=x'00' WHERE ino=6"},
		{"a size cut short", "UPDATE fs_inode SET size=1 WHERE ino=6"},
		{"a link without target", "DELETE FROM fs_symlink WHERE ino=7"},
		{"a target of a file", "INSERT INTO fs_symlink VALUES (6, 'x')"},
		{"an attribute of nothing", "INSERT INTO art_xattr VALUES (99, 'user.x', x'00')"},
		{"a birth of nothing", "INSERT INTO art_birth VALUES (99, 5)"},
		{"a whiteout in a file", "INSERT INTO art_whiteout VALUES (6, 'x')"},
		{"a number of nothing", "INSERT INTO fs_origin VALUES (99, 5)"},
		{"an origin of a foreign base", `INSERT INTO fs_origin VALUES (6, 5); INSERT INTO art_origin (ino, base, path, dev, base_ino, size, mtime, mtime_nsec, ctime, ctime_nsec, data_limit)
			VALUES (6, 77, 'x', 1, 5, 7, 0, 0, 0, 0, 0)`},
		{"a base without a name", "INSERT INTO art_base (name) VALUES ('a/b')"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, path, m := besideMerge(t, c.sql)
			defer m.Close()
			before, err := readTree(s)
			must(t, err)
			if _, err := s.TakeMerged(m, nil); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%v", err)
			}
			after, err := readTree(s)
			must(t, err)
			if before.sum() != after.sum() {
				t.Errorf("the tree has changed:\n%s\nwas\n%s", after, before)
			}
			must(t, s.Close())
			if got := findings(t, path); got != "" {
				t.Error(got)
			}
		})
	}
}

// What was committed counts, also if the connection cannot be rid of the fork then: a tree in memory that is another one would be written
// over it.
func TestMergeThatIsCommittedCounts(t *testing.T) {
	for _, stuck := range []bool{false, true} {
		s, path, m := besideMerge(t, "")
		must(t, s.Sync())
		if stuck {
			must(t, s.writer.connect())
			must(t, s.writer.SetAuthorizer(func(action sqlite3.AuthorizerActionCode, _, _, _, _ string) sqlite3.AuthorizerReturnCode {
				if action == sqlite3.AUTH_DETACH {
					return sqlite3.AUTH_DENY
				}
				return sqlite3.AUTH_OK
			}))
		}
		if _, err := s.TakeMerged(m, func(*Tx, *Restored) {}); err != nil {
			t.Errorf("stuck %t: %v", stuck, err)
		}
		m.Close()
		put(s, lookup(t, s, "made"))
		put(s, create(t, s, "later", syscall.S_IFREG|0o644))
		must(t, s.Sync())
		must(t, s.Close())
		if got := findings(t, path); got != "" {
			t.Errorf("stuck %t: %s", stuck, got)
		}
		s = openTest(t, path)
		put(s, lookup(t, s, "made"))
		put(s, lookup(t, s, "later"))
		must(t, s.Close())
	}
}

// Inodes that a session has made since the fork was, named or open without a name, are other ones than those that the merge makes.
func TestMergeBesideNewInodes(t *testing.T) {
	dir := t.TempDir()
	path, fork, secret := filepath.Join(dir, "a.db"), filepath.Join(dir, "fork.db"), NewSecret()
	s := openTest(t, path)
	other := create(t, s, "other", syscall.S_IFDIR|0o755)
	c, err := s.AddFork(fork, secret, "")
	must(t, err)
	must(t, MakeFork(path, fork, secret, c))
	f := openTest(t, fork)
	made := create(t, f, "made", syscall.S_IFREG|0o644)
	must(t, f.WriteAt(made, []byte("merged"), 0, nil, Now()))
	put(f, made)
	must(t, f.Close())
	must(t, FoldLog(fork))
	var open []*Inode
	for range 9 {
		must(t, s.Update(func(tx *Tx) error {
			in, err := tx.New(Attr{Mode: syscall.S_IFREG | 0o644, Nlink: 0})
			must(t, err)
			open = append(open, in)
			return nil
		}))
		must(t, s.WriteAt(open[len(open)-1], []byte("the guest's"), 0, nil, Now()))
	}
	must(t, s.Update(func(tx *Tx) error {
		in, err := tx.New(Attr{Mode: syscall.S_IFREG | 0o644, Nlink: 1})
		must(t, err)
		defer tx.Put(in)
		return tx.Link(other, "named", in)
	}))
	must(t, s.Sync())
	file, err := os.Open(fork)
	must(t, err)
	m, err := s.OpenMerged(file)
	must(t, err)
	_, err = s.TakeMerged(m, func(*Tx, *Restored) {})
	m.Close()
	must(t, err)
	now := lookup(t, s, "made")
	if now.Ino != open[8].Ino+2 {
		t.Errorf("what was merged has the number %d, the last one before it %d", now.Ino, open[8].Ino+1)
	}
	b := make([]byte, 100)
	for _, in := range open {
		if n, err := s.ReadAt(in, b, 0, nil); string(b[:n]) != "the guest's" {
			t.Errorf("inode %d, open and without a name, has %q, %v", in.Ino, b[:n], err)
		}
		must(t, s.WriteAt(in, []byte("OTHER"), 0, nil, Now()))
		put(s, in)
	}
	if n, err := s.ReadAt(now, b, 0, nil); string(b[:n]) != "merged" {
		t.Errorf("what was merged has %q, %v", b[:n], err)
	}
	put(s, now)
	put(s, other)
	must(t, s.Close())
	must(t, checkClean(path))
}
