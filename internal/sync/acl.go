package sync

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path"
	"sync"

	"golang.org/x/sys/unix"
)

// Access control lists (acl(5)) are the host's alone: the guest sees none, and none of its own is kept. A
// file that replaces one of the host's has that one's list, and the mode that the guest gave it acts on it
// as chmod(2) does: so it opens to nobody whom the list keeps out. What is new in a directory takes that
// directory's default list, as what is made there does.

const (
	accessList  = "system.posix_acl_access"
	defaultList = "system.posix_acl_default"

	maxACL = 64 << 10 // XATTR_SIZE_MAX in linux/limits.h
)

// Of struct posix_acl_xattr_entry in linux/posix_acl_xattr.h: tag and permissions of 16 bits each, then an
// id. Before the entries is a version of 32 bits.
const (
	aclVersion = 2
	aclHeader  = 4
	aclEntry   = 8

	aclUserObj  = 0x01
	aclGroupObj = 0x04
	aclMask     = 0x10
	aclOther    = 0x20
)

var errACL = errors.New("access control list of an unknown form")

// readACL reads a list, or another attribute, of the object that fd is, which may be open with O_PATH; nil: it has none.
func readACL(fd int, which string) ([]byte, error) {
	buf := make([]byte, 256)
	object := fmt.Sprintf("/proc/self/fd/%d", fd)
	n, err := unix.Getxattr(object, which, buf)
	if err == unix.ERANGE {
		buf = make([]byte, maxACL)
		n, err = unix.Getxattr(object, which, buf)
	}
	switch err {
	case nil:
		return buf[:n], nil
	case unix.ENODATA, unix.ENOTSUP:
		return nil, nil
	}
	return nil, err
}

// aclEntries calls f for the tag and the permissions of each entry of a list, which it may change.
func aclEntries(list []byte, f func(tag, perm uint16) uint16) error {
	if len(list) < aclHeader || (len(list)-aclHeader)%aclEntry != 0 || binary.LittleEndian.Uint32(list) != aclVersion {
		return errACL
	}
	for e := list[aclHeader:]; len(e) > 0; e = e[aclEntry:] {
		perm := binary.LittleEndian.Uint16(e[2:])
		binary.LittleEndian.PutUint16(e[2:], f(binary.LittleEndian.Uint16(e), perm))
	}
	return nil
}

// groupClass is the tag of the entry that a mode's group bits stand for: the mask, if there is one.
func groupClass(list []byte) (tag uint16, err error) {
	tag = aclGroupObj
	err = aclEntries(list, func(t, perm uint16) uint16 {
		if t == aclMask {
			tag = aclMask
		}
		return perm
	})
	return tag, err
}

// owningGroup returns what a list gives to the file's own group, in a mode's group bits.
func owningGroup(list []byte) (bits uint32, err error) {
	err = aclEntries(list, func(t, perm uint16) uint16 {
		if t == aclGroupObj {
			bits = uint32(perm&7) << 3
		}
		return perm
	})
	return bits, err
}

// made returns the list of an object that is made with a mode in a directory that has a default list, and
// the mode that it has then (posix_acl_create_masq in fs/posix_acl.c).
func made(list []byte, mode uint32) ([]byte, uint32, error) {
	own := append([]byte(nil), list...)
	group, err := groupClass(own)
	if err != nil {
		return nil, 0, err
	}
	left := mode &^ 0o777
	err = aclEntries(own, func(tag, perm uint16) uint16 {
		shift := map[uint16]uint32{aclUserObj: 6, group: 3, aclOther: 0}
		by, ok := shift[tag]
		if !ok {
			return perm
		}
		perm &= uint16(mode >> by & 7)
		left |= uint32(perm) << by
		return perm
	})
	return own, left, err
}

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
		list, err = readACL(int(f.Fd()), defaultList)
		f.Close()
	case dir != "." && (err == unix.ENOENT || err == unix.ENOTDIR || err == unix.ELOOP):
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
func (d *defaults) inherit(h *host, f *os.File, at string, mode uint32) (uint32, error) {
	list, err := d.of(h, path.Dir(at))
	if list == nil || err != nil {
		return mode, err
	}
	own, left, err := made(list, mode)
	if err != nil {
		return mode, err
	}
	object := fmt.Sprintf("/proc/self/fd/%d", int(f.Fd()))
	if st, err := fstat(f); err != nil {
		return mode, err
	} else if kind(st.Mode) == unix.S_IFDIR {
		if err := unix.Setxattr(object, defaultList, list, 0); err != nil {
			return mode, err
		}
	}
	return left, unix.Setxattr(object, accessList, own, 0)
}

// takeOver gives a file, which is open, the list of the host's file that it is going to replace, and returns
// the mode that it may have.
func takeOver(h *host, f *os.File, at string, mode uint32) (uint32, error) {
	old, err := h.open(at, unix.O_PATH)
	if err == unix.ENOENT {
		return mode, nil
	}
	if err != nil {
		return mode, err
	}
	defer old.Close()
	list, err := readACL(int(old.Fd()), accessList)
	if list == nil || err != nil {
		return mode, err
	}
	if err := unix.Fsetxattr(int(f.Fd()), accessList, list, 0); err == nil {
		return mode, nil
	}
	// Without a list the group bits are the group's, and no more than the mask.
	group, err := owningGroup(list)
	return mode &^ (0o070 &^ group), err
}
