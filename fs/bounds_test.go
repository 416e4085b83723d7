package fs

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/riverlytech/art/sqlvfs"
)

// Names that are not there are remembered up to a bound, also of many directories, and no longer than
// the directory is known.
func TestAbsentNamesAreBounded(t *testing.T) {
	s := newSession(t)
	o := s.overlay
	file := sqlvfs.Attr{Mode: syscall.S_IFREG, Nlink: 1}
	o.view(func(x *tx) error {
		o.watches = &watches{} // to be told of changes, as it were
		defer func() { o.watches = nil }()
		var dirs []*node
		for d := range maxNegativeAll/maxNegative + 3 {
			n := &node{ino: Ino(1<<60 + d), in: &sqlvfs.Inode{}, base: &base{path: fmt.Sprint(d), watch: &watch{}}}
			dirs = append(dirs, n)
			for i := range maxNegative + 10 {
				x.grantTTL(n, fmt.Sprint(i), nil, 0)
			}
			if n.base.negative > maxNegative || o.negative > maxNegativeAll {
				t.Fatalf("%d names are remembered, %d of them of one directory", o.negative, n.base.negative)
			}
		}
		if ttl := x.grantTTL(dirs[len(dirs)-1], "x", nil, 0); ttl != BaseTTL {
			t.Errorf("the kernel may keep one more for %v", ttl)
		}
		if ttl := x.grantTTL(dirs[0], "1", nil, 0); ttl != Forever {
			t.Errorf("the kernel may keep what is remembered for %v", ttl)
		}
		x.grantTTL(dirs[0], "1", &node{base: &base{attr: file}}, 0) // it is there now
		if o.negative != maxNegativeAll-1 {
			t.Errorf("%d names are remembered", o.negative)
		}
		for _, n := range dirs {
			for name := range n.base.dentries {
				x.forgetDentry(n, name)
			}
		}
		if o.negative != 0 {
			t.Errorf("%d names are remembered of no directory", o.negative)
		}
		return nil
	})
}

// Of directories that are begun to be read and left, the lists are kept up to a bound.
func TestListsAreBounded(t *testing.T) {
	s := newSession(t)
	o := s.overlay
	o.view(func(x *tx) error {
		list := func(n int) []dirent { return make([]dirent, n) }
		for i := range 2 * maxLists {
			x.keepList(&node{ino: Ino(i)}, list(10))
		}
		if len(o.listed) != maxLists || o.entries != 10*maxLists {
			t.Errorf("%d lists of %d entries are kept", len(o.listed), o.entries)
		}
		for range 3 {
			x.keepList(&node{}, list(maxEntries/2))
		}
		if o.entries > maxEntries {
			t.Errorf("%d entries are kept", o.entries)
		}
		huge := &node{}
		x.keepList(huge, list(2*maxEntries))
		x.keepList(huge, list(2*maxEntries)) // made anew
		if len(o.listed) != 1 || o.entries != 2*maxEntries || o.lists[huge] == nil {
			t.Errorf("%d lists of %d entries are kept, %v", len(o.listed), o.entries, o.lists[huge] == nil)
		}
		x.dropList(huge)
		if o.entries != 0 || len(o.listed) != 0 {
			t.Errorf("%d entries are kept", o.entries)
		}
		return nil
	})
}
