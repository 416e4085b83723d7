package git

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// Where the host's HEAD and index stay, the guest's come as commits, and then it sees the host's: its branch under
// another name, and what it has staged as one more commit upon that. What cannot become a commit, because it is not
// merged, for example, stays in the guest.

// keepHead brings what the guest has checked out beside what the host has, which stays; why says for what reason. quiet:
// the reason was reported, or there is none.
func (p *Plan) keepHead(why string, quiet bool) error {
	p.HeadStays = true
	stays, tip, err := p.commitIndex()
	if err != nil {
		return err
	}
	if stays != "" {
		p.Kept, quiet = true, true
		p.conflict(fmt.Sprintf("%s: the guest %s, which stays there: end it there, and pull again", why, stays))
	}
	staged := tip != p.co.gAt
	about := why
	if staged {
		about += ", and what the guest has staged comes as a commit"
	}
	name, diverted := p.co.g.sym, false
	if name == "" {
		name, about = "refs/heads/detached", "the guest is on no branch"
	}
	if c, changed := p.change(p.co.h.sym); changed && p.co.h.sym != "" {
		p.drop(c.Name)
		if c.Name == name && !c.Deleted() {
			// The index may have been made from a commit of another branch.
			if diverted, err = p.objects.isAncestor(c.New, tip); err != nil {
				return err
			} else if diverted {
				c.New = tip
			}
		}
		if diverted || !c.Deleted() {
			c.Rewound = false
			reason := why
			if diverted {
				reason = about
			}
			if err := p.divert(c, reason); err != nil {
				return err
			}
		}
		quiet = true
	}
	switch {
	case diverted:
		return nil
	case staged, (p.co.g.sym == "" || p.co.stale) && !p.hasOrBrings(p.co.gAt):
		return p.divert(RefChange{Name: name, New: tip}, about)
	case !quiet:
		p.conflict(why + ": its branch and its index stay")
	}
	return nil
}

// drop takes a reference out of the plan.
func (p *Plan) drop(name string) {
	p.Refs = slices.DeleteFunc(p.Refs, func(c RefChange) bool { return c.Name == name })
}

// hasOrBrings reports whether the host has an object, or will have it.
func (p *Plan) hasOrBrings(id ID) bool {
	there, err := p.objects.onHost(id)
	return err != nil || there || p.closure.done[id]
}

// commitIndex makes a commit of what the guest has staged, upon the one that it has checked out. Without anything
// staged it is that one. stays says what the guest is in the middle of, if it cannot come.
func (p *Plan) commitIndex() (stays string, tip ID, err error) {
	co := &p.co
	for _, s := range inProgress {
		if there, own := p.guestHas(s.name); there && own {
			if _, same := p.guest.Same(s.name); !same {
				return "is in the middle of " + s.what, co.gAt, nil
			}
		}
	}
	if _, same := p.guest.Same("index"); !co.own || same {
		return "", co.gAt, nil
	}
	if co.bad != "" {
		return "has an index that cannot be read", co.gAt, nil
	}
	if slices.ContainsFunc(co.gIndex, func(e indexEntry) bool { return e.stage != 0 }) {
		return "has files that are not merged", co.gAt, nil
	}
	tree := p.objects.makeTree(co.gIndex)
	upon, known := p.indexBase(tree)
	if known {
		return "", co.gAt, nil
	}
	id := p.objects.makeCommit(tree, upon, p.guest.Changed("index").Unix())
	if err := p.closure.add(id, plumbing.CommitObject); err != nil {
		return "has an index whose files are damaged: " + err.Error(), co.gAt, p.closure.ctx.Err()
	}
	return "", id, nil
}

