package git

import (
	"bytes"
	"strings"
	"testing"
)

func TestWorktree(t *testing.T) {
	for text, want := range map[string]struct {
		bare bool
		top  string
	}{
		"":                        {},
		"[core]\n\tbare = true\n": {bare: true},
		"[core]\n\tbare = false\n\tworktree = ../../../a\n": {top: "../../../a"},
		"[Core]\nWorkTree=\"a b\"\n":                        {top: "a b"},
		"[core]\n\tbare = true\n[core":                      {},
	} {
		if bare, top := Worktree(strings.NewReader(text)); bare != want.bare || top != want.top {
			t.Errorf("%q: %v, %q", text, bare, top)
		}
	}
}

func FuzzWorktree(f *testing.F) {
	f.Add([]byte("[core]\n\tbare = true\n\tworktree = \"../a\\n\" ; x\n[a \"b\"]\nc\n"))
	f.Fuzz(func(_ *testing.T, text []byte) { Worktree(bytes.NewReader(text)) })
}
