package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadAgent(t *testing.T) {
	read := func(text string) (*Agent, error) {
		dir := filepath.Join(t.TempDir(), "mine")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "sandbox.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return ReadAgent(dir, "/home/me", []string{"namespaces"})
	}
	a, err := read(`{"preset": "claude", "project": "~/work", "network": "none", "mode": "direct"}`)
	if err != nil {
		t.Fatal(err)
	}
	if a.Name != "mine" || a.Preset.Value != "claude" || !a.Enabled || a.Settings.Workspace.Value != "/home/me/work" ||
		a.Settings.Home.Value != "mine" || a.Settings.Network.Value != "none" || a.Settings.Mode.Value != "direct" {
		t.Errorf("read as %+v with %+v", a, a.Settings)
	}
	if a, err := read(`{"enabled": false, "home": "other", "allow": ["namespaces"]}`); err != nil || a.Enabled || a.Settings.Home.Value != "other" || len(a.Settings.Allow) != 1 {
		t.Errorf("read as %+v, %v", a, err)
	}
	for text, want := range map[string]string{
		`{"project": "/a", "workspace": "/b"}`: "another word", `{"db": "/a"}`: `"db" can only`, `{"preset": "../x"}`: "not the name of a preset",
		`{"home": 1}`: "a string", `{"enabled": "no"}`: "true or false", `{"nothing": 1}`: "unknown key", `[]`: "an object", ``: "unexpected end",
	} {
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := ReadAgent(filepath.Join(t.TempDir(), "none"), "", nil); err == nil || !strings.Contains(err.Error(), "there is no such agent") {
		t.Error(err)
	}
}

func FuzzReadAgent(f *testing.F) {
	f.Add(`{"preset": "claude", "project": "~/work", "enabled": false}`)
	f.Add(`{"mounts": [{"path": "/a", "mode": "rw"}], "home": "x"}`)
	dir := filepath.Join(f.TempDir(), "mine")
	if err := os.Mkdir(dir, 0o700); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(filepath.Join(dir, "sandbox.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		a, err := ReadAgent(dir, "/home/me", nil)
		if err == nil && (!IsPresetName(a.Settings.Home.Value) || a.Settings.Databases.Value != "") {
			t.Errorf("%q is read as %+v", text, a.Settings)
		}
	})
}