// indexBase returns the commit that the guest's index was made from. known: it holds a commit's tree, and nothing
// else is staged in it.
func (p *Plan) indexBase(tree ID) (upon ID, known bool) {
	const last = 20 // lines of the host's reflog
	co := &p.co
	upon = co.gAt
	lines, _, own := p.logs.of("HEAD")
	if co.stale && !own && len(lines) > 0 {
		since, known := p.guest.Since("index")
		if !known {
			since = p.guest.Changed("index")
		}
		upon = p.nearest(p.checkedOutAt(since))
	}
	of := []ID{upon, co.gAt, co.hAt}
	for _, l := range lines[max(0, len(lines)-last):] {
		of = append(of, l.from, l.to)
	}
	for _, id := range of {
		if c, err := p.objects.commit(id); err == nil && c.tree == tree {
			return upon, true
		}
	}
	return upon, upon.IsZero() && len(co.gIndex) == 0
}

// nearest returns the first of those commits from which the guest's index differs least.
func (p *Plan) nearest(commits []ID) (nearest ID) {
	best := math.MaxInt
	for _, id := range commits {
		files, err := p.objects.filesOf(id)
		if err != nil {
			continue
		}
		n := len(files)
		for j := range p.co.gIndex {
			e := &p.co.gIndex[j]
			t, ok := files[e.name]
			switch {
			case !ok || e.stage != 0:
				n++
			case t.id == e.id && t.mode == e.mode:
				n--
			}
		}
		if n < best {
			nearest, best = id, n
		}
	}
	return nearest
}

// makeTree makes the trees of an index.
func (o *objects) makeTree(list []indexEntry) ID {
	var b strings.Builder
	for len(list) > 0 {
		e := &list[0]
		n := 1
		name, _, isDir := strings.Cut(e.name, "/")
		mode, id := e.mode, e.id
		switch {
		case isDir:
			for n < len(list) && strings.HasPrefix(list[n].name, name+"/") {
				n++
			}
			below := slices.Clone(list[:n])
			for i := range below {
				below[i].name = below[i].name[len(name)+1:]
			}
			mode, id = filemode.Dir, o.makeTree(below)
		case e.intent:
			name = ""
		}
		if name != "" && (!isDir || id != emptyTree) {
			fmt.Fprintf(&b, "%o %s\x00%s", uint32(mode), name, id[:])
		}
		list = list[n:]
	}
	return o.make(plumbing.TreeObject, b.String())
}

// emptyTree is one without entries.
var emptyTree = plumbing.ComputeHash(plumbing.TreeObject, nil)

// makeCommit makes a commit of what is staged. It is the same one each time.
func (o *objects) makeCommit(tree, parent ID, when int64) ID {
	var b strings.Builder
	fmt.Fprintf(&b, "tree %s\n", tree)
	if !parent.IsZero() {
		fmt.Fprintf(&b, "parent %s\n", parent)
	}
	for _, who := range []string{"author", "committer"} {
		fmt.Fprintf(&b, "%s art <art@localhost> %d +0000\n", who, max(when, 0))
	}
	b.WriteString("\nWhat the guest has staged\n")
	return o.make(plumbing.CommitObject, b.String())
}

// make makes an object that neither side has as yet.
func (o *objects) make(kind plumbing.ObjectType, data string) ID {
	id := plumbing.ComputeHash(kind, []byte(data))
	o.made[id] = object{kind, []byte(data)}
	return id
}

// decideKept finds out which references stay in the guest: those that what stays there is on, and those that are
// none of the host's.
func (p *Plan) decideKept() {
	on := []string{}
	if p.Kept {
		on = append(on, p.co.g.sym)
	}
	for name := range p.foreign {
		data, _ := readGuest(p.guest, "worktrees/"+name+"/HEAD", maxRef)
		if v, ok := parseRef(data); ok {
			on = append(on, v.sym)
		}
	}
	for name := range p.g.own {
		if !ours(name) && name != stashRef {
			on = append(on, name)
		}
	}
	for _, name := range append(on, p.g.bad...) {
		if name != "" {
			p.pinned[name] = true
		}
	}
}
