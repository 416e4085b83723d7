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
	for _, p := range []Pattern{{}, {"a", ""}, {"", "b"}, {"a", "b\tc"}, {"a", strings.Repeat("y", maxRemembered+1)}} {
		if p.Valid() {
			t.Errorf("%q is valid", p)
		}
	}
}
