package fs

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// What the kernel knows of a file of the base is not said again, until it may be true no more.
func TestKnownEntriesAreNotSaidAgain(t *testing.T) {
	s := newWatched(t, 100)
	s.plant("d/f", []byte("content"))
	// An event that is on its way may have it said once more.
	said := func(why string, want bool) {
		t.Helper()
		soon(t, BaseTTL*5, func() string {
			list, err := s.readdir("ws/d", 100, func([]DirEntry) {})
			s.must(err)
			e, f := list[len(list)-1], s.stat("ws/d/f")
			if e.Name != "f" || e.Ino != f.Ino || e.Mode&0o170000 != 0o100000 {
				t.Fatalf("%s: entry %+v, want number %d", why, e, f.Ino)
			}
			if got := e.Entry.Ino != 0; got != want {
				return fmt.Sprintf("%s: said: %v, want %v", why, got, want)
			}
			return ""
		})
	}
	d := s.stat("ws/d")
	said("nobody has looked at it", true)
	said("listed before", false)
	s.stat("ws/d/f")
	s.must(os.Remove(filepath.Join(s.base, "d/f")))
	s.says(d.Ino, fmt.Sprintf("%d/f", d.Ino))
	s.plant("d/f", []byte("another"))
	s.says(d.Ino)
	said("another file", true)
	said("listed before", false)
	s.must(os.Chmod(filepath.Join(s.base, "d/f"), 0o600))
	s.says(s.stat("ws/d/f").Ino)
	f := s.stat("ws/d/f")
	if _, err := s.overlay.Read(f.Ino, make([]byte, 10), 0); err != nil {
		t.Fatal(err)
	}
	said("read, which has the kernel ask for the time of access", true)
	s.remount(t)
	said("another session", true)
}
