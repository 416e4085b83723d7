package completions

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Compare tells how the flags that shells offer differ from those of commands, or
// nothing. The key is the command as one types it, "art pull"; all of them know
// --help, which package flag adds.
func Compare(commands map[string]*flag.FlagSet) error {
	names := slices.Sorted(maps.Keys(commands))
	var lines []string
	for _, name := range names {
		// One hyphen alone gets the short flags from some shells, two the long ones.
		lines = append(lines, name+" -", name+" --")
	}
	var wrong []error
	for _, shell := range Shells {
		offers, err := Ask(shell, lines...)
		if err != nil {
			return err
		}
		for i, name := range names {
			offered := map[string]bool{}
			for _, offer := range slices.Concat(offers[2*i], offers[2*i+1]) {
				if strings.HasPrefix(offer, "-") && strings.Trim(offer, "-") != "" {
					offered[offer] = true
				}
			}
			wanted := map[string]bool{"--help": true}
			commands[name].VisitAll(func(f *flag.Flag) { wanted[spelled(f.Name)] = true })
			for f := range wanted {
				if !offered[f] {
					wrong = append(wrong, fmt.Errorf("%s does not offer %s %s", shell, name, f))
				}
			}
			for f := range offered {
				if !wanted[f] {
					wrong = append(wrong, fmt.Errorf("%s offers %s %s, which is no flag", shell, name, f))
				}
			}
		}
	}
	return errors.Join(wrong...)
}

// spelled is a flag as the documentation writes it: what has one letter, or one twice,
// takes one hyphen.
func spelled(name string) string {
	if strings.Trim(name, name[:1]) == "" {
		return "-" + name
	}
	return "--" + name
}
