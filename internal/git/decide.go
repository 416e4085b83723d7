package git

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// moved reports which sides have moved a reference since both had the same.
func (p *Plan) moved(name string, h, g value, hok, gok bool) (host, guest bool) {
	hostSame, guestSame := p.guest.Same(name)
	hl, gl, own := p.logs.of(name)
	if sum := p.guest.Brought(name); sum != nil && hok && gok { // the reflog of the guest has gone back too, and does not tell
		return !bytes.Equal(sum, sumOf(h.id)), !bytes.Equal(sum, sumOf(g.id))
	}
	host, guest = true, true
	_, file := p.h.loose[name]
	switch seen, known := seenLast(hl, gl, h.id); {
	case hostSame && (file || !hok):
		host = false
	case known && own:
		host = !seen || !gok || !cameFrom(gl, h.id) // what the guest deletes has no log any more
	case hok && !file:
		host = !p.packedBefore(name) && (gok || !p.removedLog(name))
	}
	_, own = p.g.own[name]
	switch seen, known := seenLast(gl, hl, g.id); {
	case guestSame && own:
		guest = false
	case known && gok:
		guest = !seen
	}
	if gok && !hok && !own && p.g.packed != nil && !p.packedBefore(name) { // the host has removed it, or never had it
		host = !p.madeByGuest(name)
		guest = !host
	}
	if host && guest && gok && !own {
		// It was packed, which says nothing; what it leads to is not new.
		there, err := p.objects.onHost(g.id)
		guest = !there || err != nil
	}
	return host, guest
}

// packedBefore reports whether the guest saw the host's packed-refs as it is: it was so already when the
// guest changed the reference, or when it replaced the file by one of its own.
func (p *Plan) packedBefore(name string) bool {
	if p.g.packed != nil {
		same, _ := p.guest.Same("packed-refs")
		return same
	}
	const tick = 10 * time.Millisecond // a file's times are as old as the last tick of the kernel's clock
	packed, err := p.host.changed("packed-refs")
	return err == nil && packed.Add(tick).Before(p.guest.Changed(name))
}

// removedLog reports whether the guest has removed the reflog that the host has, as it does with the reference.
func (p *Plan) removedLog(name string) bool {
	hl, _, own := p.logs.of(name)
	host, guest := p.guest.Same("logs/" + name)
	return host && !guest && !own && len(hl) > 0
}

// madeByGuest reports whether a reference that only the guest's packed-refs has may be its own. Git logs what branches become; of a tag
// that it has made, no more is left than the directory that it was in.
func (p *Plan) madeByGuest(name string) bool {
	log := "logs/" + name
	_, lines, own := p.logs.of(name)
	if !own {
		return strings.HasPrefix(name, "refs/tags/") && !p.guest.Changed("refs/tags").IsZero()
	}
	since, known := p.guest.Since(log)
	return !known || since.IsZero() || len(lines) > 0 && lines[len(lines)-1].when() >= since.Unix()
}

