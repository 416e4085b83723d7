package fs

import (
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/riverlytech/art/sqlvfs"
)

// Whatever the guest has done with a file of the base, its hash is known at the end of the session.
func TestVersionsAreHashed(t *testing.T) {
	sum := sha256.Sum256(noise[:5000])
	want := string(sum[:])
	for name, change := range map[string]func(s *session){
		"written":   func(s *session) { s.write("ws/f", []byte("mine"), 0) },
		"truncated": func(s *session) { zero := int64(0); s.must(s.setattr("ws/f", SetAttr{Size: &zero})) },
		"removed":   func(s *session) { s.must(s.unlink("ws/f")) },
		"replaced": func(s *session) {
			s.write("ws/g", []byte("other"), 0)
			s.must(s.rename("ws/g", "ws/f"))
		},
		"written and removed": func(s *session) {
			s.write("ws/f", []byte("mine"), 0)
			s.must(s.unlink("ws/f"))
		},
		"renamed and written": func(s *session) {
			s.must(s.rename("ws/f", "ws/g"))
			s.write("ws/g", []byte("mine"), 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t)
			end := s.overlay.Backfill(BackfillLimits{AtEnd: time.Minute})
			s.plant("f", noise[:5000])
			s.plant("untouched", noise[:10])
			change(s)
			end()
			if got := s.hashes(t); got["f"] != want || len(got) != 1 {
				t.Errorf("%x", got)
			}
		})
	}
}

// What the host has changed by then is another version.
func TestOtherVersionsAreNotHashed(t *testing.T) {
	s := newSession(t)
	end := s.overlay.Backfill(BackfillLimits{AtEnd: time.Minute})
	s.plant("f", noise[:5000])
	s.plant("g", noise[:5000])
	s.write("ws/f", []byte("mine"), 0)
	s.must(s.unlink("ws/g"))
	time.Sleep(tick)
	s.must(errors.Join(os.WriteFile(filepath.Join(s.base, "f"), noise[1:5001], 0o644), os.WriteFile(filepath.Join(s.base, "g"), noise[1:5001], 0o644)))
	end()
	if got := s.hashes(t); len(got) > 0 {
		t.Errorf("%x", got)
	}
}

// hashes are those that are known, by paths in the base.
func (s *session) hashes(t *testing.T) map[string]string {
	t.Helper()
	s.must(s.store.Sync())
	all, err := sqlvfs.Query(s.store, func(db *sqlvfs.Tx) (map[string]*sqlvfs.Baseline, error) { return db.Baselines(s.overlay.tree()) })
	s.must(err)
	tree, err := sqlvfs.Query(s.store, (*sqlvfs.Tx).Snapshot)
	s.must(err)
	known := map[string]string{}
	for path, b := range all {
		if len(b.Hash) > 0 {
			known[path] = string(b.Hash)
		}
	}
	tree.All(func(n *sqlvfs.Node) {
		if n.Origin != nil && n.Origin.Hash != "" {
			known[n.Origin.Path] = n.Origin.Hash
		}
	})
	return known
}
