package sqlvfs

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// logOf are the rows of a table, without moments.
func logOf(t *testing.T, path, table string) string {
	t.Helper()
	all := regexp.MustCompile(`(first|last|started|started_nsec|ended_nsec)="\d*" `).ReplaceAllString(dump(t, path, table), "")
	return strings.TrimSpace(regexp.MustCompile(`ended="\d+"`).ReplaceAllString(all, "ended"))
}

// logged runs a store with a session, and closes it.
func logged(t *testing.T, path string, session func(*Store)) {
	t.Helper()
	s := openTest(t, path)
	must(t, s.BeginSession(7, []string{"sh"}))
	session(s)
	must(t, s.Close())
}

// newProcess adds one.
func newProcess(s *Store, argv ...string) int64 {
	return s.AddProcess(Process{PID: 8, Argv: argv, Dir: "/x", Started: Now()})
}

// by runs a step of a process.
func by(t *testing.T, s *Store, process int64, step func(tx *Tx) error) {
	t.Helper()
	must(t, s.Update(func(tx *Tx) error {
		tx.By(process, false)
		return step(tx)
	}))
}

// makes is a step that makes a file in the root.
func makes(t *testing.T, name string) func(*Tx) error {
	return func(tx *Tx) error {
		in, err := tx.New(Attr{Mode: 0o100644, Nlink: 1})
		must(t, err)
		must(t, tx.Link(tx.Root(), name, in))
		must(t, tx.WriteAt(in, []byte(name), 0, Now()))
		tx.Put(in)
		return nil
	}
}

// to runs a step on a file in the root.
func to(name string, step func(tx *Tx, in *Inode) error) func(*Tx) error {
	return func(tx *Tx) error {
		c, _, _, err := tx.Child(tx.Root(), name)
		if err != nil {
			return err
		}
		in, err := tx.Get(c.Ino)
		if err != nil {
			return err
		}
		defer tx.Put(in)
		return step(tx, in)
	}
}

// whoChanged is what is known of changes: of each, the path, what, and whose it is.
func whoChanged(t *testing.T, path, at string) string {
	t.Helper()
	m, err := OpenMoment(path, at)
	must(t, err)
	defer m.Close()
	paths, err := m.Paths()
	must(t, err)
	var lines []string
	must(t, m.Changes(nil, func(c Change) {
		p, err := m.Process(c.Process)
		must(t, err)
		name, there := paths.PathOf(&c)
		if !there {
			name += " (gone)"
		}
		if p == nil {
			t.Errorf("%s: there is no process %d", name, c.Process)
			return
		}
		lines = append(lines, fmt.Sprintf("%d %s %05b %s", c.After, name, c.What, strings.Join(p.Argv, " ")))
		if c.Last.Sec < c.First.Sec || c.First.Sec < p.Started.Sec {
			t.Errorf("%s: from %v to %v by what began at %v", name, c.First, c.Last, p.Started)
		}
	}))
	return strings.Join(lines, "\n")
}

func TestWhatAProcessChangesIsInTheLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	logged(t, path, func(s *Store) {
		p := newProcess(s, "touch", "a")
		by(t, s, p, makes(t, "a"))
		code := 0
		s.EndProcess(p, Now(), &code)
	})
	want := `id="1" session="1" parent="" pid="8" argv="touch\x00a\x00" cut="0" dir="/x" ended exit_code="0"`
	if got := logOf(t, path, "art_process"); got != want {
		t.Errorf("processes:\n%s", got)
	}
	want = `ino="2" checkpoint="0" process="1" parent_ino="1" name="a" what="11"`
	if got := logOf(t, path, "art_change"); got != want {
		t.Errorf("changes:\n%s", got)
	}
	if got, want := whoChanged(t, path, ""), "0 /a 01011 touch a"; got != want {
		t.Errorf("read:\n%s", got)
	}
}
