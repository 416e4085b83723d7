package fs

import (
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
// the system's administrator, and a program's capabilities. What else there is (labels of security
// modules, access control lists) is about the host's rules, which are not a guest's.
func checkXattr(name string) error {
	switch {
	case name == "user." || name == "trusted.":
		return syscall.EINVAL // as in xattr_resolve_name in fs/xattr.c
	case strings.HasPrefix(name, "user.") || strings.HasPrefix(name, "trusted.") || name == capability:
		return nil
	}
	return syscall.EOPNOTSUPP
}

// Listxattr implements FileSystem.
func (o *Overlay) Listxattr(c Caller, ino Ino) ([]string, error) {
	o.store.Lock()
	defer o.store.Unlock()
	n, err := o.get(ino)
	if err != nil {
		return nil, err
	}
	var names []string
	if n.in != nil {
		names, err = o.store.Xattrs(n.in)
	} else {
		var xattrs map[string][]byte
		xattrs, err = o.baseXattrs(n)
		names = slices.Sorted(maps.Keys(xattrs))
	}
	if o.privileged(c) {
		return names, err
	}
	// The kernel keeps others from reading and changing these, but not from seeing them listed
	// (xattr(7), "Trusted extended attributes").
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "trusted.") }), err
}

// Getxattr implements FileSystem.
func (o *Overlay) Getxattr(ino Ino, name string) ([]byte, error) {
	if err := checkXattr(name); err != nil {
		return nil, err
	}
	o.store.Lock()
	defer o.store.Unlock()
	n, err := o.get(ino)
	if err != nil {
		return nil, err
	}
	var value []byte
	var ok bool
	if n.in != nil {
		value, ok, err = o.store.Xattr(n.in, name)
	} else {
		var xattrs map[string][]byte
		xattrs, err = o.baseXattrs(n)
		value, ok = xattrs[name]
	}
	if err == nil && !ok {
		err = syscall.ENODATA
	}
	return value, err
}

// Setxattr implements FileSystem.
func (o *Overlay) Setxattr(ino Ino, name string, value []byte, flags uint32) error {
	return o.changeXattr(ino, name, func(in *sqlvfs.Inode, has bool) error {
		switch {
		case flags&unix.XATTR_CREATE != 0 && has:
			return syscall.EEXIST
		case flags&unix.XATTR_REPLACE != 0 && !has:
			return syscall.ENODATA
		}
		return o.store.SetXattr(in, name, slices.Clone(value))
	})
}

// Removexattr implements FileSystem.
func (o *Overlay) Removexattr(ino Ino, name string) error {
	return o.changeXattr(ino, name, func(in *sqlvfs.Inode, has bool) error {
		if !has {
			return syscall.ENODATA
		}
		return o.store.RemoveXattr(in, name)
	})
}

func (o *Overlay) changeXattr(ino Ino, name string, change func(in *sqlvfs.Inode, has bool) error) error {
	if err := checkXattr(name); err != nil {
		return err
	}
	o.store.Lock()
	defer o.store.Unlock()
	if err := o.store.Ready(); err != nil {
		return err
	}
	n, err := o.get(ino)
	if err != nil {
		return err
	}
	if err := o.copyUp(n); err != nil {
		return err
	}
	_, has, err := o.store.Xattr(n.in, name)
	if err != nil {
		return err
	}
	if err := change(n.in, has); err != nil {
		return err
	}
	n.in.Attr.Ctime = sqlvfs.Now()
	o.store.Dirty(n.in)
	return nil
}

// baseXattrs asks the host for an untouched node's attributes. Lock held; it is let go of meanwhile.
func (o *Overlay) baseXattrs(n *node) (map[string][]byte, error) {
	if n.gone && n.attr.IsDir() {
		return nil, nil
	}
	path := n.path
	n.holds++
	o.store.Unlock()
	xattrs, err := o.host.Xattrs(path)
	o.store.Lock()
	n.holds--
	o.drop(n)
	return xattrs, err
}

// privileged tells whether a caller may keep what a change of a file takes from others: only root
// does, and only where it is the system's (CAP_FSETID, capabilities(7)); a session's guest never is.
func (o *Overlay) privileged(c Caller) bool { return c.UID == 0 && o.owner == nil }

// killPrivileges takes away what made a program run with more rights than its caller's, before its
// content or its owner changes (file_remove_privs in fs/inode.c; the kernel leaves it to us, see
// handleKillpriv). Its mode may be spared. Lock held.
func (o *Overlay) killPrivileges(in *sqlvfs.Inode, spareMode bool) error {
	const group = syscall.S_ISGID | 0o010 // without the second, S_ISGID means nothing for a program
	if mode := in.Attr.Mode; mode&(syscall.S_ISUID|syscall.S_ISGID) != 0 && !spareMode {
		in.Attr.Mode &^= syscall.S_ISUID
		if mode&group == group {
			in.Attr.Mode &^= syscall.S_ISGID
		}
		o.store.Dirty(in)
	}
	return o.store.RemoveXattr(in, capability)
}
