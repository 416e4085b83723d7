package git

import (
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
)

// A stash is a list: refs/stash is its last element, and the others are in its reflog alone.

const stashRef = "refs/stash"

// stashChange is what becomes of the host's list.
type stashChange struct {
	was   value
	wasOK bool
	lines []logLine // none: it is deleted
}

// decideStash joins the lists of both sides. Where the host's is the one that the guest saw, it becomes the
// guest's, without what that has taken from it.
func (p *Plan) decideStash() error {
	h, hok := p.h.at(stashRef)
	g, gok := p.g.at(stashRef, p.h)
	hl, gl, own := p.logs.of(stashRef)
	if h == g && hok == gok && (!own || slices.Equal(hl, gl)) {
		return nil
	}
	refSame, guestSame := p.guest.Same(stashRef)
	logSame, _ := p.guest.Same("logs/" + stashRef)
	unmoved := refSame && logSame || !hok
	_, file := p.g.own[stashRef]
	if gok && guestSame && (file || !own) || !gok && !unmoved {
		return nil
	}
	lines := gl
	if !gok {
		lines = nil
	} else if len(lines) == 0 || lines[len(lines)-1].to != g.id {
		lines = append(slices.Clone(lines), logLine{to: g.id, rest: "art <art@localhost> 0 +0000\tart pull"})
	}
	if !unmoved {
		more := slices.DeleteFunc(slices.Clone(lines), func(l logLine) bool {
			return slices.ContainsFunc(hl, func(o logLine) bool { return o.to == l.to })
		})
		if len(more) == 0 {
			return nil
		}
		lines = append(slices.Clone(hl), more...)
	}
	var whole []logLine
	last := ID{}
	for _, l := range lines {
		if err := p.closure.add(l.to, plumbing.CommitObject); err != nil {
			if p.closure.ctx.Err() != nil {
				return err
			}
			continue
		}
		l.from, last = last, l.to
		whole = append(whole, l)
	}
	if len(whole) == 0 && gok {
		p.conflict("the guest's stash is damaged: the host's stays")
		return nil
	}
	p.stash = &stashChange{h, hok, whole}
	return nil
}
