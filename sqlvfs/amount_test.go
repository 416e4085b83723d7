package sqlvfs

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
)

// What the log says of a checkpoint stays the same, whatever becomes of the tree later.
func TestAmounts(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "a.db"))
	want := []Amount{}
	amounts := func(when string) {
		t.Helper()
		all, err := s.Checkpoints()
		must(t, err)
		list, err := s.Amounts(all)
		must(t, err)
		for i := range want {
			if got := list[len(all)-2-i]; got == nil || *got != want[i] {
				t.Errorf("%s, from checkpoint %d to %d there were %+v, and not %+v", when, i+1, i+2, got, want[i])
			}
		}
	}
	after := func(files, bytes int64) {
		t.Helper()
		_, err := s.Checkpoint(ByUser, "")
		must(t, err)
		if files >= 0 {
			want = append(want, Amount{files, bytes})
		}
		amounts("then")
	}
	after(-1, 0)
	f := create(t, s, "f", syscall.S_IFREG|0o600)
	must(t, s.WriteAt(f, []byte("small\n"), 0, nil, Now()))
	after(1, 6)
	must(t, s.WriteAt(f, make([]byte, 1<<20), 6, nil, Now()))
	after(1, 6+1<<20)
	for i := range 9 {
		put(s, create(t, s, fmt.Sprint(i), syscall.S_IFREG|0o600))
	}
	after(9, 0)
	put(s, f)
	remove(t, s, "f")
	after(1, 6+1<<20)
	for _, back := range []struct {
		to           Destination
		files, bytes int64
	}{{Undo, 1, 6 + 1<<20}, {Undo, 9, 0}, {Redo, 9, 0}, {Redo, 1, 6 + 1<<20}} {
		_, err := s.GoBack(back.to, nil)
		must(t, err)
		want = append(want, Amount{back.files, back.bytes})
		amounts("after going back")
	}
	for i := range 9 {
		remove(t, s, fmt.Sprint(i))
	}
	must(t, s.Sync())
	amounts("at the end")
	must(t, s.Close())
}
