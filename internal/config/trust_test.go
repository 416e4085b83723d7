package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTrust(t *testing.T) {
	state, ws := filepath.Join(t.TempDir(), "state", "art"), t.TempDir()
	open := func(ws string) *Trust {
		t.Helper()
		store, err := OpenTrust(state, ws)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(store.Close)
		return store
	}
	a, b := Ask{What: "a"}, Ask{What: "b"}
	has := func(ws, content string, asks []Ask, want bool) {
		t.Helper()
		if got, err := open(ws).Has(content, asks); err != nil || got != want {
			t.Errorf("%s %v: %v, %v, want %v", content, asks, got, err, want)
		}
	}
	has(ws, "1", []Ask{a}, false)
	store := open(ws)
	for _, content := range []string{"1", "2"} { // the second in the place of the first
		if err := store.Add(content, []Ask{a}); err != nil {
			t.Fatal(err)
		}
	}
	has(ws, "1", []Ask{a}, false)
	has(ws, "2", []Ask{a}, true)
	has(ws, "2", nil, true)
	has(ws, "2", []Ask{a, b}, false)
	has(t.TempDir(), "2", []Ask{a}, false)
	odd, ask := filepath.Join(ws, "no\xffUTF-8"), Ask{What: "a\xfe"}
	if err := os.Mkdir(odd, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := open(odd).Add("1", []Ask{ask}); err != nil {
		t.Fatal(err)
	}
	has(odd, "1", []Ask{ask}, true)
	has(odd, "1", []Ask{{What: "a\xff"}}, false)
	if there, err := open(odd).Remove(); err != nil || !there {
		t.Errorf("remove: %v, %v", there, err)
	}
	if there, err := store.Remove(); err != nil || !there {
		t.Errorf("remove: %v, %v", there, err)
	}
	has(ws, "2", []Ask{a}, false)
	if left, _ := os.ReadDir(filepath.Join(state, trustDir)); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Whatever is in the file but what art wrote, and as it wrote it, is an error.
func TestTrustDamaged(t *testing.T) {
	state, ws := filepath.Join(t.TempDir(), "art"), resolved(t.TempDir())
	store, err := OpenTrust(state, ws)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Add("c", []Ask{{What: "a"}}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(state, trustDir, store.name())
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"", "{}", "[]", "null", string(whole[:len(whole)/2]), string(whole) + "x", strings.ToUpper(string(whole)),
		strings.Replace(string(whole), "{", `{"content": "d", `, 1), strings.Replace(string(whole), `"a"`, `1`, 1),
		strings.Replace(string(whole), ws, "/elsewhere", 1), strings.Replace(string(whole), "{", `{"more": 1, `, 1), strings.Repeat(" ", maxFile+1),
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if ok, err := store.Has("c", []Ask{{What: "a"}}); ok || err == nil {
			t.Errorf("%q: %v, %v", text, ok, err)
		}
	}
}

func TestTrustInBadPlaces(t *testing.T) {
	ws := t.TempDir()
	for name, spoil := range map[string]func(state string) error{
		"link":      func(state string) error { return os.Symlink(t.TempDir(), state) },
		"file":      func(state string) error { return os.WriteFile(state, nil, 0o600) },
		"writable":  func(state string) error { return os.Mkdir(state, 0o777) },
		"inner":     func(state string) error { return os.MkdirAll(filepath.Join(state, trustDir), 0o755) },
		"innerlink": func(state string) error { return mkdirAndLink(state, t.TempDir()) },
	} {
		state := filepath.Join(t.TempDir(), "art")
		err := spoil(state)
		if name == "writable" && err == nil {
			err = os.Chmod(state, 0o777) // for the umask
		}
		if err != nil {
			t.Fatal(err)
		}
		store, err := OpenTrust(state, ws)
		if err == nil {
			_, err = store.Has("c", nil)
		}
		if err == nil {
			t.Errorf("%s: was taken", name)
		}
	}
	if _, err := OpenTrust("", ws); err == nil {
		t.Error("there is no place, and no error")
	}
}

func mkdirAndLink(state, target string) error {
	if err := os.Mkdir(state, 0o700); err != nil {
		return err
	}
	return os.Symlink(target, filepath.Join(state, trustDir))
}
