package quote

import (
	"strings"
	"testing"
)

func TestCommand(t *testing.T) {
	for want, args := range map[string][]string{
		"(a shell)": nil, "ls -l": {"ls", "-l"}, `sh -c 'a "b" '\''c'\'''`: {"sh", "-c", `a "b" 'c'`}, "x '' $'a\\nb'": {"x", "", "a\nb"},
		`$'\033[2J\302\233'`: {"\x1b[2J\u009b"}, strings.Repeat("ö", 37) + "...": {strings.Repeat("ö", 41)},
	} {
		if got := Command(args, 40); got != want {
			t.Errorf("%q: %s, not %s", args, got, want)
		}
	}
}
