package sqlvfs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// heard collects what a store tells.
type heard struct {
	mu      sync.Mutex
	list    []string // GUARDED_BY(mu)
	unknown int      // GUARDED_BY(mu)
}

func (h *heard) add(e *CommitEvent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range e.Files {
		h.list = append(h.list, fmt.Sprintf("%s %d %d", f.Path, f.What, f.Process))
	}
	for _, c := range e.Checkpoints {
		h.list = append(h.list, fmt.Sprintf("checkpoint %d %s %q", c.ID, c.Kind, c.Label))
	}
	h.unknown += e.Unknown
}

// since returns what was told since it was last called, in order of paths.
func (h *heard) since() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	slices.Sort(h.list)
	all := strings.Join(h.list, "\n")
	h.list = nil
	return all
}

// A store tells what it commits: of files that a guest has changed, one change for each process, and of checkpoints. What somebody else
// changes it does not tell.
func TestCommitsAreTold(t *testing.T) {
	var h heard
	path := filepath.Join(t.TempDir(), "a.db")
	s, err := Open(path, Options{Create: true, Root: NewRoot(), OnCommit: h.add})
	must(t, err)
	must(t, s.BeginSession(7, []string{"sh"}))
	guest := func(step func(*Tx) error) {
		t.Helper()
		must(t, s.Update(func(tx *Tx) error {
			tx.ByGuest()
			return step(tx)
		}))
	}
	told := func(what, want string) {
		t.Helper()
		_, err := s.Checkpoint(ByUser, "")
		must(t, err)
		if got := h.since(); got != want {
			t.Errorf("%s: it told\n%s\nnot\n%s", what, got, want)
		}
	}
	p := newProcess(s, "cc")
	by(t, s, p, makes(t, "mine"))
	guest(makes(t, "somebody's"))
	must(t, s.Update(makes(t, "art's")))
	made := Made | Written | Named
	told("new files", fmt.Sprintf("/mine %d %d\n/somebody's %d 0\ncheckpoint 1 user \"\"", made, p, made))

	for range 10 {
		by(t, s, p, to("mine", func(tx *Tx, in *Inode) error { return tx.WriteAt(in, []byte("more"), 0, Now()) }))
	}
	told("ten writes", fmt.Sprintf("/mine %d %d\ncheckpoint 2 user \"\"", Written, p))

	by(t, s, p, func(tx *Tx) error {
		c, _, _, err := tx.Child(tx.Root(), "mine")
		must(t, err)
		in, err := tx.Get(c.Ino)
		must(t, err)
		must(t, tx.Unlink(tx.Root(), "mine"))
		return tx.Link(tx.Root(), "yours", in)
	})
	told("another name", fmt.Sprintf("/mine %d %d\n/yours %d %d\ncheckpoint 3 user \"\"", Removed, p, Named, p))

	// What is removed together with the directories that it was in.
	by(t, s, p, func(tx *Tx) error {
		at := tx.Root()
		for _, name := range []string{"d", "e", "f"} {
			mode := uint32(0o040755)
			if name == "f" {
				mode = 0o100644
			}
			in, err := tx.New(Attr{Mode: mode, Nlink: 1})
			must(t, err)
			must(t, tx.Link(at, name, in))
			at = in
		}
		return nil
	})
	told("directories", fmt.Sprintf("/d %[1]d %[2]d\n/d/e %[1]d %[2]d\n/d/e/f %[1]d %[2]d\ncheckpoint 4 user \"\"", Made|Named, p))
	by(t, s, p, func(tx *Tx) error {
		way := []*Inode{tx.Root()}
		for _, name := range []string{"d", "e", "f"} {
			c, _, _, err := tx.Child(way[len(way)-1], name)
			must(t, err)
			in, err := tx.Get(c.Ino)
			must(t, err)
			way = append(way, in)
		}
		for i, name := range []string{"f", "e", "d"} {
			must(t, tx.Unlink(way[2-i], name))
			way[3-i].Attr.Nlink = 0
			tx.Dirty(way[3-i])
		}
		return nil
	})
	told("all removed", fmt.Sprintf("/d %[1]d %[2]d\n/d/e %[1]d %[2]d\n/d/e/f %[1]d %[2]d\ncheckpoint 5 user \"\"", Removed, p))
	_, err = s.Checkpoint(ByUser, "label")
	must(t, err)
	if got, want := h.since(), `checkpoint 5 user "label"`; got != want {
		t.Errorf("a label: %s", got)
	}
	must(t, s.Close())

	// What it is told of in the next session by its number alone is found in the tree.
	if s, err = Open(path, Options{OnCommit: h.add}); err != nil {
		t.Fatal(err)
	}
	must(t, s.Update(func(tx *Tx) error {
		list, err := tx.Children(tx.Root())
		must(t, err)
		for _, c := range list {
			if c.Name == "yours" {
				in, err := tx.Get(c.Ino)
				must(t, err)
				tx.ByGuest()
				return tx.WriteAt(in, []byte("once more"), 0, Now())
			}
		}
		return os.ErrNotExist
	}))
	told("a file that nobody has looked up", fmt.Sprintf("/yours %d 0\ncheckpoint 6 user \"\"", Written))
	must(t, s.Close())
	if h.unknown != 0 {
		t.Errorf("%d were left out", h.unknown)
	}
}

// Of what is not known whose it is, the log of processes gets nothing.
func TestTellingWritesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s, err := Open(path, Options{Create: true, Root: NewRoot(), OnCommit: func(*CommitEvent) {}})
	must(t, err)
	must(t, s.Update(func(tx *Tx) error {
		tx.ByGuest()
		return makes(t, "x")(tx)
	}))
	must(t, s.Close())
	m, err := OpenMoment(path, "")
	must(t, err)
	defer m.Close()
	must(t, m.logs("art_change", func(*log) error {
		t.Error("there is a log")
		return nil
	}))
}
