package fs

import (
	"slices"
	"testing"

	"github.com/riverlytech/art/sqlvfs"
)

// Files of the base that lose their last name while they are in use are found without a look at all nodes, also when they lose it by going
// back.
func TestRemovedFilesAreFound(t *testing.T) {
	s := newSession(t)
	for _, name := range []string{"untouched", "changed", "replaced", "other", "stays"} {
		s.plant(name, []byte("the host's"))
		_, err := s.lstat("ws/" + name)
		s.must(err)
	}
	mode := uint32(0o600)
	s.must(s.setattr("ws/changed", SetAttr{Mode: &mode}))
	_, err := s.store.Checkpoint(sqlvfs.ByUser, "")
	s.must(err)
	expect := func(when string, want ...string) {
		t.Helper()
		var got []string
		s.must(s.overlay.view(func(t *tx) error {
			for _, r := range t.removedFiles() {
				got = append(got, r.path)
			}
			return nil
		}))
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
		if n := unnoted(s.overlay); n != 0 {
			t.Errorf("%s: %d more among all nodes", when, n)
		}
	}
	back := func(to sqlvfs.Destination) {
		t.Helper()
		_, err := s.store.GoBack(to, func(db *sqlvfs.Tx, r *sqlvfs.Restored) {
			s.overlay.tx.db = db
			s.overlay.tx.goBack(r)
			s.overlay.tx.db = nil
		})
		s.must(err)
	}
	expect("all have names")
	s.must(s.unlink("ws/untouched"))
	s.must(s.unlink("ws/changed"))
	s.must(s.rename("ws/other", "ws/replaced"))
	expect("removed and replaced", "changed", "replaced", "untouched")
	back(sqlvfs.Undo)
	expect("they are back")
	back(sqlvfs.Redo)
	expect("gone again", "changed", "replaced", "untouched")
}
