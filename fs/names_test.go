package fs

import (
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// What the host has linked since the copy-up is a name of the guest's file like others: that it is removed, renamed or replaced takes nothing from
// the names that are left, in whatever way the guest has changed the file before.
func TestNameThatTheHostHasLinkedSinceIsCounted(t *testing.T) {
	for change, do := range map[string]func(s *session) (name, is string){
		"renamed": func(s *session) (string, string) {
			s.must(s.rename("ws/b", "ws/y"))
			s.write("ws/y", []byte("X"), 0)
			return "y", "Xost"
		},
		"written": func(s *session) (string, string) {
			s.write("ws/b", []byte("X"), 0)
			return "b", "Xost"
		},
		"mode": func(s *session) (string, string) {
			mode := uint32(0o600)
			s.must(s.setattr("ws/b", SetAttr{Mode: &mode}))
			return "b", "host"
		},
	} {
		for removal, remove := range map[string]func(s *session) error{
			"unlink": func(s *session) error { return s.unlink("ws/x") },
			"rename": func(s *session) error { return errors.Join(s.rename("ws/x", "ws/z"), s.unlink("ws/z")) },
			"rename over": func(s *session) error {
				return errors.Join(s.mknod("ws/z", syscall.S_IFREG|0o644), s.rename("ws/z", "ws/x"))
			},
			"exchange": func(s *session) error {
				return errors.Join(s.mknod("ws/z", syscall.S_IFREG|0o644), s.renameWith("ws/z", "ws/x", unix.RENAME_EXCHANGE), s.unlink("ws/z"))
			},
		} {
			t.Run(change+", "+removal, func(t *testing.T) {
				s := newSession(t)
				s.plant("b", []byte("host"))
				name, is := do(s)
				s.must(os.Link(filepath.Join(s.base, "b"), filepath.Join(s.base, "x")))
				s.reads("ws/x", []byte(is))
				if e := s.stat("ws/" + name); e.Attr.Nlink != 2 {
					t.Errorf("%d links, want 2", e.Attr.Nlink)
				}
				s.remount(t)
				s.must(remove(s))
				for range 2 {
					s.reads("ws/"+name, []byte(is))
					if e := s.stat("ws/" + name); e.Attr.Nlink != 1 {
						t.Errorf("%d links, want 1", e.Attr.Nlink)
					}
					s.remount(t)
				}
				s.must(s.unlink("ws/" + name))
				s.remount(t)
				s.wantRows(map[string]int{"fs_data": 0, "art_origin": 1}) // that of the workspace
			})
		}
	}
}

// The other way round: what was written by the host's new name stays when the guest's own is removed.
func TestFileLivesOnByANameThatTheHostHasLinkedSince(t *testing.T) {
	s := newSession(t)
	s.plant("b", []byte("host"))
	s.must(s.rename("ws/b", "ws/y"))
	s.must(os.Link(filepath.Join(s.base, "b"), filepath.Join(s.base, "x")))
	s.write("ws/x", []byte("X"), 0)
	s.must(s.unlink("ws/y"))
	for range 2 {
		s.reads("ws/x", []byte("Xost"))
		s.remount(t)
	}
}

// A name that the host has removed again is not what keeps a file whose last one the guest removes.
func TestNameThatTheHostHasRemovedCountsNoMore(t *testing.T) {
	s := newSession(t)
	s.plant("b", []byte("host"))
	s.write("ws/b", []byte("X"), 0)
	s.must(os.Link(filepath.Join(s.base, "b"), filepath.Join(s.base, "x")))
	s.reads("ws/x", []byte("Xost"))
	s.must(os.Remove(filepath.Join(s.base, "x")))
	s.must(s.unlink("ws/b"))
	s.remount(t)
	s.wantRows(map[string]int{"fs_data": 0, "art_origin": 1}) // that of the workspace
}

// linkModel is what the guest should see of files that both sides link.
type linkModel struct {
	s     *inProcess
	names map[string]*linkedFile // the guest's
	host  []string               // names on the host
	past  []string               // contents of files that had no name any more
}

type linkedFile struct{ content string }

// TestLinksOfBothSides does random things to files of the host that both sides give names to, and finds all names that lead to one file to show
// what was written by any, and the file to count each of them.
func TestLinksOfBothSides(t *testing.T) {
	flag.Set("rapid.steps", "30")
	flag.Set("rapid.nofailfile", "true")
	top := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(top, "")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(dir)
		base := filepath.Join(dir, "base")
		m := &linkModel{s: &inProcess{base: base, db: filepath.Join(dir, "a.db")}, names: map[string]*linkedFile{}}
		if err := os.Mkdir(base, 0o755); err != nil {
			rt.Fatal(err)
		}
		for _, name := range []string{"a", "b"} {
			if err := os.WriteFile(filepath.Join(base, name), []byte("host "+name), 0o644); err != nil {
				rt.Fatal(err)
			}
			m.host = append(m.host, name)
		}
		m.s.begin(rt)
		defer m.s.end()
		rt.Repeat(map[string]func(*rapid.T){
			"":        m.compare,
			"ln":      m.linkOnHost,
			"ln2":     m.linkOnHost,
			"write":   m.write,
			"chmod":   m.chmod,
			"unlink":  m.unlink,
			"rename":  m.rename,
			"link":    m.link,
			"forget":  func(*rapid.T) { m.s.forget() },
			"remount": func(rt *rapid.T) { m.s.remount(rt) },
		})
		m.s.remount(rt)
		m.compare(rt)
	})
}

