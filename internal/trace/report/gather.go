package report

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// maxEntries bounds how many different lines or paths a section remembers; what
// comes after them is counted only.
const maxEntries = 100_000

// counter counts equal lines and keeps the order in which they first came.
type counter struct {
	order []string
	times map[string]int
	more  int // lines beyond maxEntries
}

func (c *counter) add(line string) {
	if c.times == nil {
		c.times = map[string]int{}
	}
	if c.times[line] == 0 {
		if len(c.order) == maxEntries {
			c.more++
			return
		}
		c.order = append(c.order, line)
	}
	c.times[line]++
}

func (c *counter) write(b *strings.Builder, title string) {
	heading(b, title, len(c.order)+c.more)
	for _, line := range c.order {
		if n := c.times[line]; n > 1 {
			line += fmt.Sprintf(" (%d times)", n)
		}
		b.WriteString("  " + line + "\n")
	}
	if c.more > 0 {
		fmt.Fprintf(b, "  and %d more\n", c.more)
	}
}

// tree is a set of paths, by directory.
type tree struct {
	dirs map[string]map[string]bool // the names in each directory
	size int
	more int // paths beyond maxEntries
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
	case t.size == maxEntries:
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
}

// maxNames is how many names of a directory are shown.
const maxNames = 8

func (t *tree) write(b *strings.Builder, title string) {
	heading(b, title, t.size+t.more)
	for _, dir := range slices.Sorted(maps.Keys(t.dirs)) {
		names := slices.Sorted(maps.Keys(t.dirs[dir]))
		b.WriteString("  " + printable(dir))
		if len(names) > maxNames {
			fmt.Fprintf(b, " (%d)", len(names))
		}
		b.WriteString(":")
		for _, name := range names[:min(len(names), maxNames)] {
			b.WriteString(" " + printable(name))
		}
		if len(names) > maxNames {
			b.WriteString(" ...")
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
