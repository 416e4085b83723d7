package git

import (
	"slices"
	"strings"
)

// Where the guest has switched to another branch, HEAD and the index are its own. They fit the host if that has still checked out what the
// guest went away from: else the files that the host has committed since would be left, as changes that nobody made.

const hostOn = "the host has moved on"

// hostWentOn reports whether the host has checked out a commit that the guest has neither seen nor joined to its own.
func (p *Plan) hostWentOn() bool {
	_, guest, own := p.logs.of("HEAD")
	at := p.co.hAt
	if !own || len(guest) == 0 || at.IsZero() || slices.ContainsFunc(guest, func(l logLine) bool { return l.from == at || l.to == at }) {
		return false
	}
	joined, err := p.objects.isAncestor(at, p.co.gAt)
	return !joined || err != nil
}

// hostCameBack reports whether the host is on the branch again that it went away from first after the guest had a HEAD of its own: git
// has written the file of HEAD anew, and it says the same.
func (p *Plan) hostCameBack() bool {
	host, guest, own := p.logs.of("HEAD")
	if !own || len(guest) == 0 {
		return false
	}
	is := strings.TrimPrefix(p.co.h.sym, "refs/heads/")
	if is == "" {
		is = p.co.h.id.String()
	}
	for _, l := range lacks(guest, host) {
		_, what, _ := strings.Cut(l.rest, "\t")
		if way, ok := strings.CutPrefix(what, "checkout: moving from "); ok {
			from, _, _ := strings.Cut(way, " to ")
			return from == is
		}
	}
	return false
}
