package sqlvfs

import (
	"bytes"
	"errors"
	"path/filepath"
	"syscall"
	"testing"
)

// dropping is a database with three checkpoints, of a file that holds another digit at each, and a store that shows the second.
func dropping(t *testing.T) (s, at *Store) {
	path := filepath.Join(memoryDir(t), "a.db")
	s = openTest(t, path)
	f := create(t, s, "f", syscall.S_IFREG|0o600)
	for i := range 3 {
		must(t, s.WriteAt(f, bytes.Repeat([]byte{'1' + byte(i)}, 10), 0, nil, Now()))
		_, err := s.Checkpoint(AtRest, "")
		must(t, err)
	}
	put(s, f)
	must(t, s.Sync())
	at, err := Open(path, Options{At: "2"})
	must(t, err)
	return s, at
}

func dropAllButOne(t *testing.T, s *Store) {
	n, err := s.Thin(Keep{Checkpoints: 1})
	if must(t, err); n != 2 {
		t.Fatalf("%d checkpoints dropped, not 2", n)
	}
}

// A checkpoint that is dropped while it is shown: from then on nothing else is shown in its place, not for a moment.
func TestShownIsDropped(t *testing.T) {
	s, at := dropping(t)
	in := lookup(t, at, "f")
	if got := string(content(t, at, in)); got != "2222222222" {
		t.Errorf("checkpoint 2 has %q", got)
	}
	must(t, s.Update(func(tx *Tx) error { return nil }))
	if _, err := s.Checkpoint(ByUser, "other"); err != nil {
		t.Fatal(err)
	}
	if got := string(content(t, at, in)); got != "2222222222" {
		t.Errorf("beside other commits, checkpoint 2 has %q", got)
	}
	dropAllButOne(t, s)
	if n, err := at.ReadAt(in, make([]byte, 10), 0, nil); !errors.Is(err, syscall.ESTALE) {
		t.Errorf("reading a dropped checkpoint: %d bytes, %v", n, err)
	}
	if err := at.View(func(tx *Tx) error {
		_, _, _, err := tx.Child(tx.Root(), "f")
		return err
	}); !errors.Is(err, syscall.ESTALE) {
		t.Errorf("looking a name up at a dropped checkpoint: %v", err)
	}
	put(at, in)
	must(t, at.Close())
	must(t, s.Close())
}

// It may be dropped within a read, after the step that looks the file up.
func TestShownIsDroppedInARead(t *testing.T) {
	s, at := dropping(t)
	in := lookup(t, at, "f")
	p := make([]byte, 10)
	var r reading
	must(t, at.View(func(tx *Tx) error { return tx.read(in, p, 0, &r) }))
	if len(r.runs) == 0 {
		t.Fatal("the content is in memory")
	}
	dropAllButOne(t, s)
	if n, err := at.finishRead(in, &r, nil); !errors.Is(err, syscall.ESTALE) {
		t.Errorf("%d bytes %q, %v", n, p, err)
	}
	put(at, in)
	must(t, at.Close())
	must(t, s.Close())
}

// A timer of who has used it may run a step after it is closed.
func TestShownIsClosed(t *testing.T) {
	s, at := dropping(t)
	must(t, at.Close())
	ran := false
	must(t, at.View(func(*Tx) error { ran = true; return nil }))
	if !ran {
		t.Error("the step did not run")
	}
	must(t, s.Close())
}
