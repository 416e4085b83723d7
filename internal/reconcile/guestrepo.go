package reconcile

import (
	"io/fs"
	"path"
	"time"

	"github.com/riverlytech/art/internal/git"
	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/sqlvfs"
)

// guestRepo is a git directory of the guest (package git).
type guestRepo struct {
	p   *planner
	dir string
}

func (g *guestRepo) at(rel string) string { return path.Join(g.dir, rel) }

func (g *guestRepo) List(rel string) (l git.Listing, err error) {
	n, from := g.p.guestAt(g.at(rel))
	switch {
	case n == nil && from == "":
		return l, fs.ErrNotExist
	case n == nil:
		return l, nil
	case !n.Attr.IsDir():
		return l, fs.ErrNotExist
	}
	for _, e := range n.Children {
		if c := g.p.tree.Node(e.Ino); c.Attr.IsDir() || c.Attr.IsRegular() {
			l.Own = append(l.Own, git.Entry{Name: e.Name, Dir: c.Attr.IsDir()})
		} else {
			l.Hidden = append(l.Hidden, e.Name)
		}
	}
	l.Hidden = append(l.Hidden, n.Whiteouts...)
	l.Opaque = n.Origin == nil || n.Origin.Base != g.p.name || n.Origin.Path != g.at(rel)
	return l, nil
}

func (g *guestRepo) Open(rel string) (git.File, error) {
	n, _ := g.p.guestAt(g.at(rel))
	if n == nil || !n.Attr.IsRegular() {
		return nil, fs.ErrNotExist
	}
	return g.p.rowContent(n)
}

func (g *guestRepo) Same(rel string) (host, guest bool) {
	at := g.at(rel)
	n, from := g.p.guestAt(at)
	if n == nil && from == at {
		return true, true
	}
	b := g.p.baselineOf(&item{path: at, node: n})
	st, err := g.p.host.stat(at)
	there := err == nil
	if b == nil {
		return !there, n == nil
	}
	return there && hostfs.Fingerprint(&st) == b.Fingerprint, n != nil && b.Row == n.Ino && b.RowCtime == n.Attr.Ctime
}

func (g *guestRepo) Changed(rel string) time.Time {
	n, _ := g.p.guestAt(g.at(rel))
	if n == nil {
		return time.Time{}
	}
	return time.Unix(n.Attr.Ctime.Sec, int64(n.Attr.Ctime.Nsec))
}

// Since is known of a database that holds all of the workspace, too: what the guest has no row of there, it sees of the host's
// as elsewhere.
func (g *guestRepo) Since(rel string) (until time.Time, known bool) {
	at := g.at(rel)
	n, _ := g.p.guestAt(at)
	if !g.p.sameTree { // it has seen another directory
		return until, false
	}
	b := g.p.baselineOf(&item{path: at, node: n})
	if b == nil {
		return until, true
	}
	until = seenUntil(b)
	return until, !until.IsZero() || b.Row == 0
}

func (g *guestRepo) Brought(rel string) []byte {
	if b := g.p.base[g.at(rel)]; b != nil && b.Row == 0 && b.RowCtime == (sqlvfs.Timespec{}) { // as [puller.notePulledRepo] has written it
		return b.Hash
	}
	return nil
}

// seenUntil returns until when the guest saw what the host had: both may have agreed later than the guest's row was
// written, when a pull made the host's the same; and a row that a push wrote has the time of the host's, at which the branch
// was about to move. Of what a pull has outdated, that is written down in place of the time of the host's.
func seenUntil(b *sqlvfs.Baseline) (until time.Time) {
	const together = 20 * time.Millisecond // a branch is put in place right after the index
	at := func(t sqlvfs.Timespec) time.Time {
		if t == (sqlvfs.Timespec{}) {
			return time.Time{}
		}
		return time.Unix(t.Sec, int64(t.Nsec))
	}
	row, host := at(b.RowCtime), at(b.Ctime)
	switch outdated := b.Row != 0 && b.Ino == 0; {
	case outdated, row.IsZero(): // the row is older than the host's, or nobody knows
		return host
	case !host.Before(row):
		return host.Add(together)
	}
	return row
}
