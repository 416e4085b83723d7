// Package ignore matches paths against patterns in the syntax of gitignore(5).
package ignore

import (
	"path"
	"strings"
)

// Verdict is what patterns say of a path.
type Verdict int

// The verdicts. A pattern that begins with "!" says that what it fits stays.
const (
	Silent Verdict = iota
	Out
	Stays
)

// List are the patterns of one file, in its order.
type List []pattern

type pattern struct {
	names    []string // what is between its slashes; "**" is any number of names
	anywhere bool     // it is about the last name of a path
	dirs     bool     // it is about directories
	stays    bool
}

// Parse reads patterns, one a line. Lines that are empty, or comments, say nothing.
func Parse(lines []string) (l List) {
	for _, line := range lines {
		line = strings.TrimSuffix(line, "\r")
		if strings.HasPrefix(line, "#") {
			continue
		}
		if trimmed := strings.TrimRight(line, " "); strings.HasSuffix(trimmed, `\`) && trimmed != line {
			line = trimmed + " " // it ends in a space that is meant
		} else {
			line = trimmed
		}
		var p pattern
		line, p.stays = strings.CutPrefix(line, "!")
		line, p.dirs = strings.CutSuffix(line, "/")
		if line == "" {
			continue
		}
		p.anywhere = !strings.Contains(line, "/")
		p.names = strings.Split(strings.TrimPrefix(line, "/"), "/")
		for i, name := range p.names {
			p.names[i] = strings.ReplaceAll(name, "[!", "[^") // path.Match has the one, gitignore(5) the other
		}
		l = append(l, p)
	}
	return l
}

// Match is what the last of the patterns that fit a path says, which is relative to where the list is
// about. The directories above it are not looked at: what is in one that is out, is out.
func (l List) Match(rel string, isDir bool) Verdict {
	names := strings.Split(rel, "/")
	for i := len(l) - 1; i >= 0; i-- {
		if l[i].fits(names, isDir) {
			return l[i].verdict()
		}
	}
	return Silent
}

// Within is what the last of the patterns says that fit a path or any directory above it.
func (l List) Within(rel string, isDir bool) Verdict {
	names := strings.Split(rel, "/")
	for i := len(l) - 1; i >= 0; i-- {
		for n := range names {
			if l[i].fits(names[:n+1], isDir || n+1 < len(names)) {
				return l[i].verdict()
			}
		}
	}
	return Silent
}

func (p *pattern) verdict() Verdict {
	if p.stays {
		return Stays
	}
	return Out
}

func (p *pattern) fits(names []string, isDir bool) bool {
	switch {
	case p.dirs && !isDir:
		return false
	case p.anywhere:
		return one(p.names[0], names[len(names)-1])
	}
	return all(p.names, names)
}

func one(pattern, name string) bool {
	ok, err := path.Match(pattern, name) // one that cannot be fits nothing
	return err == nil && ok
}

// all reports whether names fit the parts of a pattern. Only the last "**" is ever tried with more names,
// since what fitted before it fits with the fewest.
func all(parts, names []string) bool {
	i, j, star, from := 0, 0, -1, 0
	for j < len(names) {
		switch {
		case i < len(parts) && parts[i] == "**":
			if i == len(parts)-1 {
				return true // at the end it is all that is inside: at least one name
			}
			star, from = i, j
			i++
		case i < len(parts) && one(parts[i], names[j]):
			i, j = i+1, j+1
		case star >= 0:
			from++
			i, j = star+1, from
		default:
			return false
		}
	}
	return i == len(parts)
}
