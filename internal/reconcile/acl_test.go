package reconcile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/posixacl"
)

// acl makes a list of entries as setfacl(1) takes them: u::rw,u:99:r,g::-,m::r,o::-
func acl(text string) []byte {
	list := binary.LittleEndian.AppendUint32(nil, posixacl.Version)
	for e := range strings.SplitSeq(text, ",") {
		part := strings.Split(e, ":")
		tags := map[string]uint16{"u": posixacl.UserObj, "g": posixacl.GroupObj, "m": posixacl.Mask, "o": posixacl.Other}
		tag, id := tags[part[0]], ^uint32(0)
		if part[1] != "" {
			fmt.Sscan(part[1], &id)
			tag <<= 1 // ACL_USER and ACL_GROUP
		}
		perm := uint16(0)
		for _, c := range part[2] {
			perm |= map[rune]uint16{'r': 4, 'w': 2, 'x': 1, '-': 0}[c]
		}
		list = binary.LittleEndian.AppendUint16(list, tag)
		list = binary.LittleEndian.AppendUint16(list, perm)
		list = binary.LittleEndian.AppendUint32(list, id)
	}
	return list
}

func (b bench) setACL(rel, which, text string) {
	b.t.Helper()
	if err := unix.Setxattr(b.path(rel), which, acl(text), 0); err == unix.ENOTSUP {
		b.t.Skip("the file system has no access control lists")
	} else {
		must(b.t, err)
	}
}

func (b bench) wantACL(rel, which, text string) {
	b.t.Helper()
	f, err := os.Open(b.path(rel))
	must(b.t, err)
	defer f.Close()
	got, err := hostfs.Xattr(f, which)
	must(b.t, err)
	var want []byte
	if text != "" {
		want = acl(text)
	}
	if !bytes.Equal(got, want) {
		b.t.Errorf("%s of %s:\n% x, want\n% x", which, rel, got, want)
	}
}

// The mask is what a mode's group bits stand for. Without the list, the group would have what it gives to
// one user.
func TestPullKeepsAccessControlLists(t *testing.T) {
	for name, test := range map[string]struct {
		mode uint32 // that the guest gives the file; 0: none
		want string
	}{
		"written": {0, "u::rw,u:99:r,g::-,m::r,o::-"},
		"chmod":   {0o606, "u::rw,u:99:r,g::-,m::-,o::rw"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.write("f", "of the host")
			must(t, os.Chmod(b.path("f"), 0o600))
			b.setACL("f", posixacl.Access, "u::rw,u:99:r,g::-,m::r,o::-")
			b.guest(func(g *guest) {
				g.write("f", "of the guest")
				if test.mode != 0 {
					g.chmod("f", test.mode)
				}
			})
			b.pull(b.ws)
			wantContent(t, b.path("f"), "of the guest")
			b.wantACL("f", posixacl.Access, test.want)
			if out, told := b.pull(b.ws); strings.Count(out, "\n") != 2 || told != "" {
				t.Errorf("again:\n%s%s", out, told)
			}
		})
	}
}

func TestPullGivesNewFilesTheDefaultList(t *testing.T) {
	b := newBench(t)
	b.write("d/there", "")
	b.setACL("d", posixacl.Default, "u::rwx,u:99:rwx,g::rx,m::rwx,o::-")
	b.setACL(".", posixacl.Default, "u::rwx,u:98:r,g::-,m::r,o::-")
	b.guest(func(g *guest) {
		g.write("d/new", "1")
		g.mkdir("d/sub")
		g.write("d/sub/deep", "2")
		g.write("top", "3")
	})
	b.pull(b.ws)
	b.wantACL("d/new", posixacl.Access, "u::rw,u:99:rwx,g::rx,m::r,o::-")
	b.wantACL("d/sub/deep", posixacl.Access, "u::rw,u:99:rwx,g::rx,m::r,o::-")
	b.wantACL("d/sub", posixacl.Default, "u::rwx,u:99:rwx,g::rx,m::rwx,o::-")
	b.wantACL("top", posixacl.Access, "u::rw,u:98:r,g::-,m::r,o::-")
	b.wantACL("d/there", posixacl.Access, "")
	if out, told := b.pull(b.ws); strings.Count(out, "\n") != 2 || told != "" {
		t.Errorf("again:\n%s%s", out, told)
	}
}
