// Package generate writes what other parts of the program know into manual pages, README.md and the completions: the
// flags, the presets, and what pull holds back. It stands there between a line with "generated: NAME" and one with
// "generated: end"; all else is written by hand.
package generate

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/riverlytech/art/internal/flags"
)

//go:generate go test -run TestCurrent -update

// files have generated parts. Their names are relative to this directory.
var files = []string{
	"../../../README.md", "../completions/art.bash", "../completions/art.fish", "../completions/art.zsh",
	"../man/art.1", "../man/art-fuse.1", "../man/art-sync.1", "../man/art-trace.1", "../man/art.7", "../man/art-agents.7",
}

// part returns what is generated under a name, which may end in that of a command.
func part(name string) (string, error) {
	kind, command, _ := strings.Cut(name, " of art")
	switch kind {
	case "held":
		return heldTable(), nil
	case "agents":
		return agents()
	case "bash":
		return bashCases(), nil
	case "zsh":
		return zshCases(), nil
	case "fish":
		return fishLines(), nil
	case "table of flags":
		return flagTable(), nil
	case "table of commands":
		return commandTable(), nil
	case "flags":
		if c := flags.Find("art" + command); c != nil {
			return manList(c), nil
		}
	}
	return "", fmt.Errorf("nothing is generated under the name %q", name)
}

var generated = regexp.MustCompile(`(?ms)^([^\n]*\bgenerated: ([^\n]*?)(?: -->)?\n)(.*?)(^[^\n]*\bgenerated: end\b)`)

// rewrite returns a text with its generated parts as they are now.
func rewrite(text string) (string, error) {
	var failed error
	text = generated.ReplaceAllStringFunc(text, func(old string) string {
		m := generated.FindStringSubmatch(old)
		now, err := part(m[2])
		failed = errors.Join(failed, err)
		return m[1] + now + m[4]
	})
	return text, failed
}
