// Package held knows which files of a workspace are run by the host's programs without anybody
// asking for it: hooks, settings of editors and agents, start-up files of shells and interpreters,
// what a package manager runs by itself. Whoever can write them runs code outside of the sandbox.
//
// What a file is called tells in most cases ([Why], by the [Table], and the [Asked] of presets), what is in it in some
// ([Content]), what lies beside it in one ([Bare]), what the host's own settings say in others
// ([Named]), and of a symbolic link where it leads ([Outward]). All of them are functions of what
// they are given; what is on the host, and in the database, the caller finds out.
package held

import (
	"path"
	"slices"
	"strings"
	"sync"
)

// pattern is one of a row's, taken apart.
type pattern struct {
	why      string
	names    []string
	inside   bool // it is about everything below
	vendored bool
}

// index has the patterns of rows: byName by their first name; byEnd those whose first name has a wildcard, by how that
// ends, where it says; others the rest. There are as many paths as a workspace has files, and hardly one of them fits.
type index struct {
	byName, byEnd map[string][]pattern
	others        []pattern
}

func newIndex(rows []Row) *index {
	x := &index{byName: map[string][]pattern{}, byEnd: map[string][]pattern{}}
	for _, r := range rows {
		for _, text := range r.Patterns {
			x.add(text, r.Why, r.Vendored)
		}
	}
	return x
}

func (x *index) add(text, why string, vendored bool) {
	list := strings.Split(fold(strings.TrimSuffix(text, "/")), "/")
	p := pattern{why, list, strings.HasSuffix(text, "/"), vendored}
	first := list[0]
	switch end := path.Ext(first); {
	case !isGlob(first):
		x.byName[first] = append(x.byName[first], p)
	case end != "" && !isGlob(end):
		x.byEnd[end] = append(x.byEnd[end], p)
	default:
		x.others = append(x.others, p)
	}
}

// patterns is made when it is needed: that takes longer than a run that has nothing to bring.
var patterns = sync.OnceValue(func() *index { return newIndex(Table) })

// vendored are directories of what came with packages.
var vendored = map[string]bool{"node_modules": true, "bower_components": true, "site-packages": true, "dist-packages": true}

// Why says why the file at a path below the workspace, with slashes, is held back, or nothing.
func Why(rel string) string { return patterns().why(rel) }

func (x *index) why(rel string) string {
	return x.find(rel, func(p *pattern, names []string) bool {
		rest, ok := prefix(p.names, names)
		return ok && (p.inside || len(rest) == 0) && !p.harmless(names, rest)
	})
}

// harmless tells of names that fit one of git's patterns, up to rest, whether they are none of what it is
// about: the samples that git leaves directly in hooks, and never runs; and a module's references, which
// lie below refs/remotes, or belong to a branch that is called so.
func (p *pattern) harmless(names, rest []string) bool {
	if p.names[0] != ".git" {
		return false
	}
	switch p.names[len(p.names)-1] {
	case "hooks":
		return len(rest) == 1 && strings.HasSuffix(rest[0], ".sample")
	case "remotes", "branches":
		const module = 3 // names up to a module's own, which may be refs
		end := len(names) - len(rest)
		return end > module && slices.Contains(names[module:end], "refs")
	}
	return false
}

// Above says why nothing but a directory may come to a path: what is held back would be below it, and
// a symbolic link brings a whole directory into its place.
func Above(rel string) string { return patterns().over(rel) }

func (x *index) over(rel string) string {
	return x.find(rel, func(p *pattern, names []string) bool { return len(names) < len(p.names) && fits(p.names, names) })
}

// find returns what the first pattern says that fits a path from one of its names on.
func (x *index) find(rel string, fits func(p *pattern, names []string) bool) string {
	names := strings.Split(fold(rel), "/")
	inVendored := false
	for start, first := range names {
		for _, list := range [2][]pattern{x.byName[first], x.byEnd[path.Ext(first)]} {
			for i := range list {
				if p := &list[i]; (p.vendored || !inVendored) && fits(p, names[start:]) {
					return p.why
				}
			}
		}
		for i := range x.others {
			if p := &x.others[i]; (p.names[0][0] == first[0] || isGlob(p.names[0][:1])) && (p.vendored || !inVendored) && fits(p, names[start:]) {
				return p.why
			}
		}
		inVendored = inVendored || vendored[first]
	}
	return ""
}

// inVendored reports whether a path lies in what came with packages.
func inVendored(rel string) bool {
	for name := range strings.SplitSeq(path.Dir(fold(rel)), "/") {
		if vendored[name] {
			return true
		}
	}
	return false
}

// prefix matches names from the first on, and returns those that are left. "**" is any number of
// names, at least one.
func prefix(want, names []string) ([]string, bool) {
	for i, w := range want {
		if w == "**" {
			for skip := 1; skip < len(names)-i; skip++ {
				if rest, ok := prefix(want[i+1:], names[i+skip:]); ok {
					return rest, true
				}
			}
			return nil, false
		}
		if i >= len(names) || !match(w, names[i]) {
			return nil, false
		}
	}
	return names[len(want):], true
}

// fits reports whether a pattern's first names are these, so that what it is about may be below them.
func fits(want, names []string) bool {
	for i, name := range names {
		switch {
		case i == len(want):
			return false
		case want[i] == "**":
			return true
		case !match(want[i], name):
			return false
		}
	}
	return true
}

func match(want, name string) bool {
	if !isGlob(want) {
		return want == name
	}
	ok, err := path.Match(want, name)
	return err == nil && ok
}

// Places are the paths of the table's patterns at the top of a workspace, but for those with a wildcard, and
// of the files that Content reads.
func Places() (list []string) {
	list = append(list, readNames...)
	for _, r := range Table {
		for _, p := range r.Patterns {
			if !strings.Contains(p, "*") {
				list = append(list, strings.TrimSuffix(p, "/"))
			}
		}
	}
	return list
}
