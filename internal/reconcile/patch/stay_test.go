package patch

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A line that stays is the same line, in the same order, and what does not stay in neither text makes up the rest.
func TestStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "\n"}), 0, 12), func(all []string) []string { return all })
		join := func(all []string) (s string) {
			for _, line := range all {
				s += line
			}
			return s
		}
		old, now := text.Draw(t, "old"), text.Draw(t, "new")
		if rapid.Bool().Draw(t, "no newline at the end") && len(now) > 0 {
			now[len(now)-1] = "end"
		}
		stay, last := Stay(join(old), join(now)), -1
		if len(stay) != len(old) {
			t.Fatalf("%d lines are %d", len(old), len(stay))
		}
		for i, n := range stay {
			if n < 0 {
				continue
			}
			if n <= last || now[n] != old[i] {
				t.Fatalf("line %d of %q is line %d of %q", i, old, n, now)
			}
			last = n
		}
		if slices.Equal(old, now) && slices.Contains(stay, -1) {
			t.Fatalf("of equal texts %v stay", stay)
		}
	})
}
