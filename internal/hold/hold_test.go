package hold

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for _, text := range []string{"CLAUDE.md", ".env", "*.local.md", "a/b", "a/", ".x/*/y?", "ä", "a b", strings.Repeat("x", MaxText)} {
		if err := Check(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"", "/", "/a", "a//b", "a//", ".", "./a", "../a", "a/../b", "**", "a/**", "a**", "[a]", `a\b`, "a\nb", "a\tb", "\x00", "\xff", "\u202e", strings.Repeat("x", MaxText+1)} {
		if Check(text) == nil {
			t.Errorf("%q is a pattern", text)
		}
	}
}

func TestRemembered(t *testing.T) {
	p := Pattern{strings.Repeat("x", MaxText), strings.Repeat("y", MaxWhy)}.By(strings.Repeat("z", 64))
	if !p.Valid() {
		t.Errorf("%d and %d bytes are too long", len(p.Text), len(p.Why))
	}
	if got, err := Parse(p.String()); err != nil || got != p {
		t.Errorf("%v, %v", got, err)
	}
	for _, line := range []string{"", "a", "a\t", "\tb", "a\tb\tc", "a\t" + strings.Repeat("y", maxRemembered+1)} {
		if p, err := Parse(line); err == nil {
			t.Errorf("%q was read as %v", line, p)
		}
	}
}
