package sync

import (
	"cmp"
	"fmt"
)

// A large file that both sides have changed, the guest in part, cannot be put together any more: the rest of
// the guest's version was in a version of the host's that is gone (see package fs, keep.go, for what is done
// before it comes to that). The two are never mixed. So not even the user's word brings it; what the guest
// wrote may be put beside, or given up.

// lost tells whether the rest of a file's content is gone.
func (p *planner) lost(a *item) bool {
	return a.node != nil && !a.whole && a.source != "" && !p.sourceThere(a)
}

// lostText says what there is of a file whose rest is gone; of any other, nothing.
func (p *planner) lostText(a *item) string {
	if !p.lost(a) {
		return ""
	}
	held := p.heldBytes(a)
	if held == 0 {
		return "its content was in " + p.report.errName(p.hostPath(a.source)) + " on the host, which is gone"
	}
	return fmt.Sprintf("%s: %d bytes of the guest's %d are in the database, the rest was in the host's version before",
		a.decision.Why(), held, a.attr.Size)
}

// why says why an item is in conflict.
func (p *planner) why(a *item) string { return cmp.Or(p.lostText(a), a.decision.Why()) }

// heldBytes is how much of a file's content the database holds.
func (p *planner) heldBytes(a *item) int64 {
	rows, err := p.store.Committed()
	if err != nil {
		return 0
	}
	defer rows.Close()
	chunks, err := rows.Held(a.node.Ino)
	if err != nil {
		return 0
	}
	return min(chunks*p.store.ChunkSize(), a.attr.Size)
}

// broken implements settler.
func (p *puller) broken(a *item) {
	p.report.conflict(p.hostPath(a.path), a.conflict+
		"; --force cannot bring it: --keep-both puts what there is beside it, and art reset gives it up")
}

// besideInPart has what the guest wrote of a file go beside the host's, each byte in its place.
func (p *puller) besideInPart(b *item) {
	p.report.note(p.hostPath(b.path), fmt.Sprintf("it has the %d bytes that the guest wrote, and zeros for the rest, which was in the host's version before", p.heldBytes(b)))
	b.source = ""
}
