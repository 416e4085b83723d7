package fs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/riverlytech/art/sqlvfs"
)

// What the guest hides of the base is remembered as the guest has seen it, whatever the host makes
// of it afterwards.
func TestWhatIsHiddenHasABaseline(t *testing.T) {
	s := newSession(t)
	paths := []string{"untouched", "changed", "replaced", "moved", "dir/a", "dir/sub/b", "again", "kept"}
	seen := map[string]sqlvfs.Fingerprint{}
	look := func(path string) {
		_, fp, err := s.host.Lstat(path)
		s.must(err)
		seen[path] = fp
	}
	for _, path := range paths {
		s.plant(path, noise[:100])
		look(path)
	}
	look("dir")
	look("dir/sub")
	s.write("ws/changed", []byte("x"), 0)
	s.must(os.WriteFile(filepath.Join(s.base, "changed"), []byte("by the host"), 0o644))
	s.write("ws/new", []byte("x"), 0)
	for _, path := range []string{"ws/untouched", "ws/changed", "ws/dir/a", "ws/dir/sub/b", "ws/again"} {
		s.must(s.unlink(path))
	}
	s.must(s.rmdir("ws/dir/sub"))
	s.must(s.rmdir("ws/dir"))
	s.must(s.rename("ws/new", "ws/replaced"))
	s.must(s.rename("ws/moved", "ws/moved2"))
	s.must(s.unlink("ws/moved2"))
	s.write("ws/again", []byte("x"), 0)
	s.must(s.unlink("ws/again"))
	s.must(s.store.Sync())
	got, err := sqlvfs.Query(s.store, func(db *sqlvfs.Tx) (map[string]*sqlvfs.Baseline, error) { return db.Baselines(s.overlay.tree()) })
	s.must(err)
	delete(seen, "kept")
	for path, fp := range seen {
		if b := got[path]; b == nil || b.Fingerprint != fp {
			t.Errorf("%s: %+v, want %+v", path, b, fp)
		}
	}
	if len(got) != len(seen) {
		t.Errorf("%d baselines, want %d: %v", len(got), len(seen), got)
	}
}
