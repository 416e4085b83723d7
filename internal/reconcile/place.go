package reconcile

import (
	"cmp"
	"errors"
	"io"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/reconcile/staging"
)

// place does what is to be done at a path.
func (p *puller) place(o *operation) error {
	switch {
	case o.do == attributes:
		return p.placeAttributes(o)
	case o.patch:
		return p.patch(o)
	case o.do == remove && o.incomplete:
		return errNeeded
	}
	d, name, err := p.host.openParent(o.path)
	if o.do == remove && errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	st, err := hostfs.Stat(d)
	if err != nil {
		return err
	}
	p.wrote(st.Dev, path.Dir(o.path))
	switch o.do {
	case mkdir:
		return p.placeDir(o, d, name)
	case remove:
		return p.remove(o, d, name)
	}
	return p.placeFile(o, d, name)
}

// placeDir makes a directory in its place.
func (p *puller) placeDir(a *operation, d *os.File, name string) error {
	if a.there != 0 {
		if err := p.unlink(a, d, name, 0); err != nil {
			return err
		}
	}
	return p.makeDir(d, name, a)
}

// placeFile renames a staged file or link into place.
func (p *puller) placeFile(a *operation, d *os.File, name string) error {
	if a.there != 0 && a.there != unix.S_IFDIR {
		if err := p.unchanged(a, d, name); err != nil {
			return err
		}
	}
	from, tmp, err := p.staging.Parent(a.tmp)
	if err != nil {
		return err
	}
	defer p.staging.Done(from)
	if err := p.inheritGroup(a, from, tmp, d); err != nil {
		return err
	}
	if err = a.enter(from, tmp, d, name); errors.Is(err, unix.EXDEV) && a.do != hardLink {
		return p.placeAcross(a, d, name)
	}
	return err
}

// enter renames what is staged into place. Where there was nothing, whatever is there now was made since.
func (a *operation) enter(from *os.File, tmp string, to *os.File, name string) error {
	if a.there != 0 && a.there != unix.S_IFDIR {
		return unix.Renameat(int(from.Fd()), tmp, int(to.Fd()), name)
	}
	err := unix.Renameat2(int(from.Fd()), tmp, int(to.Fd()), name, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) { // the file system knows no flags (rename(2)); a link replaces nothing either (link(2))
		if err = unix.Linkat(int(from.Fd()), tmp, int(to.Fd()), name, 0); err == nil {
			return unix.Unlinkat(int(from.Fd()), tmp, 0)
		}
	}
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) { // nor links: what is left is a look
		if _, err = hostfs.StatAt(to, name); errors.Is(err, unix.ENOENT) {
			return unix.Renameat(int(from.Fd()), tmp, int(to.Fd()), name)
		}
		return cmp.Or(err, errChanging)
	}
	if errors.Is(err, unix.EEXIST) {
		return errChanging
	}
	return err
}

// placeAcross puts what is staged where another file system is mounted in the workspace, so that a
// rename alone does not lead there: it is staged once more, in the directory itself. There can be
// no hard links across.
func (p *puller) placeAcross(a *operation, d *os.File, name string) error {
	tmp := p.staging.Name
	err := p.stageAcross(a, d, tmp)
	if err == nil {
		err = unix.UtimesNanoAt(int(d.Fd()), tmp, times(&a.attr), unix.AT_SYMLINK_NOFOLLOW)
	}
	if err == nil && a.there != 0 && a.there != unix.S_IFDIR {
		err = p.unchanged(a, d, name) // to stage it took its time
	}
	if err == nil {
		err = a.enter(d, tmp, d, name)
	}
	if err != nil {
		unix.Unlinkat(int(d.Fd()), tmp, 0)
	}
	return err
}

func (p *puller) stageAcross(a *operation, d *os.File, tmp string) error {
	if a.do == symlink {
		return p.makeSymlink(a, d, tmp)
	}
	from, err := p.host.open(p.staging.Name+"/"+a.tmp, unix.O_RDONLY)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := hostfs.Create(d, tmp, 0o600)
	if err != nil {
		return err
	}
	defer to.Close()
	if _, err := io.Copy(to, from); err != nil {
		return hostfs.Unwrap(err)
	}
	if a.node == nil || len(a.xattrs) > 0 {
		if err := p.setXattrs(to, a.item); err != nil {
			return err
		}
	}
	if _, err := p.setOwnerAndMode(to, a.item); err != nil {
		return err
	}
	return hostfs.Unwrap(to.Sync())
}

