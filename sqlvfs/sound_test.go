package sqlvfs

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/riverlytech/art/sqlvfs/fsck"
)

// remembered makes a database with a directory, two files, a symbolic link and a checkpoint, after which a file has changed, and unless only
// that has, the link too, and the other file is gone.
func remembered(t *testing.T, only bool) string {
	path := filepath.Join(memoryDir(t), "a.db")
	s := openTest(t, path)
	dir := create(t, s, "dir", syscall.S_IFDIR|0o755) // 2
	f := create(t, s, "file", syscall.S_IFREG|0o644)  // 3
	must(t, s.WriteAt(f, []byte("one"), 0, nil, Now()))
	link := create(t, s, "link", syscall.S_IFLNK|0o777)    // 4
	gone := create(t, s, "removed", syscall.S_IFREG|0o644) // 5
	must(t, s.WriteAt(gone, []byte("gone"), 0, nil, Now()))
	aim := func(target string) {
		step(s, func(tx *Tx) {
			link.Attr.Size = int64(len(target))
			tx.SetTarget(link, target)
			tx.Dirty(link)
		})
	}
	aim("file")
	_, err := s.Checkpoint(ByUser, "one")
	must(t, err)
	must(t, s.WriteAt(f, []byte("two, longer"), 0, nil, Now()))
	if !only {
		aim("longer")
		step(s, func(tx *Tx) {
			must(t, tx.Unlink(tx.Root(), "removed"))
			gone.Attr.Nlink = 0
			tx.Dirty(gone)
		})
	}
	for _, in := range []*Inode{f, link, gone} {
		put(s, in)
	}
	put(s, dir)
	must(t, s.Close())
	return path
}

