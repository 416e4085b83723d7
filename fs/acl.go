package fs

import (
	"errors"
	"syscall"

	"github.com/riverlytech/art/fs/wire"
	"github.com/riverlytech/art/internal/posixacl"
	"github.com/riverlytech/art/sqlvfs"
)

// Access control lists (acl(5)) are extended attributes, which the kernel reads when it checks what somebody who is not the
// owner may do, and keeps until it asks for the inode's attributes (fs/fuse/acl.c). The rest is for a file system to
// see to: that list and mode are in step, and that what is made gets what its directory's default list says. Because of
// that list it is not the kernel that applies the umask (FUSE_DONT_MASK in linux/fuse.h).

// HasACL implements FileSystem. A session's guest shows as the owner of everything, whom no list keeps from anything; and
// where there are lists, `ls -l` asks for that of each file, which takes it three to four times as long. So there are none in a
// session, unless the workspace itself has one: directories that several people share hand theirs down.
func (o *Overlay) HasACL() bool { return o.acl }

// wantsACL tells whether an overlay is to have access control lists.
func (o *Overlay) wantsACL() bool {
	if o.owner == nil {
		return true
	}
	if o.host == nil {
		return false
	}
	xattrs, err := o.host.Xattrs(".")
	return err == nil && (xattrs[posixacl.Access] != nil || xattrs[posixacl.Default] != nil)
}

func isACL(name string) bool { return name == posixacl.Access || name == posixacl.Default }

// showACL returns a list as the mount's user namespace has it. A session's guest has no id for anybody but itself: the kernel
// refuses a list with others (posix_acl_from_xattr in fs/posix_acl.c), so that has to stay out of sight. It is kept all the same,
// and denies the guest nothing, who shows as the owner.
func (o *Overlay) showACL(list []byte) ([]byte, bool) {
	if o.owner == nil || !o.acl {
		return list, o.acl
	}
	return posixacl.Translate(list, func(tag uint16, id uint32) (uint32, bool) {
		if tag == posixacl.User {
			return o.shown.UID, id == o.owner.UID
		}
		return o.shown.GID, id == o.owner.GID
	})
}

// errUnchanged is no error, but says that an inode is as it should be.
var errUnchanged = errors.New("unchanged")

// setACL gives an inode a list, and the mode that goes with it.
func (t *tx) setACL(in *sqlvfs.Inode, name string, value []byte, flags uint32, has bool) error {
	list, ok := posixacl.Translate(value, func(tag uint16, id uint32) (uint32, bool) {
		if tag == posixacl.User {
			return t.hostUID(id), true
		}
		return t.hostGID(id), true
	})
	if !ok {
		return syscall.EINVAL
	}
	if name == posixacl.Default {
		if !in.Attr.IsDir() {
			return syscall.EACCES // as set_posix_acl in fs/posix_acl.c
		}
		return t.db.SetXattr(in, name, list)
	}
	mode, extended, err := posixacl.Mode(list, in.Attr.Mode)
	if err != nil {
		return syscall.EINVAL
	}
	if flags&wire.SetxattrKillSGID != 0 {
		mode &^= syscall.S_ISGID
	}
	if !extended && !has && mode == in.Attr.Mode {
		return errUnchanged
	}
	in.Attr.Mode = mode
	if !extended {
		return t.db.RemoveXattr(in, name)
	}
	return t.db.SetXattr(in, name, list)
}

// chmodACL keeps an inode's list in step with its mode.
func (t *tx) chmodACL(in *sqlvfs.Inode) error {
	list, ok, err := t.db.Xattr(in, posixacl.Access)
	if !ok || err != nil {
		return err
	}
	if list, err = posixacl.Chmod(list, in.Attr.Mode); err != nil {
		return syscall.EIO
	}
	return t.db.SetXattr(in, posixacl.Access, list)
}

// inherited are the lists of an inode that is made; nil: none.
type inherited struct{ access, byDefault []byte }

// inherit gives what is to be made in a directory its mode, and returns its lists.
func (t *tx) inherit(p *node, attr *sqlvfs.Attr, umask uint32) (lists inherited, err error) {
	if attr.IsSymlink() {
		return lists, nil
	}
	list, err := t.defaultACL(p)
	if err != nil {
		return lists, err
	}
	if list == nil {
		attr.Mode &^= umask & 0o777
		return lists, nil
	}
	own, mode, extended, err := posixacl.Made(list, attr.Mode)
	if err != nil {
		return lists, syscall.EIO
	}
	attr.Mode = mode
	if extended {
		lists.access = own
	}
	if attr.IsDir() {
		lists.byDefault = list
	}
	return lists, nil
}

// defaultACL is what a directory hands down; nil: nothing.
func (t *tx) defaultACL(p *node) ([]byte, error) {
	switch {
	case p.in != nil:
		list, _, err := t.db.Xattr(p.in, posixacl.Default)
		return list, err
	case p.base.gone:
		return nil, nil
	}
	now, err := t.ask(fact{kind: objectFact, path: p.base.path})
	if err != nil {
		return nil, err
	}
	return now.xattrs[posixacl.Default], now.err
}

// setInherited gives a new inode its lists.
func (t *tx) setInherited(in *sqlvfs.Inode, lists inherited) (err error) {
	if lists.access != nil {
		err = t.db.SetXattr(in, posixacl.Access, lists.access)
	}
	if err == nil && lists.byDefault != nil {
		err = t.db.SetXattr(in, posixacl.Default, lists.byDefault)
	}
	return err
}
