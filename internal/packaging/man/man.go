// Package man holds the manual pages, in mdoc(7), and reads out of them what tests compare with the programs, such as the
// sessions that their examples show.
package man

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

//go:embed *.1 *.5 *.7
var files embed.FS

// Page is a manual page, a line of its source an element.
type Page []string

// Names returns the file names of all pages.
func Names() []string {
	names, err := fs.Glob(files, "*")
	if err != nil {
		panic(err) // the pattern is right
	}
	return names
}

// Read returns the page of the given file name.
func Read(name string) (Page, error) {
	text, err := files.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return strings.Split(string(text), "\n"), nil
}

// Section returns the lines below the heading, as far as the next one.
func (p Page) Section(heading string) (Page, error) {
	isHeading := func(line string) bool {
		return strings.HasPrefix(line, ".Sh ") || strings.HasPrefix(line, ".Ss ")
	}
	start := slices.IndexFunc(p, func(line string) bool { return isHeading(line) && line[len(".Sh "):] == heading })
	if start < 0 {
		return nil, fmt.Errorf("the page has no section %q", heading)
	}
	rest := p[start+1:]
	if end := slices.IndexFunc(rest, isHeading); end >= 0 {
		rest = rest[:end]
	}
	return rest, nil
}

// Flags returns all flags, without their hyphens, sorted.
func (p Page) Flags() []string {
	var flags []string
	for _, line := range p {
		if !strings.HasPrefix(line, ".") {
			continue
		}
		words := strings.Fields(line[1:])
		for i, word := range words {
			if word != "Fl" || i+1 == len(words) {
				continue
			}
			if name := strings.TrimPrefix(words[i+1], "-"); name != "" { // "--" alone ends the flags
				flags = append(flags, name)
			}
		}
	}
	slices.Sort(flags)
	return slices.Compact(flags)
}

// unescape undoes what a literal block needs of roff's escapes (groff_char(7)).
var unescape = strings.NewReplacer(`\-`, "-", `\e`, `\`, `\&`, "", `\(aq`, "'", `\(ti`, "~", `\(ha`, "^", `\(ga`, "`")

// Literal returns the literal blocks, as a reader sees them. They end with a newline.
func (p Page) Literal() []string {
	var blocks []string
	inside := false
	for _, line := range p {
		switch {
		case strings.HasPrefix(line, ".Bd -literal"):
			inside = true
			blocks = append(blocks, "")
		case line == ".Ed":
			inside = false
		case inside:
			blocks[len(blocks)-1] += unescape.Replace(line) + "\n"
		}
	}
	return blocks
}
