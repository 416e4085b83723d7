package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/riverlytech/art/internal/config"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestNearest(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	databases := filepath.Join(top, "state/art")
	must(t, Make(databases))
	inner := filepath.Join(top, "ws/a/b")
	must(t, os.MkdirAll(filepath.Join(inner, "c"), 0o755))
	must(t, os.Symlink("ws", filepath.Join(top, "link")))
	ws := filepath.Join(top, "ws")
	look := func(dir, want, sub string, known bool) {
		t.Helper()
		w, err := Nearest(databases, dir)
		must(t, err)
		if w.Dir != want || w.Sub != sub || w.Known != known {
			t.Errorf("of %s the workspace is %+v", dir, w)
		}
	}
	know := func(dir string) {
		w, err := At(databases, dir)
		must(t, err)
		must(t, os.WriteFile(w.Database, nil, 0o600))
	}
	look(inner, inner, ".", false)
	know(ws + "/")
	for _, dir := range []string{ws, ws + "/", ws + "/.", filepath.Join(top, "link"), inner + "/../.."} {
		look(dir, ws, ".", true)
	}
	look(inner, ws, "a/b", true)
	look(filepath.Join(top, "link/a/b/c"), ws, "a/b/c", true)
	look(top, top, ".", false)
	know(filepath.Join(top, "link/a/b"))
	look(filepath.Join(inner, "c"), inner, "c", true)
	t.Chdir(filepath.Join(top, "link/a"))
	look(".", ws, "a", true)

	if _, err := Nearest(databases, filepath.Join(top, "nowhere")); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("nowhere: %v", err)
	}
}

func TestFileName(t *testing.T) {
	names := map[string]string{}
	for _, dir := range []string{"/a/b", "/a-b", "/b", "/c/b", "/" + strings.Repeat("x", 255), "/y/" + strings.Repeat("x", 255), "/-q", "/.x"} {
		name := fileName(dir)
		if other, ok := names[name]; ok {
			t.Errorf("%s and %s are both %s", dir, other, name)
		}
		names[name] = dir
		base, ok := BaseName(name)
		if !ok || base == "" || !strings.HasPrefix(filepath.Base(dir), base) || len(name) > 255-len("-journal") {
			t.Errorf("%s is %s, of %q", dir, name, base)
		}
	}
	for _, name := range []string{"", ".db", "x.db", "-12345678.db", "x-1234567.db", "x-1234567g.db", "x-12345678.db-wal", "trust"} {
		if base, ok := BaseName(name); ok {
			t.Errorf("%q is of %q", name, base)
		}
	}
}

func TestDirectory(t *testing.T) {
	t.Setenv("HOME", "/h")
	t.Setenv("XDG_STATE_HOME", "")
	look := func(user *config.Settings, want string) {
		t.Helper()
		if dir, err := Directory(user); err != nil || dir != want {
			t.Errorf("%s, %v", dir, err)
		}
	}
	look(&config.Settings{}, "/h/.local/state/art")
	t.Setenv("XDG_STATE_HOME", "/s")
	look(&config.Settings{}, "/s/art")
	look(&config.Settings{Databases: config.Entry{Value: "/d"}}, "/d")
	t.Setenv("XDG_STATE_HOME", "relative")
	t.Setenv("HOME", "")
	if dir, err := Directory(&config.Settings{}); err == nil || !strings.Contains(err.Error(), "HOME is set") {
		t.Errorf("%s, %v", dir, err)
	}
}
