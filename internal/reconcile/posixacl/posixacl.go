// Package posixacl reads access control lists (acl(5)) and passes them on to what is made by the host.
package posixacl

import (
	"encoding/binary"
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
)

// The extended attributes that hold the lists.
const (
	Access  = "system.posix_acl_access"
	Default = "system.posix_acl_default"
)

// Of struct posix_acl_xattr_entry in linux/posix_acl_xattr.h: tag and permissions of 16 bits each, then an
// id. Before the entries is a version of 32 bits.
const (
	Version   = 2
	header    = 4
	entrySize = 8

	UserObj  = 0x01
	GroupObj = 0x04
	Mask     = 0x10
	Other    = 0x20
)

var errACL = errors.New("access control list of an unknown form")

// entries calls f for the tag and the permissions of each entry of a list, which it may change.
func entries(list []byte, f func(tag, perm uint16) uint16) error {
	if len(list) < header || (len(list)-header)%entrySize != 0 || binary.LittleEndian.Uint32(list) != Version {
		return errACL
	}
	for e := list[header:]; len(e) > 0; e = e[entrySize:] {
		perm := binary.LittleEndian.Uint16(e[2:])
		binary.LittleEndian.PutUint16(e[2:], f(binary.LittleEndian.Uint16(e), perm))
	}
	return nil
}

// groupClass is the tag of the entry that a mode's group bits stand for: the mask, if there is one.
func groupClass(list []byte) (tag uint16, err error) {
	tag = GroupObj
	err = entries(list, func(t, perm uint16) uint16 {
		if t == Mask {
			tag = Mask
		}
		return perm
	})
	return tag, err
}

// owningGroup returns what a list gives to the file's own group, in a mode's group bits.
func owningGroup(list []byte) (bits uint32, err error) {
	err = entries(list, func(t, perm uint16) uint16 {
		if t == GroupObj {
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
	err = entries(own, func(tag, perm uint16) uint16 {
		shift := map[uint16]uint32{UserObj: 6, group: 3, Other: 0}
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

// Inherit gives a new file or directory, which is open, what follows from the default list of the directory that it
// is going to be in, and returns the mode that it may have.
func Inherit(f *os.File, list []byte, mode uint32) (uint32, error) {
	if list == nil {
		return mode, nil
	}
	own, left, err := made(list, mode)
	if err != nil {
		return mode, err
	}
	if st, err := hostfs.Stat(f); err != nil {
		return mode, err
	} else if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		if err := unix.Setxattr(hostfs.Path(f), Default, list, 0); err != nil {
			return mode, err
		}
	}
	return left, unix.Setxattr(hostfs.Path(f), Access, own, 0)
}

// TakeOver gives a file, which is open, the list of the one that it is going to replace, and returns the mode that it
// may have.
func TakeOver(f, old *os.File, mode uint32) (uint32, error) {
	list, err := hostfs.Xattr(old, Access)
	if list == nil || err != nil {
		return mode, err
	}
	if err := unix.Fsetxattr(int(f.Fd()), Access, list, 0); err == nil {
		return mode, nil
	}
	// Without a list the group bits are the group's, and no more than the mask.
	group, err := owningGroup(list)
	return mode &^ (0o070 &^ group), err
}
