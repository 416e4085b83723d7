package sqlvfs

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// removeDir is a step that removes a directory in the root and the file in it.
func removeDir(t *testing.T, name, file string) func(*Tx) error {
	return to(name, func(tx *Tx, dir *Inode) error {
		c, _, _, err := tx.Child(dir, file)
		if err != nil {
			return err
		}
		in, err := tx.Get(c.Ino)
		if err != nil {
			return err
		}
		must(t, tx.Unlink(dir, file))
		must(t, tx.Unlink(tx.Root(), name))
		in.Attr.Nlink, dir.Attr.Nlink = 0, 0
		tx.Dirty(in)
		tx.Dirty(dir)
		tx.Put(in)
		return nil
	})
}

// The number of an inode that the log knows does not come back. Where it has, what was done to the one before is not told of the one that has
// it now.
func TestNumbersThatComeBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	logged(t, path, func(s *Store) {
		mkdir := newProcess(s, "mkdir")
		by(t, s, mkdir, func(tx *Tx) error {
			d, err := tx.New(Attr{Mode: syscall.S_IFDIR | 0o755, Nlink: 2})
			must(t, err)
			must(t, tx.Link(tx.Root(), "d", d))
			f, err := tx.New(Attr{Mode: 0o100644, Nlink: 1})
			must(t, err)
			must(t, tx.Link(d, "f", f))
			must(t, tx.WriteAt(f, []byte("f"), 0, Now()))
			tx.Put(f)
			tx.Put(d)
			return nil
		})
		must(t, s.Sync())
		by(t, s, newProcess(s, "rm"), removeDir(t, "d", "f"))
	})
	for removed := Now(); Now() == removed; { // by its time, what happens to a number is told from what happened to it before
		time.Sleep(time.Millisecond)
	}
	logged(t, path, func(s *Store) {
		by(t, s, newProcess(s, "touch"), func(tx *Tx) error {
			in, err := tx.New(Attr{Mode: 0o100644, Nlink: 1, Atime: Now(), Ctime: Now()})
			must(t, err)
			must(t, tx.Link(tx.Root(), "new", in))
			must(t, tx.WriteAt(in, []byte("new"), 0, Now()))
			tx.Put(in)
			return nil
		})
		must(t, s.Sync())
	})
	is := func(when, want string) {
		t.Helper()
		if got := whoChanged(t, path, ""); got != strings.TrimSpace(want) {
			t.Errorf("%s:\n%s\nwant:\n%s", when, got, want)
		}
	}
	want := `
0 /d (gone) made named by mkdir
0 /d (gone) removed by rm
0 /d/f (gone) made written named by mkdir
0 /d/f (gone) removed by rm
`
	is("new numbers", want+`0 /new made written named by touch`)
	if !strings.Contains("\n"+dump(t, path, "art_change"), "\nino=\"4\"") {
		t.Error("the file has a number that has been another inode's")
	}
	// As it was where numbers came back: the file has the directory's.
	alter(t, path, `UPDATE fs_inode SET ino=2 WHERE ino=4; UPDATE fs_dentry SET ino=2 WHERE ino=4; UPDATE fs_data SET ino=2 WHERE ino=4;
		UPDATE art_birth SET ino=2 WHERE ino=4; UPDATE art_change SET ino=2 WHERE ino=4`)
	is("the directory's number", want+`0 /new made written named by touch`)
	m, err := OpenMoment(path, "")
	must(t, err)
	defer m.Close()
	list, err := m.ChangesOf(2)
	must(t, err)
	for _, c := range list {
		if p, err := m.Process(c.Process); err != nil || p.Argv[0] != "touch" {
			t.Errorf("%+v is of the file", c)
		}
	}
	if len(list) == 0 {
		t.Error("nothing is of the file")
	}
}

// A change of a name is there as long as the name leads to what it did then.
func TestNamesThatAreThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	logged(t, path, func(s *Store) {
		tee := newProcess(s, "tee")
		by(t, s, tee, makes(t, "a"))
		by(t, s, tee, makes(t, "b"))
		must(t, s.Sync())
		by(t, s, newProcess(s, "ln"), to("b", func(tx *Tx, in *Inode) error { return tx.Link(tx.Root(), "linked", in) }))
		by(t, s, newProcess(s, "mv"), to("a", func(tx *Tx, in *Inode) error {
			must(t, tx.Link(tx.Root(), "moved", in))
			return tx.Unlink(tx.Root(), "a")
		}))
	})
	want := `
0 /a (gone) made written named by tee
0 /a (gone) removed by mv
0 /b made written named by tee
0 /linked named by ln
0 /moved named by mv`
	if got := whoChanged(t, path, ""); got != strings.TrimSpace(want) {
		t.Errorf("%s\nwant:%s", got, want)
	}
}
