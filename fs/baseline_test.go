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

// What the host has changed since the guest saw it, of which no event has been heard yet, is removed as what the guest saw.
func TestWhatIsRemovedIsWhatTheGuestSaw(t *testing.T) {
	s := newSession(t)
	for _, path := range []string{"seen", "unseen"} {
		s.plant(path, noise[:100])
	}
	ws, err := newWatches(s.host, 10)
	s.must(err)
	defer ws.end()
	s.overlay.view(func(t *tx) error {
		t.watches, t.pending = ws, newPending() // of which nobody reads the events
		return nil
	})
	top, err := s.overlay.Lookup(RootIno, workspace)
	s.must(err)
	_, err = s.overlay.Lookup(top.Ino, "seen")
	s.must(err)
	_, seen, err := s.host.Lstat("seen")
	s.must(err)
	for _, path := range []string{"seen", "unseen"} {
		s.must(os.WriteFile(filepath.Join(s.base, path), []byte("by the host"), 0o644))
	}
	_, now, err := s.host.Lstat("unseen")
	s.must(err)
	for _, path := range []string{"seen", "unseen"} {
		s.must(s.overlay.Unlink(top.Ino, path))
		if e, err := s.overlay.Lookup(top.Ino, path); err != nil || e.Ino != 0 {
			t.Errorf("%s is still there: %+v, %v", path, e, err)
		}
	}
	s.must(s.store.Sync())
	got, err := sqlvfs.Query(s.store, func(db *sqlvfs.Tx) (map[string]*sqlvfs.Baseline, error) { return db.Baselines(s.overlay.tree()) })
	s.must(err)
	for path, want := range map[string]sqlvfs.Fingerprint{"seen": seen, "unseen": now} {
		if b := got[path]; b == nil || b.Fingerprint != want {
			t.Errorf("%s: %+v, want %+v", path, b, want)
		}
	}
}