// decide decides about all references but that of the stash.
func (p *Plan) decide() error {
	names := map[string]bool{}
	for _, m := range []map[string]value{p.h.loose, p.h.packed, p.g.own, p.g.packed} {
		for name := range m {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !ours(name) {
			if _, own := p.g.own[name]; own && strings.HasPrefix(name, "refs/replace/") {
				p.note(name + " stays out: it would have git show other content")
			}
			continue
		}
		if err := p.decideRef(name); err != nil {
			return err
		}
	}
	if err := p.decideGone(); err != nil {
		return err
	}
	slices.SortFunc(p.Refs, func(a, b RefChange) int { // what goes makes way for what comes
		if a.Deleted() == b.Deleted() {
			return cmp.Compare(a.Name, b.Name)
		} else if a.Deleted() {
			return -1
		}
		return 1
	})
	return nil
}

func (p *Plan) decideRef(name string) error {
	h, hok := p.h.at(name)
	g, gok := p.g.at(name, p.h)
	if h == g && hok == gok {
		return nil
	}
	if h.sym != "" || g.sym != "" {
		if !hok && g.sym != "" && strings.HasPrefix(g.sym, "refs/remotes/") {
			p.Refs = append(p.Refs, RefChange{Name: name, sym: g.sym})
		}
		return nil // whatever it leads to comes by its own name
	}
	c := RefChange{Name: name, Old: h.id, New: g.id, was: h}
	host, guest := p.moved(name, h, g, hok, gok)
	if gok && !guest { // what the host does not have comes over in any case
		there, err := p.objects.onHost(g.id)
		if err != nil {
			return err
		}
		host, guest = host || !there, !there
	}
	switch {
	case !gok:
		if p.elsewhere[name] == "" && (p.force || !host) {
			p.gone = append(p.gone, c)
		}
		return nil
	case !guest:
		return nil
	case p.force:
		c.Rewound = hok
	case hok && host && strings.HasPrefix(name, "refs/tags/"): // nobody expects a tag to go forward
		p.aside = append(p.aside, aside{c, "both sides have set it"})
		return nil
	case hok && host:
		older, err := p.objects.isAncestor(g.id, h.id)
		if err != nil {
			return err
		} else if older {
			back, err := p.wentBack(name, h.id, g.id)
			if back && err == nil {
				p.staysBehind(c)
			}
			return err
		}
		forward, err := p.objects.isAncestor(h.id, g.id)
		if err != nil {
			return err
		}
		if !forward {
			p.aside = append(p.aside, aside{c, "both sides have moved it"})
			return nil
		}
	case hok:
		forward, err := p.objects.isAncestor(h.id, g.id)
		if err != nil {
			return err
		}
		if c.Rewound = !forward; c.Rewound {
			if may, err := p.mayMove(name, h, g.id); err != nil {
				return err
			} else if !may {
				return p.decideUnseen(c)
			}
		}
	}
	if use := p.elsewhere[name]; use != "" && hok && !p.force {
		p.aside = append(p.aside, aside{c, use})
		return nil
	}
	if hok && !p.force && name != p.co.h.sym { // that one is decided with the index
		if lost, err := p.takesBack(c); err != nil {
			return err
		} else if lost != "" {
			p.aside = append(p.aside, aside{c, olderIndex + lost})
			return nil
		}
	}
	return p.adopt(c)
}

// decideUnseen decides about a branch that only the guest has moved, to where the host's commits are not, and of whose reflog these are no
// part. Where it has gone back behind them, there is nothing of its own to come.
func (p *Plan) decideUnseen(c RefChange) error {
	older, err := p.objects.isAncestor(c.New, c.Old)
	if err != nil {
		return err
	}
	if !older {
		p.aside = append(p.aside, aside{c, "the guest does not have the host's commits"})
		return nil
	}
	p.staysBehind(c)
	return nil
}

// staysBehind has a branch at which the guest has gone back stay on both sides.
func (p *Plan) staysBehind(c RefChange) {
	p.back[c.Name], p.pinned[c.Name] = true, true
	p.conflict(fmt.Sprintf("%s: the guest has gone back to %s, behind the host's commits: the host's stays; art pull --force has it go back too", short(c.Name), abbreviated(c.New)))
}

// wentBack reports whether a branch at which the guest is behind the host is there because the guest has left later
// commits, and not because the host alone has gone on.
func (p *Plan) wentBack(name string, host, guest ID) (bool, error) {
	if !strings.HasPrefix(name, "refs/heads/") {
		return false, nil
	}
	hl, gl, own := p.logs.of(name)
	if sum := p.guest.Brought(name); sum != nil {
		i := slices.IndexFunc(hl, func(l logLine) bool { return bytes.Equal(sum, sumOf(l.to)) })
		if i < 0 {
			return true, nil
		}
		return p.objects.isAncestor(guest, hl[i].to)
	}
	if !own || len(gl) == 0 || gl[len(gl)-1].to != guest || gl[len(gl)-1].from.IsZero() {
		return false, nil
	}
	from := gl[len(gl)-1].from
	back, err := p.objects.isAncestor(guest, from)
	if !back || err != nil {
		return false, err
	}
	return p.objects.isAncestor(from, host)
}

// adopt adds a change, if all that the new value refers to is there.
func (p *Plan) adopt(c RefChange) error {
	kind := plumbing.AnyObject
	if strings.HasPrefix(c.Name, "refs/heads/") {
		kind = plumbing.CommitObject
	}
	if err := p.closure.add(c.New, kind); err != nil {
		if p.closure.ctx.Err() != nil {
			return err
		}
		p.leave(fmt.Sprintf("%s stays as it is: the guest's repository is damaged: %v", c.Name, err))
		p.broken[c.Name] = true
		return nil
	}
	if kind == plumbing.CommitObject { // what the host has was not looked at
		if _, err := p.objects.commit(c.New); err != nil {
			p.pinned[c.Name] = true
			p.conflict(short(c.Name) + " of the guest is no commit: it is left out")
			return ignoreDamage(err)
		}
	}
	p.Refs = append(p.Refs, c)
	return nil
}

// decideGone decides about references that the guest has deleted. Where nothing else holds what one leads to, it
// stays.
func (p *Plan) decideGone() error {
	held, err := p.heldElsewhere()
	if err != nil {
		return err
	}
	for _, c := range p.gone {
		if !p.force && !held[c.Name] {
			how := "git update-ref -d "
			switch {
			case strings.HasPrefix(c.Name, "refs/heads/"):
				how = "git branch -D "
			case strings.HasPrefix(c.Name, "refs/tags/"):
				how = "git tag -d "
			}
			p.conflict(fmt.Sprintf("the guest has deleted %s, whose commits nothing else holds: it stays; %s deletes it", short(c.Name), how+short(c.Name)))
			continue
		}
		c.New = ID{}
		p.Refs = append(p.Refs, c)
	}
	return nil
}

// heldElsewhere reports which of the references that the guest has deleted lead to what other references reach without all of
// them. Reflogs do not count: that of HEAD has the guest's lines since these were pulled, they expire, and nobody looks there.
func (p *Plan) heldElsewhere() (map[string]bool, error) {
	held := map[string]bool{}
	if len(p.gone) == 0 || p.force {
		return held, nil
	}
	final := map[string]ID{"HEAD": p.co.h.id}
	for _, m := range []map[string]value{p.h.packed, p.h.loose} {
		for name, v := range m {
			final[name] = v.id
		}
	}
	for _, c := range p.Refs {
		final[c.Name] = c.New
	}
	targets := map[ID]bool{}
	for _, c := range p.gone {
		delete(final, c.Name)
		targets[p.objects.peel(c.Old)] = true
	}
	tips := map[ID]bool{}
	for _, id := range final {
		if !tips[id] {
			tips[id] = true
			tips[p.objects.peel(id)] = true
		}
	}
	reached, err := p.objects.reached(targets, slices.Collect(maps.Keys(tips)))
	for _, c := range p.gone {
		held[c.Name] = reached[p.objects.peel(c.Old)]
	}
	return held, err
}

// aside is a reference that is to come under another name, and why.
type aside struct {
	change RefChange
	why    string
}

// divert brings a reference that cannot have its name under another: one that nothing has, or that leads to it.
func (p *Plan) divert(c RefChange, why string) error {
	for i := range 100 {
		suffix := ".art"
		if i > 0 {
			suffix += strconv.Itoa(i + 1)
		}
		at := RefChange{Name: p.names.aside(c.Name, suffix), New: c.New, For: c.Name}
		if p.names.inTheWay(at.Name) != "" {
			continue
		}
		at.was, _ = p.h.at(at.Name)
		at.Old = at.was.id
		is := at.Old
		planned, taken := p.change(at.Name)
		if taken {
			is = planned.New
		}
		free, there, err := p.leadsTo(is, c.New)
		if err != nil {
			return err
		}
		if !free && !there || taken && is.IsZero() {
			continue
		}
		if !there {
			p.drop(at.Name)
			n := len(p.Refs)
			if err := p.adopt(at); err != nil || len(p.Refs) == n {
				return err
			}
			p.names.add(at.Name)
		}
		p.diverted[c.Name] = at.Name
		merge := ""
		switch {
		case p.co.undoes != "" && c.Name == p.co.h.sym, strings.HasPrefix(why, olderIndex):
			merge = "; git diff " + short(c.Name) + " " + short(at.Name) + " shows what it would take back"
		case strings.HasPrefix(c.Name, "refs/heads/"):
			merge = "; git merge " + short(at.Name) + " joins them"
		}
		text := fmt.Sprintf("%s: %s: the guest's is %s%s", short(c.Name), why, short(at.Name), merge)
		if p.keepBoth {
			p.note(text)
		} else {
			p.conflict(text)
		}
		return nil
	}
	p.pinned[c.Name] = true
	p.conflict(short(c.Name) + ": " + why + ", and there is no name left for the guest's: it stays there")
	return nil
}

func ignoreDamage(err error) error {
	if Damaged(err) {
		return nil
	}
	return err
}

// Damaged reports whether an error is of an object that is missing, damaged or larger than what is read.
func Damaged(err error) bool {
	return errors.Is(err, errMissing) || errors.Is(err, errDamaged) || errors.Is(err, errLarge)
}

// String tells a commit as git log --oneline does.
func (c Commit) String() string { return abbreviated(c.ID) + " " + c.Subject }
