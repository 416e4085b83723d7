package git

import "slices"

// The host's HEAD may lead to another branch for a while, where the guest has none of its own: what the guest commits then
// is upon that branch, with the files of the one before. So such a commit takes back what is on that branch alone.

const olderIndex = "the guest has committed from an index older than the host's commits, which takes back "

// takesBack returns a file of the host's that a branch lacks only since the guest committed upon it from an index
// of another commit, or nothing. The guest's reflog of HEAD tells: a line there does not go on from the one before.
func (p *Plan) takesBack(c RefChange) (string, error) {
	host, guest, own := p.logs.of("HEAD")
	if !own {
		return "", nil
	}
	more := lacks(host, guest)
	for i, l := range more {
		if slices.ContainsFunc(more[i:], func(o logLine) bool { return o.to == l.from }) {
			continue // the guest has taken it back itself
		}
		was := p.madeFrom(guest, slices.Index(guest, l), i == 0)
		if made, err := p.objects.commit(l.to); was.IsZero() || was == l.from || err != nil || len(made.parents) == 0 || made.parents[0] != l.from {
			continue // it is upon what the index was made from, or is no commit
		}
		if on, err := p.objects.isAncestor(l.from, c.New); err != nil {
			return "", err
		} else if !on {
			continue
		}
		if lost, err := p.lost(was, l.from, l.to, c.New); lost != "" || err != nil {
			return lost, err
		}
	}
	return "", nil
}

// madeFrom returns the commit that the guest's index was made from at a line of its reflog of HEAD; zero is unknown. At the first of its own
// that is what the host had checked out when the guest last saw its index.
func (p *Plan) madeFrom(log []logLine, at int, first bool) ID {
	if since, known := p.guest.Since("index"); first && known {
		if since.IsZero() {
			return ID{}
		}
		return p.checkedOutAt(since)[0]
	}
	if at == 0 {
		return ID{}
	}
	return log[at-1].to
}

// lost returns the first path that became another one from a commit to the next, is what it was in a third, and has not come back in
// a fourth.
func (p *Plan) lost(was, now, then, last ID) (first string, err error) {
	var of [4]map[string]treeEntry
	for i, id := range [...]ID{was, now, then, last} {
		if of[i], err = p.objects.filesOf(id); err != nil {
			return "", ignoreDamage(err)
		}
	}
	for _, names := range of[:2] {
		for at := range names {
			same := func(a, b int) bool { return of[a][at].id == of[b][at].id && of[a][at].mode == of[b][at].mode }
			if (first == "" || at < first) && !same(0, 1) && same(0, 2) && !same(3, 1) {
				first = at
			}
		}
	}
	return first, nil
}
