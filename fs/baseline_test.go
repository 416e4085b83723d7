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

// Of the names that a file has on the host, its row tells of one. Each other one has a baseline once it is hidden, also by a rename.
func TestEveryNameThatIsHiddenHasABaseline(t *testing.T) {
	for _, renamed := range [][]string{{"a", "c"}, {"c", "a"}} {
		s := newSession(t)
		s.plant("a", noise[:100])
		for _, name := range []string{"b", "c"} {
			s.must(os.Link(filepath.Join(s.base, "a"), filepath.Join(s.base, name)))
		}
		_, seen, err := s.host.Lstat("a")
		s.must(err)
		s.must(s.unlink("ws/b"))
		for _, name := range renamed {
			s.must(s.rename("ws/"+name, "ws/new-"+name))
		}
		s.must(s.store.Sync())
		origin := ""
		got, err := sqlvfs.Query(s.store, func(db *sqlvfs.Tx) (map[string]*sqlvfs.Baseline, error) {
			at := sqlvfs.RootIno
			for _, name := range []string{workspace, "new-c"} {
				dir, err := db.Get(at)
				s.must(err)
				c, _, _, err := db.Child(dir, name)
				s.must(err)
				db.Put(dir)
				at = c.Ino
			}
			row, err := db.Get(at)
			s.must(err)
			defer db.Put(row)
			origin = row.Origin.Path
			return db.Baselines(s.overlay.tree())
		})
		s.must(err)
		for _, name := range []string{"a", "b", "c"} {
			if b := got[name]; name != origin && (b == nil || b.Fingerprint != seen) {
				t.Errorf("after %v, %s: %+v, want %+v", renamed, name, b, seen)
			}
		}
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
		s.must(s.overlay.Unlink(Caller{}, top.Ino, path))
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
