package sqlvfs

import (
	"fmt"
	"maps"
	"slices"
	"syscall"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/inode"
)

const (
	// XattrNameMax is the longest name of an extended attribute, in bytes (XATTR_NAME_MAX in
	// linux/limits.h).
	XattrNameMax = 255
	// XattrSizeMax is the largest value of an extended attribute, in bytes (XATTR_SIZE_MAX).
	XattrSizeMax = inode.XattrSizeMax
	// XattrListMax bounds the names of one inode together, with a zero byte behind each, in bytes
	// (XATTR_LIST_MAX): no program could list more.
	XattrListMax = 64 << 10
)

// Xattrs returns the names of an inode's extended attributes in order.
func (tx *Tx) Xattrs(in *Inode) ([]string, error) {
	if err := tx.loadXattrs(in); err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(in.xattrs)), nil
}

// Xattr returns the value of an extended attribute, which must not be changed. ok is false if the
// inode does not have it.
func (tx *Tx) Xattr(in *Inode, name string) (value []byte, ok bool, err error) {
	if err := tx.loadXattrs(in); err != nil {
		return nil, false, err
	}
	value, ok = in.xattrs[name]
	return value, ok, nil
}

// SetXattr gives an inode an extended attribute, whose value it keeps. The error is syscall.ENOSPC
// when the names could not be listed any more, and syscall.ERANGE or syscall.E2BIG for a name or a
// value that no file system has.
func (tx *Tx) SetXattr(in *Inode, name string, value []byte) error {
	switch {
	case name == "" || len(name) > XattrNameMax:
		return syscall.ERANGE
	case len(value) > XattrSizeMax:
		return syscall.E2BIG
	}
	if err := tx.loadXattrs(in); err != nil {
		return err
	}
	if _, ok := in.xattrs[name]; !ok {
		names := len(name) + 1
		for other := range in.xattrs {
			names += len(other) + 1
		}
		if names > XattrListMax {
			return syscall.ENOSPC
		}
	}
	if value == nil {
		value = []byte{}
	}
	tx.touch(in, 0)
	key := xattrKey{in, name}
	_, there := in.xattrs[name]
	tx.gather.xattrs.put(key, value, there || tx.inflight != nil && has(tx.inflight.xattrs, key))
	tx.gather.bytes += len(name) + len(value)
	if in.xattrs == nil {
		in.hold().xattrs = map[string][]byte{}
	}
	in.xattrs[name] = value
	if in != tx.made {
		tx.note(in, Attributes)
	}
	return nil
}

// RemoveXattr takes an extended attribute away, if it is there.
func (tx *Tx) RemoveXattr(in *Inode, name string) error {
	if err := tx.loadXattrs(in); err != nil {
		return err
	}
	if _, ok := in.xattrs[name]; ok {
		delete(in.xattrs, name)
		tx.touch(in, 0)
		tx.gather.xattrs.remove(xattrKey{in, name})
		tx.gather.bytes += len(name)
		tx.note(in, Attributes)
	}
	return nil
}

// loadXattrs reads an inode's extended attributes, once. Where there are none, nothing is kept of that but that.
func (tx *Tx) loadXattrs(in *Inode) error {
	if err := tx.refresh(in); err != nil {
		return err
	}
	if in.xattrs != nil || in.tables&xattrRows == 0 {
		tx.clean.use(in)
		return nil
	}
	xattrs, none := map[string][]byte{}, true
	err := tx.each(qXattrs, func(q *sqlite3.Stmt) {
		name, value := string(q.ColumnRawText(0)), q.ColumnBlob(1, []byte{})
		none = false
		// Like names that no directory can hold: not shown.
		if name != "" && len(name) <= XattrNameMax && len(value) <= XattrSizeMax {
			xattrs[name] = value
		}
	}, in.Ino)
	if err != nil {
		return fmt.Errorf("extended attributes of inode %d: %w", in.Ino, err)
	}
	if none {
		in.tables &^= xattrRows
		return nil
	}
	in.hold().xattrs = xattrs
	tx.keep(in)
	return nil
}