// unchanged makes sure that what is about to be replaced or removed is what was planned for, and
// that nothing else needs it.
func (p *puller) unchanged(a *operation, d *os.File, name string) error {
	if p.needs(a.path) {
		return errNeeded
	}
	st, err := hostfs.StatAt(d, name)
	if err == nil && hostfs.Fingerprint(&st) != a.now && (kind(st.Mode) != unix.S_IFDIR || st.Ino != a.now.Ino) &&
		!p.relinked(a, &st) {
		err = errChanging
	}
	return err
}

// relinked reports whether a file differs from what was planned for only by what this run has done to
// its other names, which moves its change time.
func (p *puller) relinked(a *operation, st *unix.Stat_t) bool {
	now := hostfs.Fingerprint(st)
	now.Ctime = a.now.Ctime
	return now == a.now && a.host.Nlink > 1
}

var errNeeded = errors.New("it stays as it is: other files still need the host's version")

// unlink removes an entry, which is never followed. One that is gone already is no error.
func (p *puller) unlink(a *operation, d *os.File, name string, flags int) error {
	err := p.unchanged(a, d, name)
	if err == nil {
		err = unix.Unlinkat(int(d.Fd()), name, flags)
	}
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

// remove removes what the guest has removed.
func (p *puller) remove(a *operation, d *os.File, name string) error {
	flags := 0
	if a.there == unix.S_IFDIR {
		flags = unix.AT_REMOVEDIR
	}
	return p.unlink(a, d, name, flags)
}

// inheritGroup does what the kernel does for files that are made in a directory with the
// set-group-ID bit (inode(7)): these were made elsewhere. Root has set the owners that the database
// names.
func (p *puller) inheritGroup(a *operation, from *os.File, tmp string, d *os.File) error {
	if p.asRoot || a.do == hardLink || a.there == unix.S_IFREG {
		return nil
	}
	st, err := hostfs.Stat(d)
	if err != nil || st.Mode&unix.S_ISGID == 0 {
		return err
	}
	err = unix.Fchownat(int(from.Fd()), tmp, -1, int(st.Gid), unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.EPERM) { // the user is not in that group; as with cp(1), the file keeps its own
		return nil
	}
	return err
}

// openPlanned opens a file that is to be changed where it is, if it still is the version that was planned for.
func (p *puller) openPlanned(a *operation, flags int) (f *os.File, st unix.Stat_t, err error) {
	if f, err = p.host.openRegular(a.path, flags); err != nil {
		return nil, st, err
	}
	if st, err = hostfs.Stat(f); err == nil && (hostfs.Fingerprint(&st) != a.now || st.Nlink != 1) {
		err = errChanging
	}
	if err != nil {
		f.Close()
	}
	return f, st, err
}

// placeAttributes sets a file's attributes.
func (p *puller) placeAttributes(a *operation) error {
	f, st, err := p.openPlanned(a, unix.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	return p.setAttributes(f, &st, a)
}

// setAttributes gives a file that is in its place, and was st, what belongs to it beside its content.
func (p *puller) setAttributes(f *os.File, st *unix.Stat_t, a *operation) error {
	p.wrote(st.Dev, a.path)
	if err := p.setXattrs(f, a.item); err != nil {
		return err
	}
	if err := p.setOwner(f, st, a.item); err != nil {
		return err
	}
	// A program of the host's stays one, unless the guest has changed its content (see patches).
	if err := hostfs.Chmod(f, a.attr.Mode&(modeBits|st.Mode&setID)); err != nil {
		return err
	}
	if err := setTimes(f, &a.attr); err != nil {
		return err
	}
	return a.note(f)
}

// A directory that is new is staged with all that is in it, and comes into place by one rename: that
// is faster than a rename for each file, and it is there as a whole or not at all.

// treeParents knows which directories of the host can take such a tree.
type treeParents struct {
	p     *puller
	known map[*item]bool
}

// startsIn reports whether a directory that is to be made can be staged: it is in one that is staged, or
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

// alike reports whether what is made in a directory is as if it had been made in the staging directory:
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
			if st, serr := hostfs.Stat(d); serr == nil {
				p.wrote(st.Dev, path.Dir(a.path))
			}
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
