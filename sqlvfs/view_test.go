package sqlvfs

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
)

// A step of View waits for no room and is not refused while the disk takes nothing, so it adds nothing.
func TestViewAddsNothing(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "a.db"))
	in := create(t, s, "file", syscall.S_IFREG|0o644)
	defer put(s, in)
	for name, add := range map[string]func(*Tx) error{
		"New":         func(tx *Tx) error { _, err := tx.New(Attr{Mode: syscall.S_IFREG}); return err },
		"Link":        func(tx *Tx) error { return tx.Link(tx.Root(), "another", in) },
		"SetWhiteout": func(tx *Tx) error { return tx.SetWhiteout(tx.Root(), "gone") },
	} {
		if err := s.View(add); !errors.Is(err, errViewing) {
			t.Errorf("%s in a step of View: %v", name, err)
		}
	}
	must(t, s.View(func(tx *Tx) error {
		in.Attr.Mtime = Timespec{Sec: 7, Nsec: 8}
		tx.Dirty(in)
		return nil
	}))
	must(t, s.Close())
}
