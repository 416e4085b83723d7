package reconcile

import (
	"slices"
	"strings"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/reconcile/held"
	"github.com/riverlytech/art/sqlvfs"
)

// What the workspace may be after a pull: at each path what the host has now, or what the guest has. A
// path that is held back, or in conflict, stays what it is; so whoever asks has to reckon with both.

// walk follows a path through the rows: to its own, n, or to the last one on the way, dir, from which the rest leads
// on.
func (p *planner) walk(rel string) (n, dir *sqlvfs.Node, rest string) {
	n = p.top
	for rest = rel; rest != "" && rest != "."; {
		name, after, _ := strings.Cut(rest, "/")
		next := p.tree.Child(n, name)
		if next == nil {
			return nil, n, rest
		}
		n, rest = next, after
	}
	return n, n, ""
}

// hides reports whether a row keeps the host's from showing through at what is not in it.
func hides(dir *sqlvfs.Node, rest string) bool {
	name, _, _ := strings.Cut(rest, "/")
	return !dir.Attr.IsDir() || slices.Contains(dir.Whiteouts, name)
}

// guestAt finds what the guest has at a path: a row, or a path of the host that shows through there, or
// neither.
func (p *planner) guestAt(rel string) (n *sqlvfs.Node, from string) {
	n, dir, rest := p.walk(rel)
	if o := dir.Origin; n == nil && o != nil && o.Base == p.name && !hides(dir, rest) {
		from = join(o.Path, rest)
	}
	return n, from
}

// linksAt returns the targets of the symbolic links that may be at a path.
func (p *planner) linksAt(rel string) (targets []string) {
	if t, err := p.host.readlink(rel); err == nil {
		targets = append(targets, t)
	}
	n, from := p.guestAt(rel)
	switch {
	case n != nil && n.Attr.IsSymlink():
		targets = append(targets, n.Target)
	case from != "" && from != rel:
		if t, err := p.host.readlink(from); err == nil {
			targets = append(targets, t)
		}
	}
	slices.Sort(targets)
	return slices.Compact(targets)
}

// repositoryParts finds out what of a repository a directory has, and may have.
func (p *planner) repositoryParts(dir string) (now, after held.Parts) {
	if dir == "" {
		dir = "."
	}
	if known, ok := p.parts[dir]; ok {
		return known[0], known[1]
	}
	p.addHostParts(&now, dir)
	after = now
	n, from := p.guestAt(dir)
	if n != nil {
		for _, e := range n.Children {
			after.Add(e.Name)
		}
		if o := n.Origin; o != nil && o.Base == p.name {
			from = o.Path
		}
	}
	if from != "" && from != dir {
		p.addHostParts(&after, from)
	}
	if p.parts == nil {
		p.parts = map[string][2]held.Parts{}
	}
	p.parts[dir] = [2]held.Parts{now, after}
	return now, after
}

func (p *planner) addHostParts(parts *held.Parts, dir string) {
	d, err := p.host.openDir(dir)
	if err != nil {
		return // it is not there, or nothing that a program could enter
	}
	defer d.Close()
	names, _ := hostfs.Names(d)
	for _, name := range names {
		parts.Add(name)
	}
}