// A history that someone else has written cannot make a tree of the present that makes no sense: it stays as it is.
func TestGoingBackToNonsenseIsRefused(t *testing.T) {
	const inode = "INSERT OR REPLACE INTO art_old_inode (ino, checkpoint, there, mode, nlink, uid, gid, size, atime, mtime, ctime, rdev, atime_nsec, mtime_nsec, ctime_nsec) VALUES "
	const name = "INSERT OR REPLACE INTO art_old_dentry (parent_ino, name, checkpoint, there, ino) VALUES "
	testNonsense(t, false, []nonsense{
		{"no inode", "UPDATE art_checkpoint SET max_ino=0"},
		{"fewer inodes than none", "UPDATE art_checkpoint SET max_ino=-1"},
		{"text for the highest inode", "UPDATE art_checkpoint SET max_ino='x'"},
		{"every inode", "UPDATE art_checkpoint SET max_ino=9223372036854775807"},
		{"the last number", "UPDATE art_checkpoint SET id=9223372036854775807; UPDATE art_old_inode SET checkpoint=9223372036854775807"},
		{"no root", "INSERT OR REPLACE INTO art_old_inode (ino, checkpoint, there) VALUES (1, 1, 0)"},
		{"the root is a file", inode + "(1, 1, 1, 33188, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)"},
		{"text for numbers", inode + "(3, 1, 1, 'abc', 1, 0, 0, -9, 0, 0, 0, 0, 0, 0, 0)"},
		{"a size", "UPDATE art_old_inode SET size=-9"},
		{"a type", "UPDATE art_old_inode SET mode=420"},
		{"nothing for numbers", "UPDATE art_old_inode SET mode=NULL"},
		{"a directory becomes a file", name + "(2, 'x', 1, 1, 3);" + inode + "(2, 1, 1, 33188, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)"},
		{"an inode with a name is gone", "INSERT OR REPLACE INTO art_old_inode (ino, checkpoint, there) VALUES (3, 1, 0)"},
		{"a name outside", name + "(1, '../../../../x', 1, 1, 3)"},
		{"a name with nothing", name + "(1, '', 1, 1, 3)"},
		{"the root below", name + "(2, 'root', 1, 1, 1)"},
		{"a directory in itself", name + "(2, 'cyc', 1, 1, 2)"},
		{"a directory only in itself", name + "(2, 'cyc', 1, 1, 2), (1, 'dir', 1, 0, NULL)"},
		{"a directory twice", name + "(1, 'again', 1, 1, 2)"},
		{"a directory nowhere", name + "(1, 'dir', 1, 0, NULL)"},
		{"a name in a file", name + "(3, 'x', 1, 1, 3)"},
		{"a name of nothing", "UPDATE art_checkpoint SET max_ino=99; " + name + "(1, 'x', 1, 1, 77)"},
		{"an attribute", "INSERT INTO art_old_xattr (ino, name, checkpoint, there, value) VALUES (3, 'user.x', 1, 1, 'text')"},
		{"a chunk too long", "UPDATE art_old_data SET data=zeroblob(100000)"},
		{"a chunk too short", "UPDATE art_old_data SET data=x'00'"},
		{"text for a chunk", "UPDATE art_old_data SET data='text'"},
		{"a newer chunk", "DELETE FROM art_old_data"},
		{"another size", "UPDATE art_old_inode SET size=1000000 WHERE ino=3"},
		{"a file becomes a link", "UPDATE art_old_inode SET mode=41471 WHERE ino=3; INSERT INTO art_old_symlink (ino, checkpoint, there, target) VALUES (3, 1, 1, 'one')"},
		{"a link of another size", "UPDATE art_old_inode SET size=7 WHERE ino=4"},
		{"another target", "UPDATE art_old_symlink SET target='elsewhere'"},
		{"a file without a name", name + "(1, 'file', 1, 0, NULL)"},
		{"a second name", name + "(1, 'also', 1, 1, 3)"},
		{"a removed file without a name", "DELETE FROM art_old_dentry"},
		{"more links", "UPDATE art_old_inode SET nlink=2 WHERE ino=3"},
		{"no links", "UPDATE art_old_inode SET nlink=0 WHERE ino=3"},
		{"a whiteout in a file", "INSERT INTO art_old_whiteout (parent_ino, name, checkpoint, there) VALUES (3, 'x', 1, 1)"},
		{"a chunk", "INSERT INTO art_old_data (ino, chunk_index, checkpoint, there, data) VALUES (3, -5, 1, 1, x'00')"},
	})
	// Where nothing has come or gone, and only a file has changed.
	testNonsense(t, true, []nonsense{
		{"a size", "UPDATE art_old_inode SET size=-9"},
		{"text for the owner", "UPDATE art_old_inode SET uid='x'"},
		{"a time", "UPDATE art_old_inode SET mtime_nsec=1000000000"},
		{"a type", "UPDATE art_old_inode SET mode=16877"},
		{"another type", "UPDATE art_old_inode SET mode=4516"},
		{"no inode", "UPDATE art_old_inode SET there=0"},
		{"a larger size", "UPDATE art_old_inode SET size=12"},
		{"a smaller size", "UPDATE art_old_inode SET size=2"},
		{"another chunk", "DELETE FROM art_old_data"},
		{"more links", "UPDATE art_old_inode SET nlink=2"},
		{"no links", "UPDATE art_old_inode SET nlink=0"},
	})
}

// nonsense is a name of what somebody has written into history, and how.
type nonsense struct{ name, sql string }

func testNonsense(t *testing.T, only bool, list []nonsense) {
	for _, c := range list {
		t.Run(c.name, func(t *testing.T) {
			path := remembered(t, only)
			alter(t, path, c.sql)
			for what, to := range map[string]Destination{"undo": Undo, "rewind": To("one")} {
				s := openTest(t, path)
				before, err := readTree(s)
				must(t, err)
				must(t, s.Close())
				s = openTest(t, path)
				if _, err := s.GoBack(to, nil); !errors.Is(err, ErrCorrupt) {
					t.Errorf("%s: %v", what, err)
				}
				must(t, s.Close())
				s = openTest(t, path)
				after, err := readTree(s)
				must(t, err)
				if before.sum() != after.sum() {
					t.Errorf("%s: the tree has changed:\n%s\nwas\n%s", what, after, before)
				}
				must(t, s.Close())
			}
			found, err := fsck.Check(path)
			must(t, err)
			for _, f := range found {
				if !strings.Contains(f.Text, "checkpoint") {
					t.Errorf("the present is damaged: %d %s", f.Ino, f.Text)
				}
			}
		})
	}
}
