package sqlvfs

import (
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

var momentFiles = flag.Int("moment-files", 0, "how many files TestMomentsAreQuick has, if it is to run")

// Times of checkpoints and of going back, in a tree of many files.
func TestMomentsAreQuick(t *testing.T) {
	if *momentFiles == 0 {
		t.Skip("give -moment-files")
	}
	path := filepath.Join(t.TempDir(), "a.db")
	s, err := Open(path, Options{Create: true, Root: rootAttr, Bulk: true})
	must(t, err)
	const inDir = 100
	for d := 0; d*inDir < *momentFiles; d++ {
		must(t, s.Update(func(tx *Tx) error {
			dir, err := tx.New(Attr{Mode: syscall.S_IFDIR | 0o755, Nlink: 2})
			must(t, err)
			defer tx.Put(dir)
			must(t, tx.Link(tx.Root(), fmt.Sprint(d), dir))
			for i := range inDir {
				f, err := tx.New(Attr{Mode: syscall.S_IFREG | 0o644, Nlink: 1})
				must(t, err)
				must(t, tx.Link(dir, fmt.Sprint(i), f))
				must(t, tx.WriteAt(f, fmt.Appendf(nil, "file %d", i), 0, Now()))
				tx.Put(f)
			}
			return nil
		}))
	}
	must(t, s.Close())
	s = openTest(t, path)
	change := func(n int) {
		dir := lookup(t, s, fmt.Sprint(n/inDir%(*momentFiles/inDir)))
		defer put(s, dir)
		in, err := Query(s, func(tx *Tx) (*Inode, error) {
			c, _, _, err := tx.Child(dir, fmt.Sprint(n%inDir))
			if err != nil {
				return nil, err
			}
			return tx.Get(c.Ino)
		})
		must(t, err)
		must(t, s.WriteAt(in, []byte("changed"), 0, nil, Now()))
		put(s, in)
	}
	var took []time.Duration
	for n := range 1000 {
		change(n * 7919)
		begin := time.Now()
		_, err := s.Checkpoint(ByUser, "")
		must(t, err)
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	t.Logf("checkpoint: %v in the median, %v p99, %v at most", took[500], took[990], took[999])
	begin := time.Now()
	for range 100 {
		_, err := s.Checkpoint(ByUser, "")
		must(t, err)
	}
	t.Logf("idle checkpoint: %v", time.Since(begin)/100)
	for _, files := range []int{1, 1000} {
		for n := range files {
			change(n * 13)
		}
		must(t, s.Close())
		begin = time.Now()
		s = openTest(t, path)
		opened := time.Since(begin)
		_, err = s.GoBack(Undo, nil)
		must(t, err)
		t.Logf("undo of %d files: %v, and %v to open", files, time.Since(begin)-opened, opened)
		begin = time.Now()
		_, err = s.GoBack(Redo, nil)
		must(t, err)
		t.Logf("redo of %d files: %v", files, time.Since(begin))
	}
	must(t, s.Close())
	for _, at := range []string{"1", "1000"} {
		begin = time.Now()
		r, err := Open(path, Options{At: at})
		must(t, err)
		opened := time.Since(begin)
		begin = time.Now()
		put(r, lookup(t, r, "0"))
		looked := time.Since(begin)
		begin = time.Now()
		_, err = Query(r, (*Tx).Snapshot)
		must(t, err)
		t.Logf("at %s: %v to open, %v for a name, %v for a snapshot", at, opened, looked, time.Since(begin))
		must(t, r.Close())
	}
	begin = time.Now()
	r, err := Open(path, Options{ReadOnly: true})
	must(t, err)
	_, err = Query(r, (*Tx).Snapshot)
	must(t, err)
	t.Logf("snapshot of the present: %v", time.Since(begin))
	must(t, r.Close())
}
