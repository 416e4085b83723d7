package sync

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// verb is what pull does to a path.
type verb int

const (
	keep     verb = iota // nothing: it is as it should be
	mkdir                // make a directory
	chmodDir             // set a directory's mode
	write                // write a file
	touch                // set a file's mode and times; its content is right
	hardLink             // make it another name of a file
	symlink              // make a symbolic link
)

// action is what pull does to one path.
type action struct {
	do     verb
	path   string  // below the workspace
	in     *action // the directory that holds it; nil for the workspace itself
	attr   sqlvfs.Attr
	target string  // of a symbolic link
	other  *action // of a hard link: the file that it is another name of

	ino     sqlvfs.Ino         // its row; 0 for what is copied from the host
	source  string             // host path that content comes from, or ""
	version sqlvfs.Fingerprint // of the version of it that is meant
	renew   bool               // the row has an origin, which is to name the host's file afterwards

	there uint32 // type of what the host has at the path; 0: nothing
	now   object // which that is
	tmp   string // its name in the staging directory, once it is there

	done, failed bool
	incomplete   bool // of a directory: something below failed
}

// modeBits are what pull takes over of a mode. Set-user-ID and set-group-ID are not among them: on
// the host they would lend the caller's rights to whoever wrote the database.
const modeBits = 0o1777

var (
	errLoop     = errors.New("directory has more than one place in the database")
	errTooLong  = errors.New("path is too long")
	errNotEmpty = errors.New("it is a directory on the host, which is not empty")
)

// planDir plans what is in a directory of the database. there tells whether the host has it. The
// error is one that ends the run.
func (p *puller) planDir(a *action, row *sqlvfs.Inode, there bool) error {
	// Linux knows no hard links to directories, so whatever comes twice is made up: a loop, or a
	// tree that unfolds without end.
	if p.entered[row.Ino] != nil {
		p.fail(a, errLoop)
		return nil
	}
	p.entered[row.Ino] = a
	children, hidden, err := p.entriesOf(row)
	if err != nil {
		return fmt.Errorf("read %s: %w", p.opt.DB, err)
	}
	d, err := p.openThere(a, there)
	if err != nil {
		p.fail(a, err)
		return nil
	}
	// Descending may go deep: the descriptor is closed before it.
	var below []func() error
	for _, c := range children {
		if err := p.interrupted(); err != nil {
			return err
		}
		if next := p.planEntry(a, d, c); next != nil {
			below = append(below, next)
		}
		hidden[c.Name] = true
	}
	d.close()
	for _, next := range below {
		if err := next(); err != nil {
			return err
		}
	}
	if o := row.Origin; o != nil && o.Path != a.path {
		return p.planRenamed(a, o, hidden, there)
	}
	return nil
}

// entriesOf returns a directory's entries in order, and the names of host entries that it hides.
func (p *puller) entriesOf(row *sqlvfs.Inode) ([]sqlvfs.Child, map[string]bool, error) {
	p.store.Lock()
	defer p.store.Unlock()
	children, err := p.store.Children(row)
	if err != nil {
		return nil, nil, err
	}
	whiteouts, err := p.store.Whiteouts(row)
	if err != nil {
		return nil, nil, err
	}
	slices.SortFunc(children, func(x, y sqlvfs.Child) int { return cmp.Compare(x.Name, y.Name) })
	hidden := make(map[string]bool, len(children)+len(whiteouts))
	for _, name := range whiteouts {
		hidden[name] = true
	}
	return children, hidden, nil
}

// thereDir is a directory of the host as planning sees it; one that is not there has no entries.
type thereDir struct {
	f    *os.File
	self object
}

func (p *puller) openThere(a *action, there bool) (thereDir, error) {
	if !there {
		return thereDir{}, nil
	}
	f, err := p.host.openDir(a.path)
	if err != nil {
		return thereDir{}, err
	}
	st, err := fstat(f)
	if err != nil {
		f.Close()
		return thereDir{}, err
	}
	return thereDir{f, objectOf(&st)}, nil
}

// stat returns the attributes of an entry, or none when there is no such entry.
func (d thereDir) stat(name string) (unix.Stat_t, error) {
	if d.f == nil {
		return unix.Stat_t{}, nil
	}
	st, err := statAt(d.f, name)
	if err == unix.ENOENT {
		return unix.Stat_t{}, nil
	}
	return st, err
}

func (d thereDir) close() {
	if d.f != nil {
		d.f.Close()
	}
}

// planEntry plans one entry of a directory, except what is below it: that it returns.
func (p *puller) planEntry(dir *action, d thereDir, c sqlvfs.Child) (below func() error) {
	a := &action{path: join(dir.path, c.Name), in: dir, ino: c.Ino}
	if !sqlvfs.ValidName(c.Name) {
		p.fail(a, unix.EINVAL)
		return nil
	}
	st, ok := p.look(a, d, c.Name)
	if !ok {
		return nil
	}
	p.store.Lock()
	row, err := p.store.Get(c.Ino)
	p.store.Unlock()
	if err != nil {
		p.fail(a, err)
		return nil
	}
	a.attr = row.Attr
	switch kind(a.attr.Mode) {
	case unix.S_IFDIR:
		p.planMkdir(a, &st)
		a.renew = row.Origin != nil && a.do == mkdir
		return func() error {
			defer p.put(row)
			return p.planDir(a, row, a.do != mkdir)
		}
	case unix.S_IFREG:
		p.planFile(a, row, &st)
	case unix.S_IFLNK:
		a.target = row.Target
		p.planSymlink(a, d, &st)
	default:
		p.report.note(p.hostPath(a.path), "skipped: it is a "+kindName(a.attr.Mode))
	}
	p.put(row)
	return nil
}

