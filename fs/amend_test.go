package fs

import (
	"fmt"
	"slices"
	"syscall"
	"testing"

	"github.com/riverlytech/art/sqlvfs"
)

// cacheBefore618 is that of a kernel that is not to be asked to let go of what nobody uses.
type cacheBefore618 struct{ cache }

func (c *cacheBefore618) Prune([]Ino) error { return syscall.EINVAL }

// An entry whose content the host has goes when the kernel forgets the inode, which it is asked for, and not if that was changed.
func TestReleasedWhenForgotten(t *testing.T) {
	s := newSession(t)
	s.plant("f", []byte("the host's"))
	s.plant("g", []byte("the host's"))
	for _, name := range []string{"ws/f", "ws/g"} {
		s.write(name, []byte("the guest's"), 0)
	}
	c := &cacheBefore618{}
	defer s.overlay.Connect(c)()
	changes := &sqlvfs.Changes{}
	var told []string
	s.must(s.overlay.view(func(tx *tx) error {
		for _, name := range []string{"f", "g"} {
			ws, err := tx.lookup(tx.nodes[RootIno], workspace)
			if err != nil {
				return err
			}
			n, err := tx.lookup(ws, name)
			if err != nil {
				return err
			}
			told = append(told, fmt.Sprintf("%d/%s", ws.ino, name))
			changes.Releases = append(changes.Releases, sqlvfs.Release{Dir: ws.in.Ino, Name: name, Ino: n.in.Ino, Ctime: n.in.Attr.Ctime, Tree: tx.tree(), Path: name})
		}
		return nil
	}))
	s.must(changes.Check())
	s.must(Freeze(s.store, []*Overlay{s.overlay}, func() {})) // what changes after it has a later change time
	s.must(Amend(s.store, []*Overlay{s.overlay}, changes, nil))
	for _, name := range told {
		if !slices.Contains(c.said, name) {
			t.Errorf("the kernel is not told of %s, but %q", name, c.said)
		}
	}
	s.reads("ws/f", []byte("the guest's"))
	s.write("ws/g", []byte("changed since"), 0)
	s.forget()
	s.reads("ws/f", []byte("the host's"))
	s.reads("ws/g", []byte("changed since"))
}
