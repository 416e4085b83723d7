package generate

import (
	"fmt"
	"strings"

	"github.com/riverlytech/art/internal/flags"
)

// flagTable is the table of art's flags in README.md.
func flagTable() string {
	var b strings.Builder
	b.WriteString("| flag | short | default | meaning |\n|---|---|---|---|\n")
	for _, f := range flags.Art.Flags {
		if f.Name == "version" {
			continue
		}
		short := ""
		if f.Short != "" {
			short = "`-" + f.Short + "`"
		}
		says := f.Says
		if f.Repeat {
			says += "; repeatable"
		}
		fmt.Fprintf(&b, "| `--%s` | %s | %s | %s |\n", f.Name, short, f.Default, markdown(says))
	}
	return b.String()
}

// commandTable is the table of the commands and their own flags in README.md.
func commandTable() string {
	var b strings.Builder
	b.WriteString("| command | what it does | flags of its own |\n|---|---|---|\n")
	for _, c := range append(flags.Art.Commands()[1:], flags.Fuse, flags.Trace) {
		list := ownFlags(c)
		var own []string
		for _, f := range list {
			if c != flags.Trace && !common[f.Name] {
				own = append(own, "`"+f.Spellings()[len(f.Spellings())-1]+"`")
			}
		}
		name := c.Name
		if words := c.Commands(); words != nil {
			var all []string
			for _, w := range words {
				all = append(all, strings.TrimPrefix(w.Name, c.Name+" "))
			}
			name += " " + strings.Join(all, `\|`)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, markdown(c.Says), strings.Join(own, " "))
	}
	return b.String()
}

// common are the flags that most commands have, which the text around the table tells of.
var common = map[string]bool{"mount": true, "db": true, "agent": true, "name": true, "adopt": true, "quiet": true, "json": true, "version": true}

func markdown(text string) string { return strings.ReplaceAll(text, `"`, "`") }
