package sqlvfs

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
)

// However names come and go, and whenever they are counted for the first time, as many entries lead to an inode as names do. Some inodes get
// their origin long after their names.
func TestEntriesAreCounted(t *testing.T) {
	path := t.TempDir() + "/a.db"
	s := openTest(t, path)
	defer func() { s.Close() }()
	random := rand.New(rand.NewPCG(1, 2))
	var names [12]Ino // what each leads to; 0: nothing
	change := func(tx *Tx) {
		i := random.IntN(len(names))
		name, was := fmt.Sprint(i), names[i]
		var in *Inode
		var err error
		switch from := names[random.IntN(len(names))]; {
		case was != 0 && random.IntN(3) == 0:
			must(t, tx.Unlink(tx.Root(), name))
		case from != 0 && random.IntN(2) == 0:
			in, err = tx.Get(from)
		default:
			in, err = tx.New(Attr{Mode: syscall.S_IFREG | 0o644})
		}
		must(t, err)
		names[i] = 0
		if in != nil {
			must(t, tx.Link(tx.Root(), name, in))
			names[i] = in.Ino
			in.Attr.Nlink++
			if in.Origin == nil && random.IntN(4) == 0 {
				tx.SetOrigin(in, &Origin{Base: "ws", Path: name, Number: uint64(MaxIno) + uint64(in.Ino)})
			}
			tx.Dirty(in)
			defer tx.Put(in)
		}
		if was != 0 {
			old, err := tx.Get(was)
			must(t, err)
			old.Attr.Nlink--
			tx.Dirty(old)
			tx.Put(old)
		}
	}
	compared := 0
	for n := range 600 {
		step(s, change)
		switch n % 40 {
		case 10:
			must(t, s.Sync())
		case 30:
			must(t, s.Close())
			s = openTest(t, path)
		}
		if n%9 > 0 { // else nothing would be gathered when they are counted
			continue
		}
		step(s, func(tx *Tx) {
			for i, ino := range names {
				if ino == 0 {
					continue
				}
				in, err := tx.Get(ino)
				must(t, err)
				want := 0
				for _, other := range names {
					if other == ino {
						want++
					}
				}
				if got, err := tx.Entries(in); in.Origin != nil && (err != nil || got != want) {
					t.Errorf("after %d changes %d entries lead to what %d leads to, %v, want %d", n+1, got, i, err, want)
				} else if in.Origin != nil {
					compared++
				}
				tx.Put(in)
			}
		})
	}
	if compared < 100 {
		t.Errorf("only %d counts were compared", compared)
	}
}
