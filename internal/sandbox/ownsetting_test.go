package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

func TestQuoteGit(t *testing.T) {
	for value, want := range map[string]string{
		"": "", "A B": "A B", `"x" \n`: `\"x\" \\n`, "a\nb\x00c\x7f": "abc", "\n[alias]\n\tx = !y": "[alias]x = !y", "Ö \xff": "Ö ",
	} {
		if got := quoteGit(value); got != want {
			t.Errorf("%q: got %q, want %q", value, got, want)
		}
	}
}

// What lies in somebody's secrets, or holds them, is not shown; what is beside them is.
func TestPrivate(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{".config/gh", ".cargo", ".claude/local"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{".cargo/credentials.toml", ".claude/.credentials.json"} {
		if err := os.WriteFile(filepath.Join(home, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := &seeing{homes: []string{home, "/usr/sbin"}}
	elsewhere, err := filepath.EvalSymlinks(t.TempDir())
	if err == nil {
		err = os.MkdirAll(filepath.Join(elsewhere, "copy/.ssh"), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(elsewhere, ".npmrc"), nil, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		elsewhere + "/copy": elsewhere + "/copy/.ssh", elsewhere: "",
		home: home, filepath.Dir(home): home, home + "/.ssh": home + "/.ssh", home + "/.ssh/id": home + "/.ssh",
		home + "/.config": home + "/.config/gh", home + "/.config/tool": "", home + "/.cargo": home + "/.cargo/credentials.toml", home + "/.cargo/bin": "",
		home + "/.claude": home + "/.claude/.credentials.json", home + "/.claude/local": "", home + "/.nvm": "", home + "/.sshx": "",
		"/elsewhere/.aws/x": "/elsewhere/.aws", "/home": "/home", "/opt/tool": "",
	} {
		if got, _ := s.private(path); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}
