package reconcile

import (
	"errors"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/posixacl"
)

// A file that replaces one of the host's is the same file to the host's users. What the guest has no say in,
// it takes over from there: the owner, the group, the access control list. What would lend that owner's
// rights to what the guest wrote goes, and is named.

// Access control lists (acl(5)) are the host's alone: the guest sees none, and none of its own is kept. A
// file that replaces one of the host's has that one's list, and the mode that the guest gave it acts on it
// as chmod(2) does: so it opens to nobody whom the list keeps out. What is new in a directory takes that
// directory's default list, as what is made there does.

// setOwnerAndMode gives an open file what it does not have yet, and returns what it has become.
func (p *puller) setOwnerAndMode(f *os.File, a *item) (unix.Stat_t, error) {
	st, err := hostfs.Stat(f)
	if err != nil {
		return st, err
	}
	if err := p.setFileOwner(f, &st, a); err != nil {
		return st, err
	}
	mode, err := p.setACL(f, a)
	if err != nil {
		return st, err
	}
	if st, err = hostfs.Stat(f); err != nil || st.Mode&0o7777 == mode {
		return st, err
	}
	if err := unix.Fchmod(int(f.Fd()), mode); err != nil {
		return st, err
	}
	return hostfs.Stat(f)
}

// setFileOwner gives a new file its owner. Everybody else than root can give it the group at most, if in it.
func (p *puller) setFileOwner(f *os.File, st *unix.Stat_t, a *item) error {
	if p.asRoot {
		return p.setOwner(f, st, a)
	}
	if a.there != unix.S_IFREG || a.host.GID == st.Gid {
		return nil
	}
	if err := unix.Fchown(int(f.Fd()), -1, int(a.host.GID)); err != unix.EPERM {
		return err
	}
	return nil
}

// setACL gives a new file the access control list that belongs to its place, and returns its mode.
func (p *puller) setACL(f *os.File, a *item) (mode uint32, err error) {
	mode = a.attr.Mode & modeBits
	if a.there == unix.S_IFREG {
		old, err := p.host.open(a.path, unix.O_PATH)
		if errors.Is(err, unix.ENOENT) {
			return mode, nil
		}
		if err != nil {
			return mode, err
		}
		defer old.Close()
		return posixacl.TakeOver(f, old, mode)
	}
	return p.inherit(f, a.path, mode)
}

// setID are the bits of a mode that lend a program's caller the rights of its owner or group (inode(7)).
const setID = unix.S_ISUID | unix.S_ISGID

// sayDropped says which rights a file loses that it had on one of the sides.
func (p *puller) sayDropped(a *item) {
	bits := a.attr.Mode & setID
	if a.node != nil {
		bits = a.node.Attr.Mode & setID
	}
	capable := false
	if a.there == unix.S_IFREG {
		bits |= a.host.Mode & setID
		capable = p.hostCapable(a.path)
	}
	var lost []string
	for _, l := range []struct {
		lost bool
		what string
	}{{bits&unix.S_ISUID != 0, "set-user-ID bit"}, {bits&unix.S_ISGID != 0, "set-group-ID bit"}, {capable, "capabilities"}} {
		if l.lost {
			lost = append(lost, l.what)
		}
	}
	if len(lost) > 0 {
		p.report.Note(p.hostPath(a.path), "its "+strings.Join(lost, " and ")+" dropped: it would run what the guest wrote with other rights")
	}
}

// hostCapable reports whether a program of the host has capabilities of its own (capabilities(7)).
func (p *puller) hostCapable(rel string) bool {
	f, err := p.host.open(rel, unix.O_PATH)
	if err != nil {
		return false
	}
	defer f.Close()
	value, err := hostfs.Xattr(f, capabilities)
	return err == nil && value != nil
}

const capabilities = "security.capability"

// defaults are the default lists of the host's directories.
type defaults struct {
	sync.Mutex
	byDir map[string][]byte // GUARDED_BY(Mutex)
}

// of returns the default list of a directory, or of the one above it that the host has: what is made there
// passes it on.
func (d *defaults) of(h *host, dir string) ([]byte, error) {
	d.Lock()
	defer d.Unlock()
	return d.find(h, dir)
}

func (d *defaults) find(h *host, dir string) ([]byte, error) {
	if list, ok := d.byDir[dir]; ok {
		return list, nil
	}
	f, err := h.open(dir, unix.O_PATH|unix.O_DIRECTORY)
	var list []byte
	switch {
	case err == nil:
		list, err = hostfs.Xattr(f, posixacl.Default)
		f.Close()
	case dir != "." && (errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)):
		list, err = d.find(h, path.Dir(dir))
	}
	if err != nil {
		return nil, err
	}
	if d.byDir == nil {
		d.byDir = map[string][]byte{}
	}
	d.byDir[dir] = list
	return list, nil
}

// inherit gives a new file or directory, which is open, what follows from the default list of the directory
// that it is going to be in, and returns the mode that it may have.
func (p *puller) inherit(f *os.File, at string, mode uint32) (uint32, error) {
	list, err := p.defaults.of(p.host, path.Dir(at))
	if err != nil {
		return mode, err
	}
	return posixacl.Inherit(f, list, mode)
}

// setXattrs gives an open file the user's extended attributes that the guest's has, and no others.
func (p *planner) setXattrs(f *os.File, a *item) error {
	var want map[string]string
	var err error
	if a.node != nil {
		want = a.xattrs
	} else if want, err = userXattrsOf(p.openSource(a)); err != nil {
		return err
	}
	have, err := userXattrs(f)
	if err != nil || maps.Equal(have, want) {
		return err
	}
	for name := range have {
		if _, ok := want[name]; !ok {
			if err := unix.Fremovexattr(int(f.Fd()), name); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		err := unix.Fsetxattr(int(f.Fd()), name, []byte(want[name]), 0)
		if err == unix.ENOTSUP {
			p.report.Note(p.hostPath(a.path), "extended attributes are left out: its file system has none")
			return nil
		}
		if tooLarge(f, err) {
			p.report.Note(p.hostPath(a.path), "the extended attribute "+cli.Printable(name)+" is left out: it is too large for its file system")
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// roomForAttributes is how much a file system has free for ENOSPC to say that the attribute is too large for it: a value has
// 64 KiB at most (XATTR_SIZE_MAX in linux/limits.h).
const roomForAttributes = 1 << 20

// tooLarge tells whether an extended attribute could not be set because file systems differ in how much a file's may take, of
// ext4 a block. That is ENOSPC as well (xattr(7)), as on a full disk.
func tooLarge(f *os.File, err error) bool {
	var fs unix.Statfs_t
	return errors.Is(err, unix.E2BIG) || errors.Is(err, unix.ERANGE) ||
		errors.Is(err, unix.ENOSPC) && unix.Fstatfs(int(f.Fd()), &fs) == nil && fs.Bavail*uint64(fs.Bsize) >= roomForAttributes
}
