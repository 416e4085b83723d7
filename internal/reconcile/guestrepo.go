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

func (g *guestRepo) Since(rel string) (until time.Time, known bool) {
	at := g.at(rel)
	n, _ := g.p.guestAt(at)
	if !g.p.sameTree || g.p.whole { // the guest has seen what it was given, and not the host's
		return until, false
	}
	if b := g.p.baselineOf(&item{path: at, node: n}); b != nil {
		when := b.RowCtime
		if when == (sqlvfs.Timespec{}) { // the host's is older than that
			when = b.Ctime
		}
		until = time.Unix(when.Sec, int64(when.Nsec))
	}
	return until, true
}
