package fs

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// Extended attributes. An untouched inode shows the base's; a copy-up takes them along, and from
// then on the delta's are the inode's own. Who may do what is the kernel's to check
// (xattr_permission in fs/xattr.c).

// capability is what setcap(8) sets.
const capability = "security.capability"

// checkXattr refuses names that an overlay has no attributes of. It has those of programs, those of
// the system's administrator, a program's capabilities, and access control lists. What else there is (labels of security
// modules) is about the host's rules, which are not a guest's.
func checkXattr(name string) error {
	switch {
	case name == "user." || name == "trusted.":
		return syscall.EINVAL // as in xattr_resolve_name in fs/xattr.c
	case strings.HasPrefix(name, "user.") || strings.HasPrefix(name, "trusted.") || name == capability || isACL(name):
		return nil
	}
	return syscall.EOPNOTSUPP
}

func (o *Overlay) checkXattr(name string) error {
	if isACL(name) && !o.acl {
		return syscall.EOPNOTSUPP
	}
	return checkXattr(name)
}

// Listxattr implements FileSystem.
func (o *Overlay) Listxattr(c Caller, ino Ino) (names []string, err error) {
	list := func(name string, value []byte) {
		shown := true
		if isACL(name) {
			_, shown = o.showACL(value)
		}
		if shown {
			names = append(names, name)
		}
	}
	err = o.xattrs(ino, func(t *tx, in *sqlvfs.Inode) error {
		names = nil
		all, err := t.db.Xattrs(in)
		for _, name := range all {
			value, _, err := t.db.Xattr(in, name)
			if err != nil {
				return err
			}
			list(name, value)
		}
		return err
	}, func(xattrs map[string][]byte) {
		for _, name := range slices.Sorted(maps.Keys(xattrs)) {
			list(name, xattrs[name])
		}
	})
	if o.privileged(c) {
		return names, err
	}
	// The kernel keeps others from reading and changing these, but not from seeing them listed
	// (xattr(7), "Trusted extended attributes").
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "trusted.") }), err
}

// Getxattr implements FileSystem.
func (o *Overlay) Getxattr(ino Ino, name string) (value []byte, err error) {
	if err := o.checkXattr(name); err != nil {
		return nil, err
	}
	ok := false
	err = o.xattrs(ino, func(t *tx, in *sqlvfs.Inode) (err error) {
		value, ok, err = t.db.Xattr(in, name)
		return err
	}, func(xattrs map[string][]byte) { value, ok = xattrs[name] })
	if err == nil && ok && isACL(name) {
		value, ok = o.showACL(value)
	}
	if err == nil && !ok {
		err = syscall.ENODATA
	}
	return value, err
}

// xattrs looks at an inode's attributes, where they are the delta's or where they are the base's.
func (o *Overlay) xattrs(ino Ino, delta func(*tx, *sqlvfs.Inode) error, base func(map[string][]byte)) error {
	path := ""
	err := o.view(func(t *tx) error {
		n, err := t.get(ino)
		switch {
		case err != nil || n.in == nil && n.base.gone && n.base.attr.IsDir():
			return err
		case n.in != nil:
			return delta(t, n.in)
		}
		path = n.base.path
		return nil
	})
	if err != nil || path == "" {
		return err
	}
	xattrs, err := o.host.Xattrs(path)
	base(xattrs)
	return err
}

// Setxattr implements FileSystem.
func (o *Overlay) Setxattr(c Caller, ino Ino, name string, value []byte, flags uint32) error {
	return o.changeXattr(c.By, ino, name, func(t *tx, in *sqlvfs.Inode, has bool) error {
		switch {
		case flags&unix.XATTR_CREATE != 0 && has:
			return syscall.EEXIST
		case flags&unix.XATTR_REPLACE != 0 && !has:
			return syscall.ENODATA
		}
		if isACL(name) {
			return t.setACL(in, name, value, flags, has)
		}
		return t.db.SetXattr(in, name, slices.Clone(value))
	})
}

// Removexattr implements FileSystem.
func (o *Overlay) Removexattr(c Caller, ino Ino, name string) error {
	return o.changeXattr(c.By, ino, name, func(t *tx, in *sqlvfs.Inode, has bool) error {
		switch {
		case !has && isACL(name):
			return errUnchanged
		case !has:
			return syscall.ENODATA
		}
		return t.db.RemoveXattr(in, name)
	})
}

func (o *Overlay) changeXattr(by Author, ino Ino, name string, change func(t *tx, in *sqlvfs.Inode, has bool) error) error {
	if err := o.checkXattr(name); err != nil {
		return err
	}
	return o.update(by, func(t *tx) error {
		n, err := t.get(ino)
		if err != nil {
			return err
		}
		if err := t.copyUp(n); err != nil {
			return err
		}
		_, has, err := t.db.Xattr(n.in, name)
		if err != nil {
			return err
		}
		if err := change(t, n.in, has); errors.Is(err, errUnchanged) {
			return nil
		} else if err != nil {
			return err
		}
		n.in.Change(sqlvfs.Now())
		t.db.Dirty(n.in)
		return nil
	})
}

// privileged tells whether a caller may keep what a change of a file takes from others: only root
// does, and only where it is the system's (CAP_FSETID, capabilities(7)); a session's guest never is.
func (o *Overlay) privileged(c Caller) bool { return c.UID == 0 && o.owner == nil }

// killPrivileges takes away what made a program run with more rights than its caller's, before its
// content or its owner changes (file_remove_privs in fs/inode.c; the kernel leaves it to us, see
// handleKillpriv). Its mode may be spared.
func (t *tx) killPrivileges(in *sqlvfs.Inode, spareMode bool) error {
	const group = syscall.S_ISGID | 0o010 // without the second, S_ISGID means nothing for a program
	if mode := in.Attr.Mode; mode&(syscall.S_ISUID|syscall.S_ISGID) != 0 && !spareMode {
		in.Attr.Mode &^= syscall.S_ISUID
		if mode&group == group {
			in.Attr.Mode &^= syscall.S_ISGID
		}
		t.db.Dirty(in)
	}
	return t.db.RemoveXattr(in, capability)
}
