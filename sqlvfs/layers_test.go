package sqlvfs

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// What a fork, and a store that shows a checkpoint, read of one inode takes no longer when there are many others.
func TestLayersAreNotReadAsAWhole(t *testing.T) {
	steps := func(others int) map[string]int {
		t.Helper()
		path := t.TempDir() + "/a.db"
		s, err := Open(path, Options{Create: true, Root: rootAttr})
		must(t, err)
		must(t, s.Update(func(tx *Tx) error {
			dir := newDir(t, tx, tx.Root(), "dir")
			defer tx.Put(dir)
			for i := range others {
				d := newDir(t, tx, dir, fmt.Sprint(i))
				tx.SetOrigin(d, &Origin{Base: "ws", Path: fmt.Sprint(i), Number: uint64(MaxIno) + uint64(i)})
				tx.Put(d)
			}
			empty := newDir(t, tx, tx.Root(), "empty")
			tx.Put(empty)
			return nil
		}))
		secret := NewSecret()
		at, err := s.AddFork(path+".fork", secret, "")
		must(t, err)
		must(t, s.Close())
		must(t, MakeFork(path, path+".fork", secret, at))
		taken := map[string]int{}
		for name, opt := range map[string]Options{path + ".fork": {ReadOnly: true}, path: {ReadOnly: true, At: "1"}} {
			s, err := Open(name, opt)
			must(t, err)
			empty := lookup(t, s, "empty")
			must(t, s.View(func(tx *Tx) error {
				for _, query := range []string{qInode, qChildren, qWhiteouts, qXattrs, qTarget, qBirth} {
					q := bind(tx.meta.Prep(query), empty.Ino)
					for tx.meta.Step(q) {
					}
					n := q.Status(sqlite3.STMTSTATUS_VM_STEP, false)
					must(t, tx.meta.Done(q))
					if n == 0 {
						t.Errorf("%s: no step", query)
					}
					taken[opt.At+": "+query] = n
				}
				return nil
			}))
			put(s, empty)
			must(t, s.Close())
		}
		return taken
	}
	few, many := steps(10), steps(2000)
	for query, n := range few {
		if many[query] > 2*n {
			t.Errorf("%d steps with 10 other inodes, %d with 2000: at %s", n, many[query], query)
		}
	}
}

func newDir(t *testing.T, tx *Tx, parent *Inode, name string) *Inode {
	t.Helper()
	dir, err := tx.New(Attr{Mode: syscall.S_IFDIR | 0o755, Nlink: 2})
	must(t, err)
	must(t, tx.Link(parent, name, dir))
	return dir
}
