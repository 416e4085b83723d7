package report

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// What a section remembers is bounded in different lines or paths and in bytes; what
// comes after them is counted only.
const (
	maxEntries = 100_000
	maxBytes   = 64 << 20
)

// entry is something that happened, perhaps several times.
type entry struct {
	Text  string   `json:"text"`
	Argv  []string `json:"argv,omitempty"`
	Times int      `json:"times"`
}

// counter counts equal entries and keeps the order in which they first came.
type counter struct {
	order []*entry
	known map[string]*entry
	bytes int
	more  int // beyond the bounds
}

func (c *counter) add(text string, argv []string) {
	e := c.known[text]
	if e == nil {
		size := len(text)
		for _, arg := range argv {
			size += len(arg)
		}
		if len(c.order) == maxEntries || c.bytes+size > maxBytes {
			c.more++
			return
		}
		if c.known == nil {
			c.known = map[string]*entry{}
		}
		e = &entry{Text: text, Argv: argv}
		c.order, c.known[text], c.bytes = append(c.order, e), e, c.bytes+size
	}
	e.Times++
}

func (c *counter) write(b *strings.Builder, title string) {
	heading(b, title, len(c.order)+c.more)
	for _, e := range c.order {
		b.WriteString("  " + e.Text)
		if e.Times > 1 {
			fmt.Fprintf(b, " (%d times)", e.Times)
		}
		b.WriteString("\n")
	}
	if c.more > 0 {
		fmt.Fprintf(b, "  and %d more\n", c.more)
	}
}

// tree is a set of paths, by directory.
type tree struct {
	dirs  map[string]map[string]bool // the names in each directory
	size  int
	bytes int
	more  int // paths beyond the bounds
}

func (t *tree) add(file string) {
	if file == "" { // not readable
		return
	}
	dir, name := path.Split(file)
	names := t.dirs[dir]
	switch {
	case names[name]:
		return
	case t.size == maxEntries || t.bytes+len(file) > maxBytes:
		t.more++
		return
	case t.dirs == nil:
		t.dirs = map[string]map[string]bool{}
	}
	if names == nil {
		names = map[string]bool{}
		t.dirs[dir] = names
	}
	names[name] = true
	t.size++
	t.bytes += len(file)
}

// paths returns all, in order.
func (t *tree) paths() []string {
	all := make([]string, 0, t.size)
	for dir, names := range t.dirs {
		for name := range names {
			all = append(all, dir+name)
		}
	}
	slices.Sort(all)
	return all
}

// Names of a directory stand behind it if they are few, and else below it, in lines of
// this width.
const (
	fewNames = 8
	width    = 100
)

func (t *tree) write(b *strings.Builder, title string) {
	heading(b, title, t.size+t.more)
	for _, dir := range slices.Sorted(maps.Keys(t.dirs)) {
		names := slices.Sorted(maps.Keys(t.dirs[dir]))
		b.WriteString("  " + printable(dir))
		column := 0
		if len(names) > fewNames {
			fmt.Fprintf(b, " (%d)", len(names))
			column = width
		}
		b.WriteString(":")
		for _, name := range names {
			name = printable(name)
			if len(names) > fewNames && column+1+len(name) > width {
				b.WriteString("\n   ")
				column = len("   ")
			}
			b.WriteString(" " + name)
			column += 1 + len(name)
		}
		b.WriteString("\n")
	}
	if t.more > 0 {
		fmt.Fprintf(b, "  and %d more\n", t.more)
	}
}

// heading begins a section of n entries.
func heading(b *strings.Builder, title string, n int) {
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	fmt.Fprintf(b, "%s: %d\n", title, n)
}
