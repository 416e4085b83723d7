package sync

import (
	"path"
	"strings"

	"github.com/riverlytech/art/sqlvfs"
)

// permitted tells whether a path may be changed: the user asked for it, and it is nothing that the
// host would run by itself.
func (p *planner) permitted(a *action) bool {
	if !p.wants(a) {
		p.leave(a)
		return false
	}
	if why := p.danger(a); why != "" && !p.settle.held(a, why) {
		p.leave(a)
		return false
	}
	return true
}

// settleConflict tells of a path that both sides changed.
func (p *planner) settleConflict(a *action) bool {
	if !p.wants(a) {
		p.leave(a)
		return false
	}
	if p.settle.conflict(a, conflictText(a)) {
		return true
	}
	p.leave(a)
	return false
}

// leave notes that an action is not done: what the guest has there is not on the host, and what it
// comes from must stay for another time.
func (p *planner) leave(a *action) {
	a.failed = true
	for d := a; d != nil; d = d.in {
		d.incomplete = true
	}
	if a.source != "" {
		p.needed[a.source] = true
	}
	if a.node != nil && a.node.Attr.IsDir() && p.entered[a.node.Ino] == nil {
		p.needBelow(a.node, map[sqlvfs.Ino]bool{})
	}
}

// needBelow notes what the host must keep for a directory of the guest that is not brought.
func (p *planner) needBelow(n *sqlvfs.Node, seen map[sqlvfs.Ino]bool) {
	if o := n.Origin; o != nil && o.Base == p.name && (n.Attr.IsDir() || o.Limit > 0) {
		p.needed[o.Path] = true
	}
	if seen[n.Ino] {
		return
	}
	seen[n.Ino] = true
	for _, e := range n.Children {
		p.needBelow(p.tree.Node(e.Ino), seen)
	}
}

// needs tells whether something that was not done, or is not complete, still needs what the host has
// at a path.
func (p *planner) needs(rel string) bool {
	for at := rel; at != "."; at = path.Dir(at) {
		if p.needed[at] {
			return true
		}
	}
	for _, d := range p.renamed {
		if o := d.node.Origin.Path; (d.incomplete || d.failed) && (rel == o || strings.HasPrefix(rel, o+"/")) {
			return true
		}
	}
	return false
}
