// Package posixacl reads access control lists (acl(5)), keeps them in step with modes, and passes them on to what is
// made by the host.
package posixacl

import (
	"bytes"
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
	User     = 0x02
	GroupObj = 0x04
	Group    = 0x08
	Mask     = 0x10
	Other    = 0x20
)

var errACL = errors.New("access control list of an unknown form")

// entries calls f for the tag and the permissions of each entry of a list, and sets these to what it returns.
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

// classes calls f for the permissions of those entries that a mode's bits stand for, and sets these to what it
// returns; shift is where the bits are. extended tells whether the list has others as well: then the group's bits are
// the mask's.
func classes(list []byte, f func(shift uint32, perm uint16) uint16) (extended bool, err error) {
	shifts := map[uint16]uint32{UserObj: 6, GroupObj: 3, Other: 0}
	err = entries(list, func(tag, perm uint16) uint16 {
		switch tag {
		case UserObj, GroupObj, Other:
		default:
			extended = true
		}
		if tag == Mask {
			delete(shifts, GroupObj)
			shifts[Mask] = 3
		}
		return perm
	})
	if err != nil {
		return false, err
	}
	return extended, entries(list, func(tag, perm uint16) uint16 {
		if shift, ok := shifts[tag]; ok {
			return f(shift, perm)
		}
		return perm
	})
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

// Mode returns the mode of an object that gets a list (posix_acl_update_mode in fs/posix_acl.c). extended is false if the
// mode says all that the list does.
func Mode(list []byte, mode uint32) (left uint32, extended bool, err error) {
	left = mode &^ 0o777
	extended, err = classes(list, func(shift uint32, perm uint16) uint16 {
		left |= uint32(perm&7) << shift
		return perm
	})
	return left, extended, err
}

// Chmod returns the list of an object whose mode changes (posix_acl_chmod in fs/posix_acl.c).
func Chmod(list []byte, mode uint32) ([]byte, error) {
	own := bytes.Clone(list)
	_, err := classes(own, func(shift uint32, _ uint16) uint16 { return uint16(mode >> shift & 7) })
	return own, err
}

// Made returns the list of an object that is made with a mode in a directory that has a default list, and
// the mode that it has then (posix_acl_create in fs/posix_acl.c). extended is false if the mode says all that the list does.
func Made(list []byte, mode uint32) (own []byte, left uint32, extended bool, err error) {
	own = bytes.Clone(list)
	left = mode &^ 0o777
	extended, err = classes(own, func(shift uint32, perm uint16) uint16 {
		perm &= uint16(mode >> shift & 7)
		left |= uint32(perm) << shift
		return perm
	})
	return own, left, extended, err
}

// Translate returns a list with other ids; ok is false if one has none.
func Translate(list []byte, id func(tag uint16, id uint32) (other uint32, ok bool)) (out []byte, ok bool) {
	out, ok = bytes.Clone(list), true
	if entries(out, func(_, perm uint16) uint16 { return perm }) != nil {
		return nil, false
	}
	for e := out[header:]; len(e) > 0; e = e[entrySize:] {
		tag := binary.LittleEndian.Uint16(e)
		if tag != User && tag != Group {
			continue
		}
		other, has := id(tag, binary.LittleEndian.Uint32(e[4:]))
		binary.LittleEndian.PutUint32(e[4:], other)
		ok = ok && has
	}
	return out, ok
}

// Inherit gives a new file or directory, which is open, what follows from the default list of the directory that it
// is going to be in, and returns the mode that it may have.
func Inherit(f *os.File, list []byte, mode uint32) (uint32, error) {
	if list == nil {
		return mode, nil
	}
	own, left, _, err := Made(list, mode)
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
