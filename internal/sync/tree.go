package sync

import (
	"path"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/sync/staging"
)

// A directory that is new is staged with all that is in it, and comes into place by one rename: that
// is faster than a rename for each file, and it is there as a whole or not at all.

// treeParents knows which directories of the host can take such a tree.
type treeParents struct {
	p     *puller
	known map[*item]bool
}

// startsIn tells whether a directory that is to be made can be staged: it is in one that is staged, or
// in one of the host that gives what is made in it nothing but what the staging directory gives too.
func (t *treeParents) startsIn(a *operation) bool {
	switch in := a.in; {
	case a.there != 0:
		return false
	case in.op != nil && (in.op.tree != nil || in.op.do == mkdir):
		return in.op.tree != nil
	default:
		can, ok := t.known[in]
		if !ok {
			can = t.alike(in.path)
			t.known[in] = can
		}
		return can
	}
}

// alike tells whether what is made in a directory is as if it had been made in the staging directory:
// on the same file system, with the same rules for names, and nothing passed on by a set-group-ID
// bit (inode(7)) or a default access control list (acl(5)).
func (t *treeParents) alike(rel string) bool {
	d, err := t.p.host.openDir(rel)
	if err != nil {
		return false
	}
	defer d.Close()
	there, err := staging.RulesOf(d)
	if err != nil {
		return false
	}
	here, err := staging.RulesOf(t.p.staging.File)
	if err != nil || here != there {
		return false
	}
	for _, f := range []int{int(d.Fd()), int(t.p.staging.Fd())} {
		var st unix.Stat_t
		if unix.Fstat(f, &st) != nil || st.Mode&unix.S_ISGID != 0 {
			return false
		}
		if n, err := unix.Fgetxattr(f, "system.posix_acl_default", nil); err == nil && n > 0 {
			return false
		}
	}
	return true
}

// placeTrees renames the trees into place. One that cannot be renamed there, since another file system
// is mounted in between or since there may be something now, is left to be placed piece by piece.
func (p *puller) placeTrees(ops []*operation) {
	for _, a := range ops {
		if a.tree != a || a.left || a.done {
			continue
		}
		d, err := p.host.open(path.Dir(a.path), unix.O_PATH|unix.O_DIRECTORY)
		if err == nil {
			err = unix.Renameat2(int(p.staging.Fd()), a.tmp, int(d.Fd()), path.Base(a.path), unix.RENAME_NOREPLACE)
			d.Close()
		}
		a.done = err == nil
	}
	for _, a := range ops {
		if a.tree != nil && a.tree.done && !a.left {
			a.done = true
		} else {
			a.is = nil // a rename of its own changes it
		}
	}
}
