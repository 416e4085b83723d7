package reconcile

import (
	"cmp"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/reconcile/classify"
	"github.com/riverlytech/art/sqlvfs"
)

// decide turns what there is to know of each item (item.go, package classify) into what is done about it. A
// dry run and diff go no further, so they tell what a run does.
func (p *planner) decide() error {
	p.findPlaced()
	if err := p.keepCheckouts(); err != nil {
		return err
	}
	for _, a := range p.items {
		switch {
		case a.in != nil && a.in.left && a.in.there != unix.S_IFDIR:
			p.leave(a) // with the directory that it would be in
		case a.left, a.in != nil && a.in.left && a.in.gone():
			p.leave(a) // with what would take the directory's place
		case p.committed(a):
			p.leave(a) // it comes with the commit
		case a.gone():
			p.decideRemoval(a)
		case a.attr.IsDir():
			p.decideDir(a)
		default:
			p.decideFile(a)
		}
	}
	for _, a := range p.items {
		if a.lazy && a.decision.Kind == classify.Guest {
			p.leave(a) // the user did not name it
		}
	}
	if err := p.policy.choose(); err != nil {
		return err
	}
	p.keepNeeded()
	p.leaveSwitches(p.leaveSplit())
	for _, a := range p.items {
		if o := a.op; o != nil && !a.left {
			p.ops = append(p.ops, o)
			if !a.gone() && a.isDir() {
				p.dirs = append(p.dirs, o)
			}
		}
	}
	return nil
}

// permitted reports whether an item may be done: if it is in conflict or needs the user's permission, that
// must have been given.
func (p *planner) permitted(a *item) bool {
	if a.decision.Conflict() {
		if !a.isDir() && !p.opt.Force && p.original(a.path, a.node) {
			p.leave(a)
			return false
		}
		a.conflict = cmp.Or(a.conflict, p.why(a))
		if !p.policy.conflict(a) {
			p.leave(a)
			return false
		}
		a.decision = a.decision.Resolve(classify.Guest)
	}
	if !a.gone() {
		p.merge(a)
	}
	a.held = p.holdReason(a)
	if a.held != "" && p.timesAlone(a) {
		a.held = ""
		p.agree(a)
		return false
	}
	if a.held != "" && !p.policy.held(a) {
		p.leave(a)
		return false
	}
	return true
}

// timesAlone reports whether the host has all of what the guest has, but for its times: git makes its configuration anew
// without a change of it. Of what is held back, that is none.
func (p *planner) timesAlone(a *item) bool {
	if a.gone() || !a.attr.IsRegular() || a.decision.Mode == classify.Guest || a.decision.Owner == classify.Guest || a.decision.Xattrs == classify.Guest {
		return false
	}
	same, err := p.equal(a)
	return err == nil && same
}

// asked reports whether the user wants an item, and permits it.
func (p *planner) asked(a *item) bool {
	if !p.wants(a) {
		p.leave(a)
		return false
	}
	return p.permitted(a)
}

func (p *planner) decideRemoval(a *item) {
	d := &a.decision
	switch {
	case a.there == 0:
		p.agree(a) // both have removed it
		return
	case a.incomplete:
		p.leave(a)
		return
	case d.Conflict() && p.moved[a.path] != nil:
		*d = d.Resolve(classify.Guest) // what the host changed is at its new place
	}
	if (d.Pull() || d.Conflict()) && p.asked(a) {
		p.plan(a, &operation{do: remove})
	}
}

func (p *planner) decideDir(a *item) {
	d := a.decision
	switch {
	case a.there == unix.S_IFDIR:
		p.plan(a, &operation{do: keep})
		if (d.Pull() || d.Conflict()) && p.asked(a) {
			a.op.do = chmodDir
		}
	case d.Kind == classify.Host || p.apart(a.path) || !p.limit.Has(a.path):
		a.lazy = true
	case p.asked(a):
		p.plan(a, &operation{do: mkdir})
	}
}

func (p *planner) decideFile(a *item) {
	d := a.decision
	switch {
	case !d.Pull() && !d.Conflict():
		if a.instead != nil {
			a.instead.left = true
		}
		p.planFile(a)
	case a.link != nil && a.link.left:
		if a.conflict == "" && a.link.conflict == "" && p.wants(a) {
			p.comeTogether(a, a.link)
		}
		p.leave(a)
	case p.asked(a):
		p.planFile(a)
	}
}

// comeTogether says that a name of a file does not come, since another does not.
func (p *planner) comeTogether(a, other *item) {
	a.conflict = "it is one file with " + p.report.ErrName(p.hostPath(other.path)) + ", which does not come: pull both"
	p.policy.needed(a)
}

// keepNeeded leaves alone what would replace or remove what something that is left still needs, and what
// depends on that.
func (p *planner) keepNeeded() {
	for again := true; again; {
		again = false
		apart := map[*item]*item{} // names that the host alone has of what a row stands for, and that are left
		for _, a := range p.items {
			if a.link != nil && a.left {
				apart[a.link] = a
			}
		}
		for _, a := range p.items {
			o := a.op
			if o == nil || a.left {
				continue
			}
			switch {
			case apart[a] != nil:
				p.comeTogether(a, apart[a])
			case o.replaces() && p.needs(a.path):
				a.conflict = errNeeded.Error()
				p.policy.needed(a)
			case o.do == remove && a.incomplete, a.instead != nil && a.instead.left, o.other != nil && o.other.left,
				a.in != nil && a.in.left && a.in.there != unix.S_IFDIR:
			default:
				continue
			}
			p.leave(a)
			again = true
		}
	}
}

// leave notes that an item is not done: what the guest has there is not on the host, and what it
// comes from must stay for another time.
func (p *planner) leave(a *item) {
	a.left = true
	p.notDone = append(p.notDone, a)
	a.lacks()
	if a.source != "" {
		p.needed[a.source] = true
	}
	if a.instead != nil {
		a.instead.left = true
	}
	if a.node != nil && a.node.Attr.IsDir() && p.entered[a.node.Ino] == nil {
		p.needBelow(a.node, map[sqlvfs.Ino]bool{})
	}
}

// lacks notes that something below a directory, or the directory itself, is not done.
func (a *item) lacks() {
	for d := a; d != nil; d = d.in {
		d.incomplete = true
	}
}

// needBelow notes what the host must keep for a directory of the guest that is not pulled.
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

// needs reports whether something that was not done, or is not complete, still needs what the host has
// at a path.
func (p *planner) needs(rel string) bool {
	for at := rel; at != "."; at = path.Dir(at) {
		if p.needed[at] {
			return true
		}
	}
	for _, d := range p.renamed {
		if o := d.node.Origin.Path; (d.incomplete || d.left) && (rel == o || strings.HasPrefix(rel, o+"/")) {
			return true
		}
	}
	return false
}
