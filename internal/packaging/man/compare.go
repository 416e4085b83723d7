package man

import (
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Compare tells how the page in the file name and the flags of commands differ, or
// nothing: the section of each command, which is its name, must describe all of its
// flags and no other, and no other flag may be named anywhere. --help, which
// package flag adds, is described once for all.
func Compare(name string, commands map[string]*flag.FlagSet) error {
	page, err := Read(name)
	if err != nil {
		return err
	}
	var wrong []string
	known := []string{"help"}
	for command, set := range commands {
		section, err := page.Section(command)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		described := section.Described()
		set.VisitAll(func(f *flag.Flag) {
			known = append(known, f.Name)
			if !slices.Contains(described, f.Name) {
				wrong = append(wrong, fmt.Sprintf("%s does not describe the flag %s of %s", name, f.Name, command))
			}
		})
		for _, flag := range described {
			if set.Lookup(flag) == nil && flag != "help" {
				wrong = append(wrong, fmt.Sprintf("%s describes a flag %s, which %s has not", name, flag, command))
			}
		}
	}
	flags := page.Flags()
	for _, flag := range flags {
		if !slices.Contains(known, flag) {
			wrong = append(wrong, fmt.Sprintf("%s names a flag %s, which is none", name, flag))
		}
	}
	if !slices.Contains(flags, "help") {
		wrong = append(wrong, name+" does not name --help")
	}
	if wrong == nil {
		return nil
	}
	slices.Sort(wrong)
	return fmt.Errorf("%s", strings.Join(wrong, "\n"))
}

// Unnamed returns the flags of a command that its help text does not name.
func Unnamed(help string, set *flag.FlagSet) (missing []string) {
	set.VisitAll(func(f *flag.Flag) {
		if !regexp.MustCompile(`(?m)(^|[^-\w])--?` + regexp.QuoteMeta(f.Name) + `\b`).MatchString(help) {
			missing = append(missing, f.Name)
		}
	})
	return missing
}

// Described returns the flags that are heads of list items, without their hyphens.
func (p Page) Described() []string {
	var items Page
	for _, line := range p {
		if strings.HasPrefix(line, ".It ") {
			items = append(items, line)
		}
	}
	return items.Flags()
}