var linkNames = []string{"a", "b", "c", "d", "e", "f", "g"}

// name draws one of the guest's names.
func (m *linkModel) name(t *rapid.T) string {
	if len(m.names) == 0 {
		t.Skip("there is none")
	}
	return rapid.SampledFrom(slices.Sorted(maps.Keys(m.names))).Draw(t, "name")
}

func (m *linkModel) linkOnHost(t *rapid.T) {
	from, to := rapid.SampledFrom(m.host).Draw(t, "from"), rapid.SampledFrom(linkNames).Draw(t, "to")
	if err := os.Link(filepath.Join(m.s.base, from), filepath.Join(m.s.base, to)); err == nil {
		m.host = append(m.host, to)
	}
}

func (m *linkModel) write(t *rapid.T) {
	name := m.name(t)
	f := m.names[name]
	h, err := m.s.open("ws/"+name, unix.O_RDWR, 0)
	if err == nil {
		err = h.WriteAt([]byte("+"), int64(len(f.content)))
		h.Release()
	}
	if err != nil {
		t.Fatal(err)
	}
	f.content += "+"
}

func (m *linkModel) chmod(t *rapid.T) {
	mode := rapid.SampledFrom([]uint32{0o600, 0o644}).Draw(t, "mode")
	if err := m.s.setattr("ws/"+m.name(t), SetAttr{Mode: &mode}); err != nil {
		t.Fatal(err)
	}
}

func (m *linkModel) unlink(t *rapid.T) {
	name := m.name(t)
	if err := m.s.unlink("ws/" + name); err != nil {
		t.Fatal(err)
	}
	m.past = append(m.past, m.names[name].content)
	delete(m.names, name)
}

func (m *linkModel) rename(t *rapid.T) {
	from, to := m.name(t), rapid.SampledFrom(linkNames).Draw(t, "to")
	if err := m.s.rename("ws/"+from, "ws/"+to); err != nil {
		t.Fatal(err)
	}
	if m.names[from] != m.names[to] {
		if f := m.names[to]; f != nil {
			m.past = append(m.past, f.content)
		}
		m.names[to] = m.names[from]
		delete(m.names, from)
	}
}

func (m *linkModel) link(t *rapid.T) {
	from, to := m.name(t), rapid.SampledFrom(linkNames).Draw(t, "to")
	switch err := m.s.link("ws/"+from, "ws/"+to); {
	case errors.Is(err, syscall.EEXIST):
	case err != nil:
		t.Fatal(err)
	default:
		m.names[to] = m.names[from]
	}
}

// compare looks at all names. What the host has linked since is a name of the file whose inode it shows, or of one that the guest has not changed.
func (m *linkModel) compare(t *rapid.T) {
	list, err := m.s.readdir("ws", 100, func([]DirEntry) {})
	if err != nil {
		t.Fatal(err)
	}
	inos, byIno := map[*linkedFile]Ino{}, map[Ino]*linkedFile{}
	var fresh []string
	for _, e := range list {
		f := m.names[e.Name]
		if f == nil {
			if e.Name != "." && e.Name != ".." {
				fresh = append(fresh, e.Name)
			}
			continue
		}
		got, err := m.s.lstat("ws/" + e.Name)
		if err != nil {
			t.Fatal(err)
		}
		if ino := inos[f]; ino != 0 && ino != got.Ino {
			t.Fatalf("%s is inode %d, and %d by another name", e.Name, got.Ino, ino)
		}
		inos[f], byIno[got.Ino] = got.Ino, f
	}
	for _, name := range fresh {
		got, err := m.s.lstat("ws/" + name)
		if err != nil {
			t.Fatal(err)
		}
		f := byIno[got.Ino]
		if f == nil {
			is, err := os.ReadFile(filepath.Join(m.s.base, name))
			if err != nil {
				t.Fatalf("%s: neither side has made it: %v", name, err)
			}
			f = &linkedFile{string(is)}
			if got, err := content(m.s, "ws/"+name, 100); err == nil && slices.Contains(m.past, string(got)) {
				f.content = string(got) // it is a file again that has counted names of the host's which are hidden
			}
			byIno[got.Ino] = f
		}
		m.names[name] = f
	}
	count := map[*linkedFile]int{}
	for _, f := range m.names {
		count[f]++
	}
	for name, f := range m.names {
		got, err := content(m.s, "ws/"+name, 100)
		if err != nil || string(got) != f.content {
			t.Fatalf("%s holds %q, %v, want %q", name, got, err, f.content)
		}
		if e, err := m.s.lstat("ws/" + name); err != nil || int(e.Attr.Nlink) < count[f] {
			t.Fatalf("%s counts %d names, %v, and has %d", name, e.Attr.Nlink, err, count[f])
		}
	}
}
