package fs

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/riverlytech/art/sqlvfs"
)

// partly makes a file of which the delta holds one chunk, in an overlay that keeps what it may.
func partly(t *testing.T, lim BackfillLimits) (s *session, want []byte) {
	s = newSession(t)
	end := s.overlay.Backfill(lim)
	s.plant("f", noise[:300_000])
	s.write("ws/f", []byte("mine"), 150_000)
	end()
	s.remount(t)
	want = bytes.Clone(noise[:300_000])
	copy(want[150_000:], "mine")
	s.reads("ws/f", want)
	time.Sleep(tick)
	return s, want
}

func TestSmallFilesNeedNothingOfTheHost(t *testing.T) {
	s, want := partly(t, BackfillLimits{MaxFile: 1 << 20, AtEnd: time.Minute})
	s.must(os.Remove(filepath.Join(s.base, "f")))
	for range 2 {
		s.reads("ws/f", want)
		s.remount(t)
	}
}

func TestLargeFilesNeedTheSameContent(t *testing.T) {
	for name, change := range map[string]func(s *session, path string) error{
		"touched": func(s *session, path string) error { return os.Chtimes(path, time.Now(), time.Now()) },
		"replaced": func(s *session, path string) error {
			return errors.Join(os.WriteFile(path+"2", noise[:300_000], 0o644), os.Rename(path+"2", path))
		},
		"chmod":  func(s *session, path string) error { return os.Chmod(path, 0o600) },
		"linked": func(s *session, path string) error { return os.Link(path, path+"2") },
	} {
		t.Run(name, func(t *testing.T) {
			s, want := partly(t, BackfillLimits{AtEnd: time.Minute})
			s.must(change(s, filepath.Join(s.base, "f")))
			for range 2 {
				s.reads("ws/f", want)
				s.remount(t)
			}
			s.wantRows(map[string]int{"fs_data": 1})
			if s.logged.Len() > 0 {
				t.Errorf("logged %s", s.logged.String())
			}
			s.must(os.WriteFile(filepath.Join(s.base, "f"), noise[1:300_001], 0o644))
			if _, err := content(s, "ws/f", 1<<17); err != syscall.EIO {
				t.Errorf("another content: %v", err)
			}
		})
	}
}

// An object that git touches, since a new commit needs it, is kept when the host has packed or dropped its own.
func TestTouchedObjectsAreKept(t *testing.T) {
	const object, other = ".git/objects/56/26abf0f72e58d7a153368ba57db4c673c0e171", ".git/hooks/56/26ab"
	s := newSession(t)
	s.plant(object, noise[:3000])
	s.plant(other, noise[:3000])
	end := s.overlay.Backfill(BackfillLimits{MaxFile: 1 << 20, AtEnd: time.Minute})
	now := sqlvfs.Now()
	for _, path := range []string{object, other} {
		_, err := s.overlay.Setattr(s.caller, s.stat("ws/"+path).Ino, SetAttr{Mtime: &now})
		s.must(err)
	}
	end()
	s.remount(t)
	s.wantRows(map[string]int{"fs_data": 1})
	s.must(os.RemoveAll(filepath.Join(s.base, ".git/objects/56")))
	s.reads("ws/"+object, noise[:3000])
}

// A session that ends at once leaves it to the next one.
func TestLaterSessionsKeepWhatEarlierOnesDidNot(t *testing.T) {
	s := newSession(t)
	s.plant("f", noise[:300_000])
	s.write("ws/f", []byte("mine"), 0)
	s.remount(t)
	ino := s.stat("ws/f").Ino
	hashed := func() (is bool) {
		s.overlay.view(func(x *tx) error {
			is = x.nodes[ino].in.Origin.Hash != ""
			return nil
		})
		return is
	}
	end := s.overlay.Backfill(BackfillLimits{AtEnd: time.Minute})
	for until := time.Now().Add(time.Minute); !hashed() && time.Now().Before(until); {
		time.Sleep(quiet / 100)
	}
	end()
	s.remount(t)
	time.Sleep(tick)
	s.must(os.Chtimes(filepath.Join(s.base, "f"), time.Now(), time.Now()))
	s.reads("ws/f", append([]byte("mine"), noise[4:300_000]...))
}

// Without a hash, and with the same size: nobody can tell.
func TestUnknownContentIsNotTaken(t *testing.T) {
	s := newSession(t)
	s.plant("f", noise[:300_000])
	s.write("ws/f", []byte("mine"), 0)
	time.Sleep(tick)
	s.must(os.Chtimes(filepath.Join(s.base, "f"), time.Now(), time.Now()))
	if _, err := content(s, "ws/f", 1<<17); err != syscall.EIO {
		t.Errorf("%v", err)
	}
}

// A file of which the guest has changed everything but the content shows what the host makes of that.
func TestContentOfTheHostsAloneFollowsIt(t *testing.T) {
	for name, change := range map[string]func(s *session) string{
		"chmod": func(s *session) string {
			mode := uint32(0o600)
			s.must(s.setattr("ws/f", SetAttr{Mode: &mode}))
			return "ws/f"
		},
		"rename": func(s *session) string { s.must(s.rename("ws/f", "ws/g")); return "ws/g" },
		"link":   func(s *session) string { s.must(s.link("ws/f", "ws/g")); return "ws/g" },
		"times": func(s *session) string {
			s.must(s.setattr("ws/f", SetAttr{Mtime: &sqlvfs.Timespec{Sec: 7}}))
			return "ws/f"
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t)
			s.plant("f", noise[:300_000])
			at := change(s)
			mode := s.stat(at).Attr.Mode
			for i, size := range []int{400_000, 200_000, 100} {
				time.Sleep(tick)
				s.must(os.WriteFile(filepath.Join(s.base, "f"), noise[i:i+size], 0o644))
				for range 2 {
					if e := s.stat(at); e.Attr.Size != int64(size) || e.Attr.Mode != mode || e.AttrTTL > BaseTTL {
						t.Errorf("size %d, mode %o, kept for %v", e.Attr.Size, e.Attr.Mode, e.AttrTTL)
					}
					s.reads(at, noise[i:i+size])
					s.remount(t)
				}
			}
			time.Sleep(tick)
			s.must(os.WriteFile(filepath.Join(s.base, "f"), noise[:300_000], 0o644))
			s.write(at, []byte("mine"), 150_000)
			want := bytes.Clone(noise[:300_000])
			copy(want[150_000:], "mine")
			s.reads(at, want)
		})
	}
}
