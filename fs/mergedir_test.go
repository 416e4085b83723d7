package fs

import (
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// bothMake are directories of a repository that the guest makes first, and the host later.
var bothMake = []struct{ dir, other string }{
	{"ws/.git/objects/61", "ws/d"},
	{"ws/.git/refs/heads/fix", "ws/.git/hooks"},
	{"ws/bare.git/refs/tags/v1", "ws/objects"},
}

// What the host commits shows in directories that the guest has made before: of git's objects and references, and of no others.
func TestBothSidesMakeADirectory(t *testing.T) {
	for _, c := range bothMake {
		t.Run(c.dir, func(t *testing.T) {
			s := newSession(t)
			for _, dir := range []string{".git/objects", ".git/refs/heads", "bare.git/refs/tags"} {
				s.must(os.MkdirAll(s.base+"/"+dir, 0o755))
			}
			for _, dir := range []string{c.dir, c.other} {
				s.must(s.mkdir(dir, 0o755))
				s.write(dir+"/guest", []byte("guest"), 0)
				s.missing(dir + "/host")
				s.plant(dir[len("ws/"):]+"/host", []byte("host"))
				s.plant(dir[len("ws/"):]+"/guest", []byte("not the guest's"))
				s.plant(dir[len("ws/"):]+"/goes", []byte("host"))
			}
			check := func() {
				t.Helper()
				s.reads(c.dir+"/host", []byte("host"))
				s.reads(c.dir+"/guest", []byte("guest"))
				s.missing(c.other + "/host")
				if got := s.names(c.other); got != "guest" {
					t.Errorf("%s lists %q", c.other, got)
				}
			}
			check()
			s.remount(t)
			check()

			// What the guest does to the host's stays done.
			s.must(s.unlink(c.dir + "/goes"))
			s.write(c.dir+"/host", []byte("HO"), 0)
			s.remount(t)
			s.missing(c.dir + "/goes")
			s.reads(c.dir+"/host", []byte("HOst"))
			if got := s.names(c.dir); got != "guest host" {
				t.Errorf("%s lists %q", c.dir, got)
			}
			s.must(s.rename(c.dir, c.dir+".x"))
			s.reads(c.dir+".x/host", []byte("HOst"))
			s.missing(c.dir)
			s.remount(t)
			s.reads(c.dir+".x/host", []byte("HOst"))
			s.missing(c.dir)
		})
	}
}

// What the guest has removed stays so, whatever it puts in its place.
func TestRemovedDirectoryIsNotMerged(t *testing.T) {
	for _, c := range bothMake {
		t.Run(c.dir, func(t *testing.T) {
			s := newSession(t)
			base := c.dir[len("ws/"):]
			s.plant(base+"/host", []byte("host"))
			s.must(s.unlink(c.dir + "/host"))
			s.must(s.rmdir(c.dir))
			s.must(s.mkdir(c.dir, 0o755))
			empty := func(dir string) {
				t.Helper()
				s.missing(dir + "/host")
				if got := s.names(dir); got != "" {
					t.Errorf("%s lists %q", dir, got)
				}
			}
			empty(c.dir)
			s.remount(t)
			empty(c.dir)

			// Nor is one that has come over it.
			s.plant(base+"2/host", []byte("host"))
			s.must(s.unlink(c.dir + "2/host"))
			s.must(s.rename(c.dir, c.dir+"2"))
			empty(c.dir + "2")
			s.remount(t)
			empty(c.dir + "2")
		})
	}
}

// A directory that was merged with nothing is moved as any other, and what the host makes at its old place is not its own.
func TestMergedWithNothing(t *testing.T) {
	s := newSession(t)
	s.must(os.MkdirAll(s.base+"/.git/refs/heads", 0o755))
	for _, dir := range []string{"ws/.git/refs/heads/a", "ws/.git/refs/heads/a/b"} {
		s.must(s.mkdir(dir, 0o755))
	}
	s.write("ws/.git/refs/heads/a/b/guest", []byte("guest"), 0)
	s.must(s.rename("ws/.git/refs/heads/a", "ws/.git/old"))
	s.plant(".git/refs/heads/a/b/host", []byte("host"))
	check := func() {
		t.Helper()
		if got := s.names("ws/.git/old/b"); got != "guest" {
			t.Errorf("the directory that was moved lists %q", got)
		}
		s.reads("ws/.git/refs/heads/a/b/host", []byte("host"))
	}
	check()
	s.remount(t)
	check()

	// So it is removed, also where the host has something else than a directory.
	s.must(s.mkdir("ws/.git/refs/heads/c", 0o755))
	s.plant(".git/refs/heads/c", []byte("a file"))
	s.write("ws/.git/refs/heads/c/guest", []byte("guest"), 0)
	if got := s.names("ws/.git/refs/heads/c"); got != "guest" {
		t.Errorf("over a file it lists %q", got)
	}
	s.must(s.unlink("ws/.git/refs/heads/c/guest"))
	s.must(s.rmdir("ws/.git/refs/heads/c"))
	s.missing("ws/.git/refs/heads/c")
	if err := s.rmdir("ws/.git/refs/heads/c"); err != syscall.ENOENT {
		t.Errorf("rmdir again: %v", err)
	}
}

// The kernel keeps what it was told of such a directory no longer than of others.
func TestBothSidesWhileMounted(t *testing.T) {
	for name, deaf := range map[string]bool{"watched": false, "not watched": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMountedLike(t, &mounted{deaf: deaf})
			m.plant(t, ".git/objects/aa/one", []byte("one"))
			m.must(t, os.Mkdir(m.at("ws/.git/objects/61"), 0o755))
			m.must(t, os.WriteFile(m.at("ws/.git/objects/61/guest"), []byte("guest"), 0o644))
			if why := m.is("ws/.git/objects/61/host", "-") + m.lists(t, "ws/.git/objects/61", "guest"); why != "" {
				t.Fatal(why)
			}
			m.plant(t, ".git/objects/61/host", []byte("host"))
			soon(t, BaseTTL*6/5, func() string {
				if why := m.is("ws/.git/objects/61/host", "host"); why != "" {
					return why
				}
				return m.lists(t, "ws/.git/objects/61", "guest host")
			})
			time.Sleep(BaseTTL / 5)
			m.plant(t, ".git/objects/61/more", []byte("more"))
			soon(t, BaseTTL*6/5, func() string { return m.lists(t, "ws/.git/objects/61", "guest host more") })
		})
	}
}

