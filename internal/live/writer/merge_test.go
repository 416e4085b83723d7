package writer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/live"
	"github.com/riverlytech/art/sqlvfs"
	"github.com/riverlytech/art/sqlvfs/fsck"
)

// scratch makes a fork of what the session's tree is now, changes it, and returns its file, as that of a merge.
func (s *session) scratch(c *live.Client, change func(tx *sqlvfs.Tx, ws *sqlvfs.Inode) error) *os.File {
	s.Helper()
	path := filepath.Join(s.TempDir(), "scratch.db")
	secret := sqlvfs.NewSecret()
	id, err := c.Fork(&control.Forks{List: []control.ForkOf{{Secret: secret, Path: path}}})
	must(s, err)
	p, err := sqlvfs.Open(s.path, sqlvfs.Options{ReadOnly: true})
	must(s, err)
	list, err := p.Checkpoints()
	must(s, err)
	must(s, p.Close())
	for _, c := range list {
		if c.ID == id {
			must(s, sqlvfs.MakeFork(s.path, path, secret, c))
		}
	}
	store, err := sqlvfs.Open(path, sqlvfs.Options{})
	must(s, err)
	must(s, store.Update(func(tx *sqlvfs.Tx) error {
		ws, err := tx.Get(s.dir.Ino)
		if err != nil {
			return err
		}
		defer tx.Put(ws)
		return change(tx, ws)
	}))
	must(s, store.Close())
	must(s, sqlvfs.FoldLog(path))
	f, err := os.Open(path)
	must(s, err)
	return f
}

// make makes a file in a directory.
func makeFile(tx *sqlvfs.Tx, dir *sqlvfs.Inode, name string) error {
	in, err := tx.New(sqlvfs.Attr{Mode: unix.S_IFREG | 0o600, Nlink: 1, Mtime: sqlvfs.Now(), Ctime: sqlvfs.Now()})
	if err != nil {
		return err
	}
	defer tx.Put(in)
	dir.Change(sqlvfs.Now())
	tx.Dirty(dir)
	return tx.Link(dir, name, in)
}

func (s *session) names() (list []string) {
	s.Helper()
	must(s, s.store.View(func(tx *sqlvfs.Tx) error {
		all, err := tx.Children(s.dir)
		for _, c := range all {
			list = append(list, c.Name)
		}
		return err
	}))
	slices.Sort(list)
	return list
}

// What a merge has changed in a fork is taken over, unless something of it has changed since.
func TestMerge(t *testing.T) {
	for name, of := range map[string]struct {
		since     func(s *session)
		overtaken bool
	}{
		"nothing since":        {since: func(*session) {}},
		"another file changed": {since: func(s *session) { s.change(0o600) }},
		"another file made": {overtaken: true, since: func(s *session) {
			must(s, s.store.Update(func(tx *sqlvfs.Tx) error { return makeFile(tx, s.dir, "since") }))
		}},
		"a file made elsewhere": {since: func(s *session) {
			must(s, s.store.Update(func(tx *sqlvfs.Tx) error { return makeFile(tx, tx.Root(), "since") }))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t)
			c := s.client()
			defer c.Close()
			f := s.scratch(c, func(tx *sqlvfs.Tx, ws *sqlvfs.Inode) error { return makeFile(tx, ws, "new") })
			defer f.Close()
			of.since(s)
			_, err := c.Merge(f)
			want := "[file new]"
			if of.overtaken {
				want = "[file since]"
			}
			if errors.Is(err, unix.EAGAIN) != of.overtaken || !of.overtaken && err != nil {
				t.Errorf("%v", err)
			}
			if got := fmt.Sprint(s.names()); got != want {
				t.Errorf("there is %s", got)
			}
			must(t, s.store.Update(func(tx *sqlvfs.Tx) error { return makeFile(tx, s.dir, "later") }))
			must(t, s.store.Sync())
			if found, err := fsck.Check(s.path); err != nil || len(found) > 0 {
				t.Errorf("it is damaged: %v %v", found, err)
			}
		})
	}
}

// A file that is no merge, or one that somebody has written by hand, changes nothing.
func TestMergeHostile(t *testing.T) {
	s := newSession(t)
	c := s.client()
	defer c.Close()
	f := s.scratch(c, func(tx *sqlvfs.Tx, ws *sqlvfs.Inode) error { return makeFile(tx, ws, "new") })
	whole, err := os.ReadFile(f.Name())
	must(t, err)
	must(t, f.Close())
	for name, data := range map[string][]byte{
		"nothing": nil, "text": []byte("text"), "cut": whole[:len(whole)/2], "no art": append([]byte("x"), whole...),
		"zeros": append(append([]byte{}, whole[:4096]...), make([]byte, len(whole)-4096)...),
	} {
		path := filepath.Join(t.TempDir(), "x")
		must(t, os.WriteFile(path, data, 0o600))
		f, err := os.Open(path)
		must(t, err)
		if _, err := c.Merge(f); err == nil {
			t.Errorf("%s: it was merged", name)
		}
		must(t, f.Close())
	}
	if got := fmt.Sprint(s.names()); got != "[file]" {
		t.Errorf("there is %s", got)
	}
}
