package sqlvfs

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
)

// A row that is written again and again has what it was at the checkpoint in history once, whatever became of the transactions: also where
// the first of them has failed.
func TestHistoryAfterAFailedTransaction(t *testing.T) {
	s, d := failing(t)
	f := create(t, s, "f", syscall.S_IFREG|0o600)
	must(t, s.WriteAt(f, []byte("first"), 0, nil, Now()))
	c, err := s.Checkpoint(ByUser, "")
	must(t, err)
	for _, text := range []string{"second", "third", "fourth"} {
		d.failWith(nil)
		must(t, recovers(s))
		if text != "third" {
			d.failWith(only(wrote, syscall.EIO))
		}
		must(t, s.WriteAt(f, []byte(text), 0, nil, Now()))
		s.Sync()
	}
	d.failWith(nil)
	must(t, recovers(s))
	_, err = s.GoBack(To(fmt.Sprint(c.ID)), nil)
	must(t, err)
	if got := content(t, s, f); string(got) != "first" {
		t.Errorf("it holds %q", got)
	}
	put(s, f)
	must(t, s.Close())
	must(t, checkClean(s.Path()))
}

// A name that new files come and go under, as a journal's, has led to nothing at the checkpoint, also if it then leads to a file that was
// there.
func TestNameOfNewFilesInHistory(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "a.db"))
	old := create(t, s, "old", syscall.S_IFREG|0o600)
	must(t, s.WriteAt(old, []byte("old"), 0, nil, Now()))
	c, err := s.Checkpoint(ByUser, "")
	must(t, err)
	for range 3 {
		in := create(t, s, "journal", syscall.S_IFREG|0o600)
		must(t, s.Sync())
		step(s, func(tx *Tx) {
			in.Attr.Nlink = 0
			tx.Dirty(in)
			must(t, tx.Unlink(tx.Root(), "journal"))
			tx.Put(in)
		})
		must(t, s.Sync())
	}
	step(s, func(tx *Tx) {
		must(t, tx.Unlink(tx.Root(), "old"))
		must(t, tx.Link(tx.Root(), "journal", old))
		tx.Put(old)
	})
	must(t, s.Sync())
	_, err = s.GoBack(To(fmt.Sprint(c.ID)), nil)
	must(t, err)
	tree, err := readTree(s)
	must(t, err)
	if len(tree.kids) != 1 || tree.kids["old"] == nil {
		t.Errorf("it holds %v", tree.kids)
	}
	must(t, s.Close())
	must(t, checkClean(s.Path()))
}