// What the guest removes or moves is what it sees, where the host has made the same names later: nothing of the host's goes in its place.
func TestNamesOfBothSides(t *testing.T) {
	const dir, base = "ws/.git/refs/heads/fix", ".git/refs/heads/fix"
	for name, do := range map[string]func(s *session) (moved string){
		"unlink": func(s *session) string { s.must(s.unlink(dir + "/f")); return "" },
		"rename": func(s *session) string { s.must(s.rename(dir+"/f", "ws/moved")); return "ws/moved" },
		"rename over": func(s *session) string {
			s.write("ws/moved", []byte("old"), 0)
			s.must(s.rename(dir+"/f", "ws/moved"))
			return "ws/moved"
		},
		"rename beside": func(s *session) string { s.must(s.rename(dir+"/f", dir+"/moved")); return dir + "/moved" },
		"exchange": func(s *session) string {
			s.write("ws/moved", []byte("other"), 0)
			s.must(s.renameWith(dir+"/f", "ws/moved", unix.RENAME_EXCHANGE))
			s.reads(dir+"/f", []byte("other"))
			s.must(s.unlink(dir + "/f"))
			return "ws/moved"
		},
	} {
		for how, list := range map[string]bool{"": false, ", listed": true} {
			t.Run(name+how, func(t *testing.T) {
				s := newSession(t)
				s.must(os.MkdirAll(s.base+"/.git/refs/heads", 0o755))
				s.must(s.mkdir(dir, 0o755))
				s.write(dir+"/f", []byte("guest"), 0)
				s.must(s.mkdir(dir+"/d", 0o755))
				s.plant(base+"/f", []byte("host"))
				s.plant(base+"/d/theirs", []byte("host"))
				s.remount(t)
				if list {
					s.names(dir)
				}
				moved := do(s)
				for range 2 {
					s.missing(dir + "/f")
					if moved != "" {
						s.reads(moved, []byte("guest"))
					}
					s.reads(dir+"/d/theirs", []byte("host"))
					s.remount(t)
				}
				s.must(s.rename(dir+"/d", "ws/d"))
				s.remount(t)
				s.reads("ws/d/theirs", []byte("host"))
				s.missing(dir + "/d")
			})
		}
	}
}

