package reconcile

import (
	"bytes"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// baselineOf returns what both sides last agreed about a path, or nil for nothing: what is written
// down, or the origin of the row that is there, or of the row that was there and is elsewhere now, or
// what the guest sees of the host's elsewhere.
func (p *planner) baselineOf(a *item) *sqlvfs.Baseline {
	if b := p.base[a.path]; b != nil {
		return b
	}
	n := p.origins[a.path]
	if a.node != nil && a.node.Origin != nil && a.node.Origin.Path == a.path && a.node.Origin.Base == p.name {
		n = a.node
	}
	switch {
	case !p.sameTree:
		return nil
	case n != nil:
		return n.Baseline()
	case a.there != 0 && p.live(a.path):
		return &sqlvfs.Baseline{Mode: a.host.Mode, Fingerprint: a.now}
	}
	return nil
}

// guestChanged reports whether the guest has anything else at a path than when both sides agreed. A
// change of a row moves its change time, which nobody in the guest can set.
func (p *planner) guestChanged(a *item) bool {
	b, n := a.was, a.node
	return b == nil || n == nil || b.Row != n.Ino || b.RowCtime != n.Attr.Ctime ||
		kind(b.Mode) != kind(n.Attr.Mode) || b.Mode&0o7777 != 0 && (b.Mode^n.Attr.Mode)&modeBits != 0 || b.Size != n.Attr.Size || b.Mtime != n.Attr.Mtime
}

// hostChanged reports whether the host has anything else at a path than when both sides agreed.
func (p *planner) hostChanged(a *item) bool {
	b := a.was
	switch {
	case b == nil:
		return a.there != 0
	case a.there != kind(b.Mode):
		return true
	case a.there == unix.S_IFDIR:
		return b.Mode&0o7777 != 0 && (b.Mode^a.host.Mode)&0o7777 != 0
	case b.Fingerprint == a.now:
		return false
	}
	return b.Mode != a.host.Mode || p.hostWrote(a)
}

// hostWrote reports whether the host's content is another one than when both sides agreed.
func (p *planner) hostWrote(a *item) bool {
	b := a.was
	switch {
	case b == nil:
		return a.there != 0
	case b.Fingerprint == a.now:
		return false
	case b.Size != a.now.Size:
		return true
	case b.Hash == nil: // to write moves the modification time too, if nobody sets it back
		then := a.now
		then.Ctime = b.Ctime
		return then != b.Fingerprint
	}
	// It may have been touched only, or be a copy.
	host, err := p.hostContent(a)
	return err != nil || !host.hashes(p.ctx, b.Hash)
}

// guestWrote reports whether the guest's content is another one than when both sides agreed. Where only the
// guest changed something, a file whose time is another one counts as written, without a look at it.
func (p *planner) guestWrote(a *item) bool {
	b, n := a.was, a.node
	switch {
	case b == nil || n == nil || b.Row != n.Ino:
		return true
	case b.RowCtime == n.Attr.Ctime:
		return false
	case n.Attr.Size != b.Size:
		return true
	case n.Origin != nil && n.Origin.Limit == n.Attr.Size && !n.Holds && n.Origin.Fingerprint == b.Fingerprint:
		return false // all of it is the host's
	case b.Hash == nil:
		return true
	case a.attr.IsSymlink():
		return !bytes.Equal(hashOf(a.target), b.Hash)
	case b.Mtime != n.Attr.Mtime && a.now == b.Fingerprint:
		return true
	}
	guest, err := p.guestContent(a)
	return err != nil || !guest.hashes(p.ctx, b.Hash)
}

func sameObject(a, b *item) bool { return a.now.Dev == b.now.Dev && a.now.Ino == b.now.Ino }

// equal reports whether the host has exactly the guest's file, whatever their times.
func (p *planner) equal(a *item) (bool, error) {
	if a.there != kind(a.attr.Mode) || (a.host.Mode^a.attr.Mode)&modeBits != 0 || a.host.Size != a.attr.Size {
		return false, nil
	}
	return p.equalContent(a)
}
