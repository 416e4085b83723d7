package sqlvfs

import (
	"path/filepath"
	"syscall"
	"testing"
)

// A database has a workspace on the host until nothing of it has an origin there, and it is hidden in the root.
func TestOnHost(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "a.db"), Options{Create: true, Root: NewRoot()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	expect := func(when string, want ...string) {
		t.Helper()
		if err := s.Sync(); err != nil {
			t.Fatal(err)
		}
		list, err := Query(s, (*Tx).OnHost)
		var got []string
		for _, w := range list {
			got = append(got, w.Name+" "+w.Path)
		}
		if err != nil || len(got) != len(want) || len(got) > 0 && got[0] != want[0] {
			t.Errorf("%s: %q, %v, want %q", when, got, err, want)
		}
	}
	update := func(f func(tx *Tx) error) {
		t.Helper()
		if err := s.Update(f); err != nil {
			t.Fatal(err)
		}
	}
	expect("at first")
	update(func(tx *Tx) error { tx.SetWorkspace(Workspace{Tree: Tree{Name: "ws"}, Path: "/w/ws"}); return nil })
	expect("with a workspace", "ws /w/ws")
	update(func(tx *Tx) error { return tx.SetWhiteout(tx.Root(), "ws") })
	expect("hidden")
	var in *Inode
	update(func(tx *Tx) (err error) {
		if in, err = tx.New(Attr{Mode: syscall.S_IFREG | 0o600, Nlink: 1}); err != nil {
			return err
		}
		tx.SetOrigin(in, &Origin{Base: "ws", Path: "f"})
		return tx.Link(tx.Root(), "f", in)
	})
	expect("with an origin", "ws /w/ws")
	update(func(tx *Tx) error { tx.SetOrigin(in, &Origin{Base: "other", Path: "f"}); return nil })
	expect("of which no more is known", "other ")
	update(func(tx *Tx) error { tx.SetOrigin(in, nil); return nil })
	expect("at last")
}
