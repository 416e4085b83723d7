package reconcile

import (
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/git"
	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/sqlvfs"
)

// absorb has the guest see the host's of what has come to the host's repositories: git's files of the guest that hold
// it go. In a database that is to be whole without the host they stay until the next push replaces them.
func (p *puller) absorb() error {
	w, _, err := workspaceOf(p.store, p.name)
	if err != nil {
		return err
	}
	w.Whole = w.Whole || p.session != nil
	for _, r := range p.sortedRepos() {
		if !r.done {
			continue
		}
		if r.on != nil {
			if err := r.absorbExternal(p.session); err != nil {
				return err
			}
		} else if n, _ := p.guestAt(r.dir); n == nil {
			continue
		} else if err := p.absorbDir(r.dir, n, w.Whole,
			func(rel string) git.Share { return r.plan.Obsolete(strings.TrimPrefix(rel, r.dir+"/")) },
			func(rel string) bool { return r.plan.Agreed(strings.TrimPrefix(rel, r.dir+"/")) }); err != nil {
			return err
		} else if err := p.notePulledRepo(r); err != nil {
			return err
		}
		if r.plan.Kept {
			continue // these files are a part of what stays
		}
		for _, rel := range r.skipped {
			dir, _ := p.guestAt(path.Dir(rel))
			if dir == nil {
				continue
			}
			if err := p.absorbDir(path.Dir(rel), dir, w.Whole, func(at string) git.Share {
				if at == rel {
					return git.All
				}
				return git.None
			}, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// absorbDir has the guest see the host's of what was pulled of a directory. agreed reports of git's own files
// whether the host has the guest's by now; nil: they are none of these, and have come in a commit that the host has
// not checked out.
func (p *puller) absorbDir(rel string, n *sqlvfs.Node, whole bool, shareOf func(string) git.Share, agreed func(string) bool) error {
	var names []string
	hidden := n.Whiteouts
	if p.session != nil && agreed == nil {
		hidden = nil // the session is on its branch still, which does not have them
	}
	for _, name := range hidden {
		if shareOf(join(rel, name)) != git.None && (!whole || p.tree.Child(n, name) == nil) {
			names = append(names, name)
		}
	}
	for _, e := range n.Children {
		at, c := join(rel, e.Name), p.tree.Node(e.Ino)
		switch share := shareOf(at); {
		case share == git.None:
		case share == git.All && !whole:
			names = append(names, e.Name)
		case c.Attr.IsDir():
			if err := p.absorbDir(at, c, whole, shareOf, agreed); err != nil {
				return err
			}
			if err := p.reveal(c, at); err != nil {
				return err
			}
		case p.session != nil && agreed != nil:
			p.same(at, c, agreed)
		default:
			p.outdate(at, c, agreed != nil && agreed(at))
		}
	}
	return p.rows().with(n.Ino, func(tx *sqlvfs.Tx, dir *sqlvfs.Inode) error {
		for _, name := range names {
			if _, err := p.uncover(tx, dir, name, join(rel, name)); err != nil {
				return err
			}
		}
		return nil
	})
}

// reveal has the guest see what the host has in a directory beside what is left of its own.
func (p *puller) reveal(n *sqlvfs.Node, at string) error {
	st, err := p.host.stat(at)
	if o := n.Origin; err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR || o != nil && o.Base == p.name && o.Path == at {
		return nil
	}
	return p.rows().with(n.Ino, func(tx *sqlvfs.Tx, dir *sqlvfs.Inode) error {
		tx.SetOrigin(dir, &sqlvfs.Origin{Base: p.name, Path: at, Number: number(n), Fingerprint: hostfs.Fingerprint(&st), Mode: st.Mode})
		return nil
	})
}

// same writes down that the guest's row, which stays while a session runs, says the same as the host's. Where it
// does not, as of a branch that came under another name, only the guest's is done with.
func (p *puller) same(at string, n *sqlvfs.Node, is func(string) bool) {
	st, err := p.host.stat(at)
	if err != nil || kind(st.Mode) != kind(n.Attr.Mode) {
		return
	}
	if !is(at) { // after the look at the host's file: what is written meanwhile is another one
		p.outdate(at, n, false)
		return
	}
	agreed := &sqlvfs.Baseline{Mode: st.Mode, Fingerprint: hostfs.Fingerprint(&st), Row: n.Ino, RowCtime: n.Attr.Ctime}
	p.rows().set(func(tx *sqlvfs.Tx) { tx.SetBaseline(p.id, at, agreed) })
}

// outdate writes down that a row is as it was when both sides last agreed, and that the host's is not: so the
// next push brings the host's. brought: the host's says the same as the row.
func (p *puller) outdate(at string, n *sqlvfs.Node, brought bool) {
	if n.Attr.IsDir() {
		return
	}
	if _, in := p.gitDir(at); strings.HasPrefix(in, "objects/") {
		return // those never change
	}
	st, err := p.host.stat(at)
	if b := p.base[at]; err == nil && b != nil && b.Fingerprint == hostfs.Fingerprint(&st) && b.Row == n.Ino && b.RowCtime == n.Attr.Ctime {
		return
	}
	agreed := &sqlvfs.Baseline{Mode: n.Attr.Mode, Fingerprint: sqlvfs.Fingerprint{Size: n.Attr.Size, Mtime: n.Attr.Mtime}, Row: n.Ino, RowCtime: n.Attr.Ctime}
	was := p.baselineOf(&item{path: at, node: n})
	if brought && err == nil {
		was = &sqlvfs.Baseline{Fingerprint: hostfs.Fingerprint(&st), Row: n.Ino, RowCtime: n.Attr.Ctime}
	}
	if was != nil && !seenUntil(was).IsZero() {
		until := seenUntil(was)
		agreed.Ctime = sqlvfs.Timespec{Sec: until.Unix(), Nsec: int32(until.Nanosecond())}
	}
	p.rows().set(func(tx *sqlvfs.Tx) { tx.SetBaseline(p.id, at, agreed) })
}
