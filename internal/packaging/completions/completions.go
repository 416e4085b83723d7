// Package completions holds what completes the command lines of the programs in bash, fish and zsh, and asks these shells, so that tests
// can compare what they offer with what there is. What each command has is generated (package generate).
package completions

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

//go:embed art.bash
var bash string

//go:embed art.fish
var fish string

//go:embed art.zsh
var zsh string

//go:embed ask.bash
var askBash string

//go:embed ask.fish
var askFish string

//go:embed ask.zsh
var askZsh string

// Shells are those that there are completions for.
var Shells = []string{"bash", "fish", "zsh"}

// Ask returns what a shell offers for the last word of each line, which is "" behind
// a space at its end. The shell runs in the current directory, without the user's
// settings. No word of a line may need quotes.
func Ask(shell string, lines ...string) ([][]string, error) {
	cmd := exec.Command(shell)
	switch shell {
	case "bash":
		cmd.Args = append(cmd.Args, "--norc", "-c", bash+askBash, shell)
	case "fish":
		cmd.Args = append(cmd.Args, "--no-config", "-c", fish+askFish)
	case "zsh":
		cmd.Args = append(cmd.Args, "-f", "-c", askZsh, shell)
		cmd.Env = append(os.Environ(), "ART_COMPLETION="+zsh)
	default:
		return nil, fmt.Errorf("there are no completions for %s", shell)
	}
	cmd.Args = append(cmd.Args, lines...)
	var errors strings.Builder
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil || errors.Len() > 0 {
		return nil, fmt.Errorf("%s: %v\n%s", shell, err, errors.String())
	}
	answers := strings.Split(string(out), "\f\n")
	if len(answers) != len(lines)+1 {
		return nil, fmt.Errorf("%s answers %d lines of %d:\n%q", shell, len(answers)-1, len(lines), out)
	}
	offers := make([][]string, len(lines))
	for i := range lines {
		for offer := range strings.Lines(answers[i]) {
			offer, _, _ = strings.Cut(strings.TrimSuffix(offer, "\n"), "\t")
			if offer = strings.TrimSpace(offer); offer != "" { // zsh aligns descriptions with empty ones
				offers[i] = append(offers[i], offer)
			}
		}
	}
	return offers, nil
}
