package sync

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostdir"
)

// placeDir makes a directory in its place.
func (p *puller) placeDir(a *operation) error {
	d, name, err := p.host.openParent(a.path)
	if err != nil {
		return err
	}
	defer d.Close()
	if a.there != 0 {
		if err := p.unlink(a, d, name, 0); err != nil {
			return err
		}
	}
	return p.makeDir(d, name, a)
}

// placeFile renames a staged file or link into place, or writes what has changed of it into the one that is there.
func (p *puller) placeFile(a *operation) error {
	if a.patch {
		return p.patch(a)
	}
	d, name, err := p.host.openParent(a.path)
	if err != nil {
		return err
	}
	defer d.Close()
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
	flags := uint(0)
	if a.there == 0 || a.there == unix.S_IFDIR {
		flags = unix.RENAME_NOREPLACE // whatever is there now was made since
	}
	err = unix.Renameat2(int(from.Fd()), tmp, int(d.Fd()), name, flags)
	if err == unix.EINVAL && flags != 0 { // the file system knows no flags (rename(2))
		err = unix.Renameat(int(from.Fd()), tmp, int(d.Fd()), name)
	}
	switch {
	case err == unix.EEXIST:
		return errChanging
	case err == unix.EXDEV && a.do != hardLink:
		return p.placeAcross(a, d, name)
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
	if err == nil {
		err = unix.Renameat(int(d.Fd()), tmp, int(d.Fd()), name)
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
	to, err := hostdir.Create(d, tmp, 0o600)
	if err != nil {
		return err
	}
	defer to.Close()
	if _, err := io.Copy(to, from); err != nil {
		return hostdir.Unwrap(err)
	}
	if _, err := p.setOwnerAndMode(to, a.item); err != nil {
		return err
	}
	return hostdir.Unwrap(to.Sync())
}

// unchanged makes sure that what is about to be replaced or removed is what was planned for, and
// that nothing else needs it.
func (p *puller) unchanged(a *operation, d *os.File, name string) error {
	if p.needs(a.path) {
		return errNeeded
	}
	st, err := hostdir.StatAt(d, name)
	if err == nil && fingerprintOf(&st) != a.now && (kind(st.Mode) != unix.S_IFDIR || st.Ino != a.now.Ino) &&
		!p.relinked(a, &st) {
		err = errChanging
	}
	return err
}

// relinked tells whether a file differs from what was planned for only by what this run has done to
// its other names, which moves its change time.
func (p *puller) relinked(a *operation, st *unix.Stat_t) bool {
	now := fingerprintOf(st)
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
	if err == unix.ENOENT {
		return nil
	}
	return err
}

// remove removes what the guest has removed.
func (p *puller) remove(a *operation) error {
	if a.incomplete {
		return errNeeded
	}
	d, name, err := p.host.openParent(a.path)
	if err == unix.ENOENT {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
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
	st, err := hostdir.Stat(d)
	if err != nil || st.Mode&unix.S_ISGID == 0 {
		return err
	}
	err = unix.Fchownat(int(from.Fd()), tmp, -1, int(st.Gid), unix.AT_SYMLINK_NOFOLLOW)
	if err == unix.EPERM { // the user is not in that group; as with cp(1), the file keeps its own
		return nil
	}
	return err
}

// openPlanned opens a file that is to be changed where it is, if it still is the version that was planned for.
func (p *puller) openPlanned(a *operation, flags int) (f *os.File, st unix.Stat_t, err error) {
	if f, err = p.host.openRegular(a.path, flags); err != nil {
		return nil, st, err
	}
	if st, err = hostdir.Stat(f); err == nil && (fingerprintOf(&st) != a.now || st.Nlink != 1) {
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
	if err := p.setXattrs(f, a.item); err != nil {
		return err
	}
	if _, err := p.setOwner(f, st, a.item); err != nil {
		return err
	}
	// A program of the host's stays one, unless the guest has changed its content (see patches).
	if err := hostdir.Chmod(f, a.attr.Mode&(modeBits|st.Mode&setID)); err != nil {
		return err
	}
	if err := setTimes(f, &a.attr); err != nil {
		return err
	}
	return a.note(f)
}
