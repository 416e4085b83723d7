package home

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// use uses a home of a data directory of the test's own.
func useTest(t *testing.T, name string) *Home {
	t.Helper()
	if os.Getenv("XDG_DATA_HOME") == "" {
		t.Setenv("XDG_DATA_HOME", t.TempDir())
	}
	h, err := Use(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

func TestCheck(t *testing.T) {
	for name, ok := range map[string]bool{
		"claude": true, "a.b_c-9": true, "A": false, "": false, ".": false, "..": false, ".x": false, "-x": false, "a/b": false, "a b": false, "ä": false, "a\x00": false,
	} {
		if err := Check(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// The last session takes the mount points away, but nothing that holds something.
func TestPlaces(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	one, two := useTest(t, "x"), useTest(t, "x")
	for path, directory := range map[string]bool{"ws": true, "a/b/c": true, "a/file": false} {
		if covers, err := one.Place(path, directory); err != nil || covers {
			t.Fatalf("%s: %v, %v", path, covers, err)
		}
		if covers, err := two.Place(path, directory); err != nil || covers {
			t.Fatalf("%s again: %v, %v", path, covers, err)
		}
	}
	if _, err := two.Place("a/kept", true); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(one.Path, "a/kept"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(one.Path, "a/kept/file"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	one.Close()
	if _, err := os.Lstat(filepath.Join(one.Path, "a/b/c")); err != nil {
		t.Error("a mount point in use was removed")
	}
	two.Close()
	var left []string
	filepath.WalkDir(one.Path, func(path string, _ os.DirEntry, _ error) error {
		rel, _ := filepath.Rel(one.Path, path)
		left = append(left, rel)
		return nil
	})
	if want := []string{".", "a", "a/kept", "a/kept/file"}; !slices.Equal(left, want) {
		t.Errorf("left: %q, want %q", left, want)
	}
	three := useTest(t, "x")
	if covers, err := three.Place("a/kept", true); err != nil || !covers {
		t.Errorf("what holds a file: %v, %v", covers, err)
	}
}

// What guests have put in the way is not followed, and nothing is made outside.
func TestPlacesInTheWay(t *testing.T) {
	h := useTest(t, "x")
	outside := t.TempDir()
	for name, make := range map[string]func(string) error{
		"link":   func(p string) error { return os.Symlink(outside, p) },
		"file":   func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"pipe":   func(p string) error { return unix.Mkfifo(p, 0o600) },
		"broken": func(p string) error { return os.Symlink("nowhere", p) },
	} {
		if err := make(filepath.Join(h.Path, name)); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{name, name + "/sub"} {
			if _, err := h.Place(path, true); err == nil {
				t.Errorf("%s is a mount point", path)
			}
		}
		if _, err := h.Place(name+"/sub", false); err == nil {
			t.Errorf("%s/sub is a mount point", name)
		}
	}
	for _, path := range []string{"../x", "/x", "a/../../x"} {
		if _, err := h.Place(path, true); err == nil {
			t.Errorf("%s is a mount point", path)
		}
	}
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Errorf("made outside: %v", left)
	}
	if left, _ := os.ReadDir(filepath.Dir(h.Path)); len(left) != 2 {
		t.Errorf("made beside the home: %v", left)
	}
}

// Whatever modes a guest has left, the home is the user's alone again.
func TestUseMends(t *testing.T) {
	h := useTest(t, "x")
	for _, mode := range []os.FileMode{0, 0o777} {
		if err := os.Chmod(h.Path, mode); err != nil {
			t.Fatal(err)
		}
		useTest(t, "x")
		if info, err := os.Stat(h.Path); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("from %o: %v, %v", mode, info, err)
		}
	}
}

// A home whose removal was broken off can be removed for good.
func TestRemoveWhatIsLeft(t *testing.T) {
	h := useTest(t, "x")
	homes := filepath.Dir(h.Path)
	h.Close()
	o := &Options{Force: true, Quiet: true}
	if err := Remove("y", o); err == nil {
		t.Error("a home was removed that was never there")
	}
	if err := os.MkdirAll(filepath.Join(homes, "..gone.x/1/a"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(h.Path, filepath.Join(homes, "..gone.x/2")); err != nil {
		t.Fatal(err)
	}
	if err := Remove("x", o); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(homes); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
