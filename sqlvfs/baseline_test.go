package sqlvfs

import (
	"path/filepath"
	"reflect"
	"testing"
)

func baselines(t *testing.T, s *Store, tree Tree) map[string]*Baseline {
	t.Helper()
	must(t, s.Sync())
	return ask(t, s, func(tx *Tx) (map[string]*Baseline, error) { return tx.Baselines(tree) })
}

func TestBaselines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := openTest(t, path)
	here, there := Tree{"ws", 7, Timespec{Sec: 1, Nsec: 2}}, Tree{"ws", 7, Timespec{Sec: 1, Nsec: 3}}
	b := &Baseline{
		Mode:        0o100644,
		Fingerprint: Fingerprint{Dev: 1, Ino: 1 << 63, Size: 3, Mtime: Timespec{Sec: -4, Nsec: 5}, Ctime: Timespec{Sec: 6, Nsec: 7}},
		Hash:        []byte{8}, Row: 9, RowCtime: Timespec{Sec: 10, Nsec: 11},
	}
	other := &Baseline{Mode: 0o040755}
	step(s, func(tx *Tx) {
		tx.SetBaseline(here, "a", b)
		tx.AddBaseline(here, "a", other) // one is there
		tx.AddBaseline(here, "d/\xff", other)
		tx.SetBaseline(there, "a", other)
		tx.SetBaseline(here, "gone", other)
	})
	must(t, s.Sync())
	step(s, func(tx *Tx) {
		tx.AddBaseline(here, "d/\xff", b) // one is in the database
		tx.SetBaseline(here, "gone", nil)
		tx.SetBaseline(here, "a", nil)
		tx.AddBaseline(here, "a", b) // none is there any more
	})
	must(t, s.Close())
	s = openTest(t, path)
	defer s.Close()
	if got, want := baselines(t, s, here), (map[string]*Baseline{"a": b, "d/\xff": other}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, want := baselines(t, s, there), (map[string]*Baseline{"a": other}); !reflect.DeepEqual(got, want) {
		t.Errorf("another directory of the same name has %+v, want %+v", got, want)
	}
	if got := baselines(t, s, Tree{Name: "none"}); len(got) != 0 {
		t.Errorf("an unknown directory has %+v", got)
	}
}

// A hash that is taken later joins the baseline of the same version, and no other.
func TestBaselinesGetHashes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := openTest(t, path)
	here := Tree{"ws", 7, Timespec{Sec: 1, Nsec: 2}}
	version := Fingerprint{Dev: 1, Ino: 1 << 63, Size: 3, Mtime: Timespec{Sec: -4, Nsec: 5}, Ctime: Timespec{Sec: 6, Nsec: 7}}
	without := &Baseline{Mode: 0o100644, Fingerprint: version, Row: 9, RowCtime: Timespec{Sec: 10, Nsec: 11}}
	known := *without
	known.Hash = []byte{8}
	hashed := &Baseline{Mode: 0o100644, Fingerprint: version, Hash: []byte{8}}
	another := &Baseline{Mode: 0o100644, Fingerprint: version}
	another.Ctime.Nsec++
	before := func(tx *Tx, name string) {
		tx.AddBaseline(here, name, without)
		tx.AddBaseline(here, name+" other", another)
	}
	then := func(tx *Tx, name string) {
		tx.AddBaseline(here, name, hashed)
		tx.AddBaseline(here, name, &Baseline{Mode: 0o100644, Fingerprint: version, Hash: []byte{9}})
		tx.AddBaseline(here, name+" other", hashed)
	}
	step(s, func(tx *Tx) { before(tx, "committed") })
	must(t, s.Sync())
	step(s, func(tx *Tx) {
		then(tx, "committed")
		before(tx, "pending")
		then(tx, "pending")
	})
	got := baselines(t, s, here)
	must(t, s.Close())
	want := map[string]*Baseline{"pending": &known, "committed": &known, "pending other": another, "committed other": another}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestBaselinesOfAnOlderLayout(t *testing.T) {
	path := fixture(t, 2)
	if got := findings(t, path); got != "" {
		t.Errorf("check before: %s", got)
	}
	look := func(s *Store) {
		t.Helper()
		part, file := lookup(t, s, "part"), lookup(t, s, "file")
		if o := part.Origin; o == nil || o.Path != "sub/part" || o.Limit != 2*DefaultChunkSize || o.Mode != 0 {
			t.Errorf("origin %+v", part.Origin)
		}
		if got := string(content(t, s, file)); got != "hi" {
			t.Errorf("content %q", got)
		}
		if got := baselines(t, s, Tree{Name: "ws"}); len(got) != 0 {
			t.Errorf("baselines %+v", got)
		}
	}
	r, err := Open(path, Options{ReadOnly: true})
	must(t, err)
	look(r)
	must(t, r.Close())
	s := openTest(t, path)
	look(s)
	step(s, func(tx *Tx) { tx.SetBaseline(Tree{Name: "ws"}, "part", &Baseline{}) })
	if got := baselines(t, s, Tree{Name: "ws"}); len(got) != 1 {
		t.Errorf("baselines after bringing it up to date: %+v", got)
	}
	must(t, s.Close())
	if got := findings(t, path); got != "" {
		t.Errorf("check after: %s", got)
	}
}
