package sync

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// place puts what is staged where it belongs. Directories come first; then the files that come
// from elsewhere on the host, since a failure among them forbids to replace what they come from;
// then the others; the directories' own modes and times last, innermost first, since each change
// below sets them anew. The error is one that ends the run.
func (p *puller) place() error {
	var dirs, moved, others []*action
	for _, a := range p.actions {
		switch {
		case a.failed || a.done:
		case a.do == mkdir:
			dirs = append(dirs, a)
		case a.source != "" && a.source != a.path:
			moved = append(moved, a)
		case a.do != chmodDir:
			others = append(others, a)
		}
	}
	err := p.each(dirs, p.placeDir)
	if err == nil {
		err = p.each(moved, p.placeFile)
	}
	if err == nil {
		err = p.each(others, p.placeFile)
	}
	p.endStaging()
	for i := len(p.dirs) - 1; i >= 0; i-- {
		if a := p.dirs[i]; !a.failed && (a.do != mkdir || a.done) {
			if err := p.finishDir(a); err != nil {
				p.fail(a, err)
			} else if a.do == chmodDir {
				a.done = true
			}
		}
	}
	for _, a := range p.actions {
		if a.done {
			p.print(a)
		}
	}
	if serr := unix.Syncfs(int(p.host.dir.Fd())); err == nil && serr != nil {
		err = fmt.Errorf("workspace %s: sync: %w", p.host.dir.Name(), serr)
	}
	return err
}

func (p *puller) each(list []*action, do func(*action) error) error {
	for _, a := range list {
		if err := p.interrupted(); err != nil {
			return err
		}
		if a.in.failed {
			// The directory's own failure was told.
			a.failed = true
			p.report.failures++
			if a.source != "" {
				p.needed[a.source] = true
			}
			continue
		}
		if err := do(a); err != nil {
			p.fail(a, err)
			continue
		}
		a.done = true
	}
	return nil
}

// placeDir makes a directory, for the time being one that only we can use.
func (p *puller) placeDir(a *action) error {
	d, name, err := p.host.openParent(a.path)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := p.makeRoom(a, d, name, true); err != nil {
		return err
	}
	return unix.Mkdirat(int(d.Fd()), name, 0o700)
}

// placeFile renames a staged file or link into place, or sets the attributes of one that is there.
func (p *puller) placeFile(a *action) error {
	if a.do == touch {
		return p.touch(a)
	}
	d, name, err := p.host.openParent(a.path)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := p.makeRoom(a, d, name, false); err != nil {
		return err
	}
	if err := p.inheritGroup(a, d); err != nil {
		return err
	}
	err = unix.Renameat(int(p.staging.dir.Fd()), a.tmp, int(d.Fd()), name)
	if err == unix.EXDEV && a.do != hardLink {
		return p.placeAcross(a, d, name)
	}
	return err
}

// makeRoom removes what a rename or a mkdir would not replace by itself: an empty directory, and
// anything where a directory is to be. A symbolic link is removed as such, never followed.
func (p *puller) makeRoom(a *action, d *os.File, name string, forDir bool) error {
	if a.there == 0 {
		return nil
	}
	if a.there != unix.S_IFDIR && p.needed[a.path] {
		return errors.New("it stays as it is: other files still need the host's version")
	}
	flags := 0
	switch {
	case a.there == unix.S_IFDIR:
		flags = unix.AT_REMOVEDIR
	case !forDir:
		return nil
	}
	err := unix.Unlinkat(int(d.Fd()), name, flags)
	if err == unix.ENOENT {
		return nil
	}
	return err
}

// inheritGroup does what the kernel does for files that are made in a directory with the
// set-group-ID bit (inode(7)): these were made elsewhere. Root has set the owners that the database
// names.
func (p *puller) inheritGroup(a *action, d *os.File) error {
	if p.asRoot || a.do == hardLink {
		return nil
	}
	st, err := fstat(d)
	if err != nil || st.Mode&unix.S_ISGID == 0 {
		return err
	}
	err = unix.Fchownat(int(p.staging.dir.Fd()), a.tmp, -1, int(st.Gid), unix.AT_SYMLINK_NOFOLLOW)
	if err == unix.EPERM { // the user is not in that group; as with cp(1), the file keeps its own
		return nil
	}
	return err
}

// touch sets a file's attributes, if it still is the version that was planned for.
func (p *puller) touch(a *action) error {
	f, err := p.host.open(a.path, unix.O_PATH)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := fstat(f)
	if err != nil {
		return err
	}
	if fingerprintOf(&st) != a.version || st.Nlink != 1 {
		return errChanging
	}
	if p.asRoot && !sameOwner(a, &st) {
		if err := chown(f, a); err != nil {
			return err
		}
	}
	if err := chmod(f, a.attr.Mode&modeBits); err != nil {
		return err
	}
	return setTimes(f, &a.attr)
}

// finishDir gives a directory its owner, mode and times. A set-group-ID bit that the host's
// directory has stays: it says how the host's users share it.
func (p *puller) finishDir(a *action) error {
	f, err := p.host.open(a.path, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := fstat(f)
	if err != nil {
		return err
	}
	if p.asRoot && !sameOwner(a, &st) {
		if err := chown(f, a); err != nil {
			return err
		}
	}
	if (st.Mode^a.attr.Mode)&modeBits != 0 {
		if err := chmod(f, a.attr.Mode&modeBits|st.Mode&^uint32(unix.S_IFMT|modeBits)); err != nil {
			return err
		}
	}
	if timespec(st.Mtim) == a.attr.Mtime {
		return nil
	}
	return setTimes(f, &a.attr)
}

func chown(f *os.File, a *action) error {
	return unix.Fchownat(int(f.Fd()), "", int(a.attr.UID), int(a.attr.GID), unix.AT_EMPTY_PATH)
}
