package held

import (
	"strings"
	"testing"

	"github.com/riverlytech/art/internal/hold"
)

func asked(texts ...string) *Asked {
	var list []hold.Pattern
	for _, text := range texts {
		list = append(list, hold.Pattern{Text: text, Why: "by " + text})
	}
	return NewAsked(list)
}

func TestAsked(t *testing.T) {
	a := asked("CLAUDE.md", "*.local.md", "x/y", "rules/", "*end", "?.a", "a*.b*", "Dots. ", "*")
	b := asked("CLAUDE.md", "*.local.md", "x/y", "rules/", "*end", "?.a", "a*.b*", "Dots. ")
	for path, by := range map[string]string{
		"CLAUDE.md": "CLAUDE.md", "a/claude.MD": "CLAUDE.md", "x.local.md": "*.local.md", "p/x/y": "x/y", "rules/a/b": "rules/", "q/rules": "rules/",
		"week.end": "*end", "weekend": "*end", "q.A": "?.a", "ab.bc": "a*.b*", "dots": "Dots. ", "CLAUDE.m\u00add": "CLAUDE.md",
	} {
		if why := b.Why(path); why != "by "+by {
			t.Errorf("%s: %q", path, why)
		}
		if a.Why(path) == "" {
			t.Errorf("%s fits not even *", path)
		}
	}
	for _, path := range []string{"x", "y", "y/x", "xy", "CLAUDE.md.txt", "local.md", "qq.a", "node_modules/p/CLAUDE.md", "x/y/z"} {
		if why := b.Why(path); why != "" {
			t.Errorf("%s is held back: %s", path, why)
		}
	}
	if b.Above("x") == "" || b.Above("q/x") == "" || b.Above("y") != "" {
		t.Error("a link in the place of a directory")
	}
	if n := NewAsked([]hold.Pattern{{Text: "a", Why: "x\ny"}, {Text: "**", Why: "x"}, {Text: "/", Why: "x"}, {Why: "x"}}); n.Why("a") != "" {
		t.Error("what no preset says counts")
	}
}

// FuzzAsked has whatever a database remembers hold back more, and never less; it is a bounded amount of work.
func FuzzAsked(f *testing.F) {
	f.Add("CLAUDE.md\x00x\x00a/b/", "why", "a/CLAUDE.md")
	f.Add("*\x00?\x00a*b?c*\x00**\x00[a]\x00[", "", ".vscode/x")
	f.Add("/\x00//\x00.\x00..\x00a/../b\x00\u00ad\x00. .\x00", "\n", "\u00ad/x")
	f.Add(strings.Repeat("*a", 120), "w", strings.Repeat("a", 200))
	f.Fuzz(func(t *testing.T, texts, why, rel string) {
		if rel == "" || strings.HasPrefix(rel, "/") || strings.HasSuffix(rel, "/") || strings.Contains(rel, "//") {
			return
		}
		var list []hold.Pattern
		for text := range strings.SplitSeq(texts, "\x00") {
			list = append(list, hold.Pattern{Text: text, Why: why})
		}
		a := NewAsked(list)
		if got := a.Why(rel); got != "" && got != why {
			t.Errorf("%q says %q", texts, got)
		}
		a.Above(rel)
		for _, p := range list {
			if p.Valid() && p.Text == rel && !inVendored(rel) && a.Why(rel) == "" {
				t.Errorf("%q does not hold itself back", rel)
			}
		}
	})
}
