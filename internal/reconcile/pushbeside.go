package reconcile

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// A push beside a session (beside.go) decides on one commit as a pull does, and all that it stores is one step of the session's
// writer. If what it would replace has changed since, nothing is done at all, and the push begins anew on what is there then.
// A few things are different:
//
//   - What the guest sees of the host anyway is not stored. A push after the session does that. In a self-contained database the guest
//     sees nothing of the host's, and all is stored.
//   - A file that changed becomes another one, by its number too, as if it were renamed into its place: a program that has the
//     old one open goes on with that, and no file is ever half of each.
//   - Files that have several names on either side are left.

// attempts is how often a push begins that the session overtakes.
const attempts = 10

// linked is why files are left that have several names.
const linked = "it has several names, which a push beside a session leaves as they are: " + endSessionHint + ", and push again"

// shown returns the path of what the guest sees of the host at a path where it has no row, or "".
func (p *pusher) shown(at string, in *folder) string {
	switch {
	case p.top == nil || in.fresh && !p.contained():
		return at
	case in.fresh:
		return ""
	}
	n, dir, rest := p.walk(at)
	switch o := dir.Origin; {
	case n != nil || hides(dir, rest) || dir == p.top && p.contained():
		return ""
	case o == nil && dir == p.top: // it came from a push, and is laid over the host's
		return at
	case o == nil || o.Base != p.name:
		return ""
	default:
		return join(o.Path, rest)
	}
}

// contained reports whether the workspace's directory shows nothing of the host's, as after art-fuse flatten.
func (p *pusher) contained() bool {
	return p.top != nil && p.top.Origin == nil && slices.Contains(p.tree.Node(sqlvfs.RootIno).Whiteouts, p.name)
}

// sees reports whether the guest sees what the host has at a path, or something else of the host's, which is told. Then there
// is nothing to store.
func (p *pusher) sees(f *found) bool {
	if !p.beside || f.here {
		return false
	}
	from := p.shown(f.at, f.in)
	if from != "" && from != f.at {
		p.report.Stays(p.guestPath(f.at), "the guest has what the host has as "+p.report.ErrName(p.hostPath(from)))
	}
	return from != ""
}

// leaveLinked leaves files with several names during a session, and says so.
func (p *pusher) leaveLinked(all []*found) {
	if !p.beside {
		return
	}
	for _, f := range all {
		n := f.node
		several := f.there == unix.S_IFREG && f.st.Nlink > 1 || n != nil && n.Attr.IsRegular() && (n.Attr.Nlink > 1 || len(p.names(n.Ino)) > 1)
		if !f.left && several && (f.decision.Push() || f.decision.Conflict()) {
			f.left = true
			p.report.Stays(p.guestPath(f.at), linked)
		}
	}
}

// setAttr takes over a host object's attributes. A row that the session has keeps its own times: they are of its version.
func (p *pusher) setAttr(row *sqlvfs.Inode, attr sqlvfs.Attr) {
	if !p.beside || p.isNew(row) {
		setAttr(row, attr)
		return
	}
	row.Attr.Mode, row.Attr.UID, row.Attr.GID = attr.Mode, attr.UID, attr.GID
}

// isNew reports whether a row was made by this push.
func (p *pusher) isNew(row *sqlvfs.Inode) bool { return p.tree.Node(row.Ino) == nil }

// lockedGit reports whether a file of git's stays what it is, because git works in that repository of the guest.
func (p *pusher) lockedGit(f *found, dir string) bool {
	why := p.atWork(dir)
	if d := f.decision; why == nil || !d.Push() && !d.Conflict() {
		return false
	}
	if p.bothGit[dir] != gitReported {
		p.gitTouched(dir)
		p.bothGit[dir] = gitReported
		p.report.Stays(p.guestPath(dir), why.Error())
	}
	return true
}
