package posix

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/riverlytech/art/internal/posixacl"
)

// list is an access control list, of entries such as u::rw- and g:10001:r--, as setxattr(2) has it.
func list(entries ...string) string {
	b := binary.LittleEndian.AppendUint32(nil, posixacl.Version)
	for _, e := range entries {
		part := strings.Split(e, ":")
		tag := map[string]uint16{"u": posixacl.UserObj, "g": posixacl.GroupObj, "m": posixacl.Mask, "o": posixacl.Other}[part[0]]
		id := uint64(1<<32 - 1)
		if part[1] != "" {
			tag <<= 1 // of a named one
			id, _ = strconv.ParseUint(part[1], 10, 32)
		}
		perm := uint16(0)
		for i, c := range "xwr" {
			if strings.ContainsRune(part[2], c) {
				perm |= 1 << i
			}
		}
		b = binary.LittleEndian.AppendUint16(b, tag)
		b = binary.LittleEndian.AppendUint16(b, perm)
		b = binary.LittleEndian.AppendUint32(b, uint32(id))
	}
	var quoted strings.Builder
	for _, c := range b {
		fmt.Fprintf(&quoted, `\x%02x`, c)
	}
	return `"` + quoted.String() + `"`
}

// aclStories are files and directories with access control lists, used by everyone.
func aclStories(add adder) {
	lists := []string{
		list("u::rw", "g::r", "o::"),
		list("u::rw", "u:10002:rw", "g::", "m::rw", "o::"),
		list("u::rwx", "u:10002:rwx", "g::r", "g:10001:rw", "m::r", "o::x"),
		list("u::", "u:10001:rwx", "g::rwx", "m::", "o::rwx"),
		list("u::rwx", "u:10002:", "g::rwx", "m::rwx", "o::rwx"),
		list("u::rwx", "g:10001:rwx", "g::r", "m::rx", "o::"), // in a wrong order
		list("u::rwx", "u:10002:rwx", "g::r", "o::"),          // without a mask
		`""`, `"\x02\x00\x00\x00"`, `"\x02\x00\x00\x00\x01"`, `"\x03\x00\x00\x00"`,
	}
	objects := []string{"reg x 0640 owner owner", "reg x 06775 owner owner", "dir x 0750 owner owner", "dir x 02777 root owner", "fifo x 0666 owner owner", "sym x y; reg y 0640"}
	const access, byDefault = posixacl.Access, posixacl.Default
	for _, who := range people {
		for _, object := range objects {
			for i, l := range lists {
				for _, name := range []string{access, byDefault} {
					add(object, fmt.Sprintf("%[1]s setxattr x %[2]s %[3]s NONE; root getxattr x %[2]s; root listxattr x; %[1]s removexattr x %[2]s; root removexattr x %[2]s", who, name, l))
				}
				if i >= 5 {
					continue
				}
				begin := object + "; setxattr x " + access + " " + l + " NONE"
				add(begin, fmt.Sprintf("%[1]s open f x RDONLY; %[1]s access x 2; %[1]s access x 1; %[1]s getxattr x %[2]s; %[1]s chmod x 0604; root getxattr x %[2]s; %[1]s access x 4; %[1]s access x 2", who, access))
				add(begin, fmt.Sprintf("root chmod x 0530; %[1]s access x 1; %[1]s access x 2; %[1]s access x 4; root getxattr x %[2]s", who, access))
				add(begin, fmt.Sprintf("%[1]s truncate x 3; %[1]s rename x z; root getxattr z %[2]s; %[1]s lstat z", who, access))
				add(begin, fmt.Sprintf("root chown x other other; root getxattr x %[2]s; %[1]s access x 4; %[1]s access x 2", who, access))
			}
		}
		for _, l := range lists[:5] {
			begin := "dir d 0777 owner owner; dir d/old 0755; setxattr d " + byDefault + " " + l + " NONE"
			for _, mode := range []string{"0777", "0640", "0600", "07777"} {
				for _, umask := range []string{"0", "022", "077"} {
					add(begin, fmt.Sprintf("%[1]s umask %[2]s; %[1]s open f d/x RDWR|CREAT %[3]s; %[1]s mkdir d/y %[3]s; %[1]s mkfifo d/p %[3]s; "+
						"%[1]s symlink t d/s; %[1]s mkdir d/old/z %[3]s; %[1]s lstat d/x; %[1]s lstat d/y; %[1]s mkdir d/y/deep %[3]s; "+
						"root getxattr d/x %[4]s; root getxattr d/y %[4]s; root getxattr d/y %[5]s; root listxattr d/y/deep; root listxattr d/old/z", who, umask, mode, access, byDefault))
				}
			}
			add(begin, fmt.Sprintf("%[1]s umask 077; %[1]s open f d TMPFILE|RDWR 0666; %[1]s fstat f; %[1]s umask 0; %[1]s open g d TMPFILE|RDWR 0640; %[1]s fstat g", who))
			add("dir d 0777", fmt.Sprintf("%[1]s umask 027; %[1]s open f d TMPFILE|RDWR 0666; %[1]s fstat f", who))
			add(begin, fmt.Sprintf("%[1]s rename d/old d/new; root listxattr d/new; root removexattr d %[2]s; %[1]s mkdir d/y 0777; root listxattr d/y", who, byDefault))
		}
	}
}
