package completions

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/riverlytech/art/internal/flags"
)

// TestShellsOfferEveryFlag asks each shell for the flags of each command.
func TestShellsOfferEveryFlag(t *testing.T) {
	var commands []*flags.Command
	var lines []string
	for _, c := range flags.Commands() {
		if !c.Hidden {
			commands = append(commands, c)
			// One hyphen alone gets the short flags from some shells, two the long ones.
			lines = append(lines, c.Name+" -", c.Name+" --")
		}
	}
	for _, shell := range Shells {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			offers, err := Ask(shell, lines...)
			if err != nil {
				t.Fatal(err)
			}
			for i, c := range commands {
				want := []string{"--help"}
				for _, f := range c.Flags {
					want = append(want, f.Spellings()...)
				}
				got := slices.DeleteFunc(slices.Concat(offers[2*i], offers[2*i+1]), func(offer string) bool {
					return !strings.HasPrefix(offer, "-") || strings.Trim(offer, "-") == ""
				})
				slices.Sort(want)
				slices.Sort(got)
				if got = slices.Compact(got); !slices.Equal(got, want) {
					t.Errorf("%s offers\n%q, and not\n%q", c.Name, got, want)
				}
			}
		})
	}
}

// Without bash-completion bash offers commands and files for the command in the guest.
func TestBashAlone(t *testing.T) {
	script := bash + `
compopt() { :; }
for last in run run\ true; do
	COMP_WORDS=(art $last tru) COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
	[[ $last == run ]] || COMP_WORDS[COMP_CWORD]=completions_te
	_art
	printf '%s\n' "${COMPREPLY[@]}"
done`
	out, err := exec.Command("bash", "--norc", "-c", script).CombinedOutput()
	offers := strings.Fields(string(out))
	if err != nil || !slices.Contains(offers, "true") || !slices.Contains(offers, "completions_test.go") || strings.Contains(string(out), "not found") {
		t.Errorf("%v: %s", err, out)
	}
}
