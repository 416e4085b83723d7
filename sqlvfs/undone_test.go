package sqlvfs

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// days makes files f1 to fn, with a checkpoint after each.
func days(t *testing.T, s *Store, n int) {
	t.Helper()
	for i := range n {
		put(s, create(t, s, fmt.Sprint("f", i+1), syscall.S_IFREG|0o600))
		_, err := s.Checkpoint(AtRest, "")
		must(t, err)
	}
}

// goes goes somewhere, and tells whether the tree has the files f1 to fn then.
func goes(t *testing.T, s *Store, to Destination, n int) {
	t.Helper()
	c, err := s.GoBack(to, nil)
	must(t, err)
	var got, want []string
	children, err := Query(s, func(tx *Tx) ([]Child, error) { return tx.Children(tx.Root()) })
	must(t, err)
	for _, child := range children {
		got = append(got, child.Name)
	}
	for i := range n {
		want = append(want, fmt.Sprint("f", i+1))
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("by %+v there is %v", c, got)
	}
}

// However often what was gone back to is given a label: undo goes further back, and redo forward.
func TestLabelsBetweenUndos(t *testing.T) {
	for _, kind := range []Occasion{ByUser, ByGuest} {
		s := openTest(t, filepath.Join(t.TempDir(), "a.db"))
		days(t, s, 4)
		label := func(name string) {
			_, err := s.Checkpoint(kind, name)
			must(t, err)
		}
		goes(t, s, Undo, 3)
		label("one")
		label("two")
		goes(t, s, Undo, 2)
		label("three")
		label("four")
		goes(t, s, Redo, 3)
		goes(t, s, Redo, 4)
		if _, err := s.GoBack(Redo, nil); !errors.Is(err, ErrNothingToRedo) {
			t.Error(err)
		}
		goes(t, s, To("three"), 2)
		goes(t, s, To("two"), 3)
		must(t, s.Close())
		must(t, checkClean(s.Path()))
	}
}

// What was undone does not come again by undo because the checkpoint that was gone back to is not there any more.
func TestUndoAfterThinning(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := openTest(t, path)
	days(t, s, 1)
	_, err := s.Checkpoint(ByUser, "mark")
	must(t, err)
	for _, name := range []string{"f2", "f3"} {
		put(s, create(t, s, name, syscall.S_IFREG|0o600))
		_, err := s.Checkpoint(AtRest, "")
		must(t, err)
	}
	put(s, create(t, s, "f4", syscall.S_IFREG|0o600))
	goes(t, s, Undo, 3)
	n, err := s.Thin(Keep{Checkpoints: 3, Undone: time.Hour})
	must(t, err)
	all, err := s.Checkpoints()
	must(t, err)
	if n != 2 || len(all) != 3 || all[2].Label != "mark" {
		t.Fatalf("%+v are left", all)
	}
	goes(t, s, Undo, 1)
	goes(t, s, Redo, 3)
	goes(t, s, Redo, 4)
	must(t, s.Close())
	must(t, checkClean(path))
}

// A file that was open when it lost its name changes nothing that anybody could go back to, also between two checkpoints of one tree that
// do not say so, as older versions made them.
func TestUndoBesideAFileWithoutAName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := openTest(t, path)
	in := create(t, s, "open", syscall.S_IFREG|0o600)
	must(t, s.WriteAt(in, []byte("content"), 0, nil, Now()))
	days(t, s, 1)
	must(t, s.Update(func(tx *Tx) error {
		in.Attr.Nlink = 0
		tx.Dirty(in)
		return tx.Unlink(tx.Root(), "open")
	}))
	_, err := s.Checkpoint(ByUser, "two")
	must(t, err)
	must(t, s.WriteAt(in, []byte("other"), 0, nil, Now()))
	_, err = s.Checkpoint(ByUser, "again two")
	must(t, err)
	must(t, s.writer.Exec("UPDATE art_checkpoint SET restored=NULL"))
	if c, err := s.GoBack(Undo, nil); err != nil || c.Restored != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	put(s, in)
	must(t, s.Close())
}

// A label that is a number, which only another program can write, stands for no checkpoint.
func TestHostileLabel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := openTest(t, path)
	days(t, s, 3)
	goes(t, s, Undo, 2)
	must(t, s.Close())
	alter(t, path, "UPDATE art_checkpoint SET label='2' WHERE id=4; DELETE FROM art_checkpoint WHERE id=2")
	s = openTest(t, path)
	if _, err := s.GoBack(To("2"), nil); !errors.Is(err, ErrNoCheckpoint) {
		t.Error(err)
	}
	if _, err := s.GoBack(Undo, nil); err != nil && !errors.Is(err, ErrNothingToUndo) {
		t.Error(err)
	}
	if _, err := s.GoBack(To("4"), nil); err != nil {
		t.Error(err)
	}
	must(t, s.Close())
}

// A name that leads nowhere further, which only another program can write, has no path.
func TestHostileNameOnTheWay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := openTest(t, path)
	d, p := create(t, s, "d", syscall.S_IFDIR|0o700), create(t, s, "p", syscall.S_IFREG|0o600)
	must(t, s.Update(func(tx *Tx) error {
		p.Attr.Nlink++
		tx.Dirty(p)
		return tx.Link(d, "q", p)
	}))
	dir := d.Ino
	put(s, d)
	put(s, p)
	c, err := s.Checkpoint(ByUser, "")
	must(t, err)
	must(t, s.Close())
	s = openTest(t, path)
	p = lookup(t, s, "p")
	must(t, s.WriteAt(p, []byte("2"), 0, nil, Now()))
	put(s, p)
	must(t, s.Close())
	alter(t, path, fmt.Sprintf("UPDATE fs_dentry SET name='.', parent_ino=%d WHERE ino=%[1]d", dir))
	s = openTest(t, path)
	if _, err := s.GoBack(Part(fmt.Sprint(c.ID), []string{"p"}), nil); err == nil {
		t.Error("it goes back")
	}
	must(t, s.Close())
}

// Of more checkpoints than are read at once, what one that stays shows stays too.
func TestThinningOfVeryMany(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := openTest(t, path)
	in := create(t, s, "g", syscall.S_IFREG|0o600)
	must(t, s.WriteAt(in, []byte("first"), 0, nil, Now()))
	first, err := s.Checkpoint(ByUser, "first")
	must(t, err)
	was, err := readTree(s)
	must(t, err)
	put(s, create(t, s, "other", syscall.S_IFREG|0o600))
	_, err = s.Checkpoint(ByUser, "")
	must(t, err)
	must(t, s.WriteAt(in, []byte("other"), 0, nil, Now()))
	put(s, in)
	must(t, s.Close())
	alter(t, path, `WITH RECURSIVE n(i) AS (SELECT 3 UNION ALL SELECT i+1 FROM n WHERE i<10001)
		INSERT INTO art_checkpoint (id, made, made_nsec, kind, max_ino) SELECT i, (SELECT made FROM art_checkpoint WHERE id=2), 0, 'rest', 4 FROM n`)
	s = openTest(t, path)
	if n, err := s.Thin(Keep{Checkpoints: 9999}); err != nil || n == 0 {
		t.Errorf("%d are dropped, %v", n, err)
	}
	must(t, s.Close())
	must(t, showsAt(path, first.ID, was))
}