// look finds out what the host has at an action's path. It returns false for a path that is not
// to be touched.
func (p *puller) look(a *action, d thereDir, name string) (unix.Stat_t, bool) {
	if len(a.path) > maxPath {
		p.fail(a, errTooLong)
		return unix.Stat_t{}, false
	}
	if why := skipped(a.path); why != "" {
		p.report.note(p.hostPath(a.path), why)
		return unix.Stat_t{}, false
	}
	st, err := d.stat(name)
	if err != nil {
		p.fail(a, err)
		return st, false
	}
	if d.f != nil && p.host.db.has(d.self, name, &st) {
		p.report.note(p.hostPath(a.path), "skipped: the database itself is there")
		return st, false
	}
	a.there, a.now = kind(st.Mode), objectOf(&st)
	return st, true
}

func (p *puller) add(a *action) { p.actions = append(p.actions, a) }

func (p *puller) planMkdir(a *action, st *unix.Stat_t) {
	switch {
	case a.there != unix.S_IFDIR:
		a.do = mkdir
		p.add(a)
	case !p.sameModeAndOwner(a, st):
		a.do = chmodDir
		p.add(a)
	}
	p.dirs = append(p.dirs, a)
}

func (p *puller) planSymlink(a *action, d thereDir, st *unix.Stat_t) {
	a.do = symlink
	if a.there == unix.S_IFLNK {
		target, err := readlinkAt(d.f, lastName(a.path))
		if err == nil && target == a.target && timespec(st.Mtim) == a.attr.Mtime && (!p.asRoot || sameOwner(a, st)) {
			return
		}
	}
	p.addUnlessBlocked(a)
}

func (p *puller) planFile(a *action, row *sqlvfs.Inode, st *unix.Stat_t) {
	a.do = write
	if o := row.Origin; o != nil {
		a.renew = true
		if o.Limit > 0 {
			a.source, a.version = o.Path, o.Fingerprint
			if o.Base != p.name {
				p.fail(a, fmt.Errorf("its content is in another workspace: %s", o.Base))
				return
			}
		}
	}
	if row.Attr.Nlink > 1 {
		if first := p.files[a.ino]; first != nil {
			p.planHardLink(a, first)
			return
		}
		p.files[a.ino] = a
	}
	elsewhere := a.source != "" && a.source != a.path
	switch {
	case !elsewhere && p.same(a, st):
		a.do = keep
		// A pull that was killed may not have come to it.
		if a.renew = a.source != "" && a.version != fingerprintOf(st); a.renew {
			a.done = true
			p.add(a)
		}
		return
	case p.onlyAttributes(a, row, st):
		a.do, a.source = touch, ""
	}
	p.shareNames(a, row)
	p.addUnlessBlocked(a)
}

// planHardLink makes a file another name of one that was planned before.
func (p *puller) planHardLink(a, first *action) {
	a.do, a.other, a.source, a.renew = hardLink, first, "", false
	placed := first.do == keep || first.do == touch
	if placed && a.there == unix.S_IFREG && a.now == first.now {
		return
	}
	p.addUnlessBlocked(a)
}

// addUnlessBlocked adds what is to take the place of whatever is there, unless that is a directory
// with something in it: nobody said that this may go.
func (p *puller) addUnlessBlocked(a *action) {
	if a.there == unix.S_IFDIR {
		d, err := p.host.openDir(a.path)
		if err != nil {
			p.fail(a, err)
			return
		}
		names, err := d.Readdirnames(1)
		d.Close()
		if len(names) > 0 {
			p.fail(a, errNotEmpty)
			return
		}
		if err != nil && err != io.EOF {
			p.fail(a, unwrap(err))
			return
		}
	}
	p.add(a)
}

// same tells whether the host has a file already, by what is cheap to see.
func (p *puller) same(a *action, st *unix.Stat_t) bool {
	return a.there == unix.S_IFREG && st.Size == a.attr.Size && timespec(st.Mtim) == a.attr.Mtime && p.sameModeAndOwner(a, st)
}

func (p *puller) sameModeAndOwner(a *action, st *unix.Stat_t) bool {
	return (st.Mode^a.attr.Mode)&modeBits == 0 && (!p.asRoot || sameOwner(a, st))
}

func sameOwner(a *action, st *unix.Stat_t) bool {
	return st.Uid == a.attr.UID && st.Gid == a.attr.GID
}

// onlyAttributes tells whether the host's file has the right content, and nothing but its mode,
// owner or times is to be set. A file with other names is written anew instead: these names may
// be outside of the workspace.
func (p *puller) onlyAttributes(a *action, row *sqlvfs.Inode, st *unix.Stat_t) bool {
	return a.there == unix.S_IFREG && st.Nlink == 1 && row.Attr.Nlink == 1 && a.source == a.path &&
		a.version == fingerprintOf(st) && a.attr.Size == st.Size && p.holdsNothing(row)
}
