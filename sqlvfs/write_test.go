package sqlvfs

import (
	"bytes"
	"errors"
	"path/filepath"
	"syscall"
	"testing"
)

// A step changes content together with names and attributes. What it misses of a row is read for it, and what it misses of
// an origin is asked for; until then nothing has changed.
func TestContentIsChangedInAStep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := openTest(t, path)
	want := bytes.Repeat([]byte("content "), 3*DefaultChunkSize/8)
	stored := create(t, s, "stored", syscall.S_IFREG|0o600)
	must(t, s.WriteAt(stored, want, 0, nil, Now()))
	must(t, s.Close())

	s = openTest(t, path)
	stored = lookup(t, s, "stored")
	over := create(t, s, "over", syscall.S_IFREG|0o600)
	must(t, s.Update(func(tx *Tx) error {
		over.Attr.Size = int64(len(want))
		tx.SetOrigin(over, &Origin{Base: "ws", Path: "over", Limit: over.Attr.Size})
		return nil
	}))
	tries := 0
	step := func(tx *Tx) error {
		tries++
		now := Timespec{Sec: 7, Nsec: 8}
		if err := tx.WriteAt(stored, []byte("x"), 10, now); err != nil {
			return err
		}
		if _, err := tx.Zero(over, 5, DefaultChunkSize, true, now); err != nil {
			return err
		}
		if err := tx.Truncate(over, 2*DefaultChunkSize+3, now); err != nil {
			return err
		}
		over.Attr.Mode = syscall.S_IFREG | 0o400
		tx.Dirty(over)
		stored.Attr.Nlink = 2
		tx.Dirty(stored)
		return tx.Link(tx.Root(), "again", stored)
	}
	for missed := 0; ; missed++ {
		err := s.Update(step)
		m, ok := errors.AsType[*Missing](err)
		if !ok {
			must(t, err)
			if missed != 3 { // both ends of what is zeroed, and the new end of the file
				t.Errorf("content of the origin was missed %d times", missed)
			}
			break
		}
		if m.Inode != over || over.Attr.Mode != syscall.S_IFREG|0o600 {
			t.Fatalf("inode %d is missed, the other one has mode %o", m.Inode.Ino, over.Attr.Mode)
		}
		if err := s.Supply(m, nil); !errors.Is(err, ErrNoBase) {
			t.Errorf("supplied without a base: %v", err)
		}
		must(t, s.Supply(m, bytes.NewReader(want)))
	}
	if tries != 5 { // once more for the row
		t.Errorf("the step ran %d times", tries)
	}
	cut := bytes.Clone(want[:2*DefaultChunkSize+3])
	clear(cut[5 : 5+DefaultChunkSize])
	want[10] = 'x'
	must(t, s.Close())
	must(t, checkClean(path))
	s = openTest(t, path)
	defer s.Close()
	if !bytes.Equal(content(t, s, lookup(t, s, "again")), want) {
		t.Error("the stored file's content differs")
	}
	if in := lookup(t, s, "over"); in.Attr.Mode != syscall.S_IFREG|0o400 || !bytes.Equal(contentOver(t, s, in, bytes.NewReader(want)), cut) {
		t.Errorf("the other file has mode %o, or its content differs", in.Attr.Mode)
	}
	for _, off := range []int64{-1, s.MaxSize()} {
		if err := s.Update(func(tx *Tx) error { return tx.WriteAt(tx.Root(), []byte("x"), off, Now()) }); err != syscall.EFBIG {
			t.Errorf("write at %d: %v", off, err)
		}
	}
}
