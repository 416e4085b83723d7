package git

import "slices"

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
