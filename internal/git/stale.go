package git

import (
	"slices"
	"time"
)

// Once the guest has staged anything, its index is its own, while HEAD and the branch stay the host's until it
// commits. When the host makes a commit, the guest sees that under an index that lacks it, and git there takes what is
// lacking for what was staged. Nobody has staged it: such an index does not become the host's, and neither does a
// commit that was made from one.

// findStale finds out whether the host has made a commit, or switched to another branch, after the guest
// wrote its index: where the guest has no HEAD or no branch of its own, it shows the host's new one, which
// its index does not fit.
func (p *Plan) findStale() {
	co := &p.co
	wrote := p.guest.Changed("index")
	if at := p.guest.Changed("logs/HEAD"); at.After(wrote) {
		wrote = at
	}
	if wrote.IsZero() {
		return
	}
	host, guest, own := p.logs.of("HEAD")
	if own && len(guest) > 0 {
		last := guest[len(guest)-1]
		if last.to != co.gAt {
			co.stale, co.gAt = true, last.to
			return
		}
		if !changedBetween(host, last.when(), wrote.Unix()) {
			return // what the host has had checked out since then, the guest has not written its index upon
		}
	}
	_, hasBranch := p.g.own[co.g.sym]
	hasHead := !p.guest.Changed("HEAD").IsZero()
	co.stale = !hasHead && p.movedAfter("HEAD", wrote) || !hasBranch && co.g.sym != "" && p.movedAfter(co.g.sym, wrote)
}

// changedBetween reports whether a log tells of a change between two times, in seconds since 1970, or in one of these seconds.
func changedBetween(lines []logLine, from, to int64) bool {
	return slices.ContainsFunc(lines, func(l logLine) bool { return from <= l.when() && l.when() <= to })
}

// movedAfter reports whether the host's HEAD, or the branch that it is on, has become another one after a time.
func (p *Plan) movedAfter(name string, when time.Time) bool {
	if at, err := p.host.changed(name); err == nil {
		return at.After(when)
	}
	lines, _, _ := p.logs.of("HEAD")
	return len(lines) > 0 && lines[len(lines)-1].when() > when.Unix()
}

// findOlder finds out whether the guest has made its index from one of the host's that was older than the commit it
// has staged or committed something upon, however late it did that: then the index lacks what the host has
// committed since.
func (p *Plan) findOlder() error {
	const tick = 10 * time.Millisecond // a file's times are as old as the last tick of the kernel's clock
	co := &p.co
	since, known := p.guest.Since("index")
	if hostSame, _ := p.guest.Same("index"); !known || hostSame || !co.own || co.bad != "" || co.stale || co.hAt.IsZero() {
		return nil
	}
	committed := co.gAt != co.hAt
	if committed && !p.commitsUpon(co.hAt) {
		return nil // it is on something else, which is compared as a whole
	}
	moved := func(name string) bool {
		at, err := p.host.changed(name)
		if err == nil {
			return at.After(since.Add(-tick))
		}
		lines, _, _ := p.logs.of("HEAD")
		return len(lines) == 0 || lines[len(lines)-1].when() >= since.Unix()
	}
	if !since.IsZero() && !moved("HEAD") && (co.h.sym == "" || !moved(co.h.sym)) {
		return nil
	}
	now, err := p.objects.filesOf(co.hAt)
	if err != nil {
		return ignoreDamage(err)
	}
	was, err := p.objects.filesOf(p.checkedOutAt(since)[0])
	if ignoreDamage(err) != nil {
		return err
	}
	lacks, stale := p.lacksChange(was, now) // without that commit, of all that there is
	if co.stale = stale; stale && committed {
		co.undoes = lacks
	}
	return nil
}

// commitsUpon reports whether the guest's commits on the branch that both have checked out follow one of the host's. The
// host's log may have the first of them, from a pull that brought these under another name.
func (p *Plan) commitsUpon(id ID) bool {
	host, guest, own := p.logs.of("HEAD")
	more := lacks(host, guest)
	if !own || p.co.g != p.co.h || len(more) == 0 {
		return false
	}
	at := slices.Index(guest, more[0])
	for at > 0 && guest[at].from != id && guest[at-1].to == guest[at].from {
		at--
	}
	if guest[at].from != id {
		return false
	}
	forward, err := p.objects.isAncestor(id, p.co.gAt)
	return forward && err == nil
}

// checkedOutAt returns the commit that the host had checked out before a time, in whole seconds, and those that it has
// checked out in that second, but for the one that it has now.
func (p *Plan) checkedOutAt(when time.Time) []ID {
	lines, _, _ := p.logs.of("HEAD")
	of := []ID{{}}
	if len(lines) == 0 {
		return of
	}
	of[0] = lines[0].from
	for _, l := range lines[:len(lines)-1] {
		switch {
		case l.when() > when.Unix():
			return of
		case l.when() == when.Unix():
			of = append(of, l.to)
		case len(of) == 1:
			of[0] = l.to
		}
	}
	return of
}

// filesOf returns the files of a commit; zero is none.
func (o *objects) filesOf(commit ID) (map[string]treeEntry, error) {
	files, left := map[string]treeEntry{}, maxPaths
	if commit.IsZero() {
		return files, nil
	}
	c, err := o.commit(commit)
	if err != nil {
		return files, err
	}
	return files, o.flatten(c.tree, "", files, &left)
}

// lacksChange returns the first path of which the guest's index has not what the host has now, though that was
// something else.
func (p *Plan) lacksChange(was, now map[string]treeEntry) (at string, lacks bool) {
	changed := map[string]bool{} // and whether the guest's index has it
	for name, e := range now {
		if was[name].id != e.id || was[name].mode != e.mode {
			changed[name] = false
		}
	}
	for name := range was {
		if _, ok := now[name]; !ok {
			changed[name] = true // until it is found there
		}
	}
	for i := range p.co.gIndex {
		e := &p.co.gIndex[i]
		if _, ok := changed[e.name]; ok {
			t, ok := now[e.name]
			changed[e.name] = ok && e.stage == 0 && e.id == t.id && e.mode == t.mode
		}
	}
	for name, has := range changed {
		if !has && (!lacks || name < at) {
			at, lacks = name, true
		}
	}
	return at, lacks
}
