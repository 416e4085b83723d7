package config

import (
	"regexp"
	"strings"
	"testing"
)

func FuzzIsPresetName(f *testing.F) {
	want := regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)
	long := strings.Repeat("a", 64)
	for _, name := range []string{"", "a", "0.b_c-", ".a", "-a", "A", "aB", "a/b", "a b", "a\n", "\n", "é", "aé", "a\xff", "\xff", "a\x00b", long, long + "a"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if got := IsPresetName(name); got != want.MatchString(name) {
			t.Errorf("%q: %v", name, got)
		}
	})
}