// Directories that are merged go to another place with what is below them, and what the host makes there shows at once.
func TestMergedDirectoryMoves(t *testing.T) {
	s := newSession(t)
	s.must(os.MkdirAll(s.base+"/.git/refs/heads", 0o755))
	heads := func(path string) string { return "ws/.git/refs/heads/" + path }
	for _, dir := range []string{"a", "a/b", "fix", "fix/a", "fix/b"} {
		s.must(s.mkdir(heads(dir), 0o755))
		s.write(heads(dir+"/guest"), []byte(dir), 0)
	}
	s.must(s.rename(heads("a"), heads("c")))
	s.must(s.renameWith(heads("fix/a"), heads("fix/b"), unix.RENAME_EXCHANGE))
	s.plant(".git/refs/heads/c/b/host", []byte("host"))
	s.plant(".git/refs/heads/fix/host", []byte("host"))
	s.plant(".git/refs/heads/a/b/host", []byte("host of a"))
	for range 2 {
		s.reads(heads("c/b/host"), []byte("host"))
		s.reads(heads("c/b/guest"), []byte("a/b"))
		s.reads(heads("fix/host"), []byte("host"))
		s.reads(heads("fix/a/guest"), []byte("fix/b"))
		s.reads(heads("a/b/host"), []byte("host of a"))
		s.missing(heads("a/guest"))
		s.remount(t)
	}

	// What of the host is in use there may have gone.
	s.must(s.mkdir(heads("d"), 0o755))
	s.plant(".git/refs/heads/d/host", []byte("host"))
	f, err := s.open(heads("d/host"), unix.O_RDONLY, 0)
	s.must(err)
	s.must(os.RemoveAll(s.base + "/.git/refs/heads/d"))
	s.must(s.rename(heads("d"), "ws/.git/d"))
	if got := s.names("ws/.git/d"); got != "" {
		t.Errorf("lists %q", got)
	}
	f.Release()
}

// Going back in a session merges what is there then with what the host has there.
func TestGoingBackMerges(t *testing.T) {
	m := newMounted(t)
	m.must(t, os.MkdirAll(m.host(".git/refs/heads"), 0o755))
	for _, dir := range []string{"fix", "a"} {
		m.must(t, os.Mkdir(m.at("ws/.git/refs/heads/"+dir), 0o755))
		m.write(t, "ws/.git/refs/heads/"+dir+"/guest", dir)
	}
	m.plant(t, ".git/refs/heads/fix/host", []byte("host"))
	m.plant(t, ".git/refs/heads/fix/other", []byte("other"))
	soon(t, BaseTTL*6/5, func() string { return m.is("ws/.git/refs/heads/fix/other", "other") })
	stands, err := os.Open(m.at("ws/.git/refs/heads/a"))
	m.must(t, err)
	defer stands.Close()
	m.do(t, "checkpoint one")
	m.must(t, os.Remove(m.at("ws/.git/refs/heads/fix/other")))
	m.must(t, os.Rename(m.at("ws/.git/refs/heads/a"), m.at("ws/.git/refs/heads/c")))
	m.plant(t, ".git/refs/heads/c/only", []byte("only c"))
	for range 2 { // the second time, the directory is watched, and the kernel keeps the name
		soon(t, BaseTTL*6/5, func() string { return m.is("ws/.git/refs/heads/c/only", "only c") })
		time.Sleep(BaseTTL * 6 / 5)
	}
	m.do(t, "rewind one")
	m.plant(t, ".git/refs/heads/c/host", []byte("of c"))
	m.plant(t, ".git/refs/heads/a/host", []byte("of a"))
	soon(t, BaseTTL*6/5, func() string {
		for path, want := range map[string]string{"fix/other": "other", "fix/host": "host", "fix/guest": "fix", "a/guest": "a", "a/host": "of a", "a/only": "-",
			"c/host": "of c", "c/only": "only c", "c/guest": "-"} {
			if wrong := m.is("ws/.git/refs/heads/"+path, want); wrong != "" {
				return wrong
			}
		}
		return ""
	})
}
