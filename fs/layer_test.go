package fs

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/riverlytech/art/sqlvfs"
)

// Two bases under one database: each has its own tree there, and the home does not show the other's.
func TestInner(t *testing.T) {
	db, workspace, repository := filepath.Join(t.TempDir(), "a.db"), t.TempDir(), t.TempDir()
	for path, text := range map[string]string{"one": "1", "deep/two": "2", "secret": "3"} {
		path = filepath.Join(repository, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	layer := sqlvfs.GitLayer("ws")
	for _, before := range [][]string{{"deep", "one"}, {"deep", "made"}} { // in the second session, as the first has left it
		store, err := sqlvfs.Open(db, sqlvfs.Options{Create: true, Root: rootAttr()})
		if err != nil {
			t.Fatal(err)
		}
		open := func(dir, name string, inner bool) *Overlay {
			host, err := OpenHost(dir)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { host.Close() })
			if inner {
				host.Only(map[string]bool{"one": true, "deep": true, "deep/two": true})
			}
			o, err := NewOverlay(OverlayOptions{Store: store, Base: host, Name: name, Inner: inner})
			if err != nil {
				t.Fatal(err)
			}
			return o
		}
		home, inner := open(workspace, "ws", false), open(repository, layer, true)
		if got := listed(t, inner); !slices.Equal(got, before) {
			t.Errorf("the layer has %q, want %q", got, before)
		}
		if e, err := inner.Lookup(RootIno, "secret"); err != nil || e.Ino != 0 {
			t.Errorf("what is left out is found: %+v, %v", e, err)
		}
		if before[1] == "one" {
			if _, err := inner.Mkdir(Caller{}, RootIno, "made", 0o755); err != nil {
				t.Error(err)
			}
			if err := inner.Unlink(Caller{}, RootIno, "one"); err != nil {
				t.Error(err)
			}
		}
		if got := listed(t, home); !slices.Equal(got, []string{"ws"}) {
			t.Errorf("the home has %q", got)
		}
		if e, err := home.Lookup(RootIno, layer); err != nil || e.Ino != 0 {
			t.Errorf("the layer is found in the home: %+v, %v", e, err)
		}
		if _, err := home.Mkdir(Caller{}, RootIno, layer, 0o755); err != syscall.EPERM {
			t.Errorf("made in its place: %v", err)
		}
		if err := home.Rename(Caller{}, RootIno, "ws", RootIno, layer, 0); err != syscall.EPERM {
			t.Errorf("moved to its place: %v", err)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		sound(t, db)
	}
	if _, err := os.Stat(filepath.Join(repository, "one")); err != nil {
		t.Error(err)
	}
}

// listed returns the names in an overlay's root.
func listed(t *testing.T, o *Overlay) (names []string) {
	t.Helper()
	err := o.ReadDir(RootIno, 0, false, func(e DirEntry) bool {
		if e.Name != "." && e.Name != ".." {
			names = append(names, e.Name)
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}
