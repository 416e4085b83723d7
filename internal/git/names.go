package git

import (
	"maps"
	"slices"
	"strings"
)

// One reference's name cannot be a directory of another's: with refs/heads/a there is no refs/heads/a/b.

// refNames are the names of references.
type refNames struct {
	is    map[string]bool
	below map[string]string // directories, and a reference in each
}

func (n *refNames) add(name string) {
	n.is[name] = true
	for dir := range above(name) {
		n.below[dir] = name
	}
}

// above goes through the directories of a name, the longest first.
func above(name string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for at := strings.LastIndexByte(name, '/'); at > 0 && yield(name[:at]); at = strings.LastIndexByte(name[:at], '/') {
		}
	}
}

// dirOf returns the reference that is in the place of a directory of a name, or nothing.
func (n *refNames) dirOf(name string) string {
	for dir := range above(name) {
		if n.is[dir] {
			return dir
		}
	}
	return ""
}

// inTheWay returns a reference that a name cannot be beside, or nothing.
func (n *refNames) inTheWay(name string) string {
	if other := n.below[name]; other != "" {
		return other
	}
	return n.dirOf(name)
}

// aside returns another name for a reference.
func (n *refNames) aside(name, suffix string) string {
	if dir := n.dirOf(name); dir != "" {
		return dir + suffix + name[len(dir):]
	}
	return name + suffix
}

// decideNames finds the changes that cannot have their names, since the host keeps a reference in the way.
func (p *Plan) decideNames() {
	p.names = refNames{map[string]bool{}, map[string]string{}}
	gone := map[string]bool{}
	for _, c := range p.Refs {
		gone[c.Name] = c.Deleted()
	}
	for _, m := range []map[string]value{p.h.packed, p.h.loose} {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if !gone[name] {
				p.names.add(name)
			}
		}
	}
	p.Refs = slices.DeleteFunc(p.Refs, func(c RefChange) bool {
		if c.Deleted() {
			return false
		}
		other := p.names.inTheWay(c.Name)
		if other == "" {
			p.names.add(c.Name)
		} else if c.sym == "" {
			p.aside = append(p.aside, aside{c, "it cannot be beside " + short(other)})
		}
		return other != ""
	})
	p.Refs = slices.DeleteFunc(p.Refs, func(c RefChange) bool { return c.sym != "" && !p.names.is[c.sym] })
}
