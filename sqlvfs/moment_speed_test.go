package sqlvfs

import (
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// largeTree is a store of many files, in directories of a hundred.
type largeTree struct {
	testing.TB
	path  string
	files int
	store *Store
}

const largeTreeFiles, largeTreeInDir = 100_000, 100

func newLargeTree(t testing.TB) *largeTree { return newTreeOf(t, largeTreeFiles) }

// newTreeOf is a store of some hundreds of files.
func newTreeOf(t testing.TB, files int) *largeTree {
	l := &largeTree{TB: t, path: filepath.Join(t.TempDir(), "a.db"), files: files}
	s, err := Open(l.path, Options{Create: true, Root: rootAttr, Bulk: true})
	must(t, err)
	for d := range files / largeTreeInDir {
		must(t, s.Update(func(tx *Tx) error {
			dir, err := tx.New(Attr{Mode: syscall.S_IFDIR | 0o755, Nlink: 2})
			must(t, err)
			defer tx.Put(dir)
			must(t, tx.Link(tx.Root(), fmt.Sprint(d), dir))
			for i := range largeTreeInDir {
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
	l.store = openTest(t, l.path)
	t.Cleanup(func() { must(t, l.store.Close()) })
	return l
}

// change changes one file.
func (l *largeTree) change(n int) {
	s := l.store
	dir := lookup(l, s, fmt.Sprint(n/largeTreeInDir%(l.files/largeTreeInDir)))
	defer put(s, dir)
	in, err := Query(s, func(tx *Tx) (*Inode, error) {
		c, _, _, err := tx.Child(dir, fmt.Sprint(n%largeTreeInDir))
		if err != nil {
			return nil, err
		}
		return tx.Get(c.Ino)
	})
	must(l, err)
	must(l, s.WriteAt(in, fmt.Appendf(nil, "changed %v", time.Now()), 0, nil, Now()))
	put(s, in)
}

func (l *largeTree) checkpoint() {
	_, err := l.store.Checkpoint(ByUser, "")
	must(l, err)
}

// A checkpoint after a change of one file, and one after none, in a small tree and in a large one.
func BenchmarkCheckpoint(b *testing.B) {
	for _, files := range []int{100, largeTreeFiles} {
		l := newTreeOf(b, files)
		l.checkpoint()
		b.Run(fmt.Sprintf("files=%d/changed", files), func(b *testing.B) {
			var took []time.Duration
			for n := range b.N {
				b.StopTimer()
				l.change(n * 7919)
				b.StartTimer()
				begin := time.Now()
				l.checkpoint()
				took = append(took, time.Since(begin))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
		b.Run(fmt.Sprintf("files=%d/idle", files), func(b *testing.B) {
			for range b.N {
				l.checkpoint()
			}
		})
	}
}

// Going back between sessions: the database is opened for it.
func BenchmarkUndo(b *testing.B) {
	l := newLargeTree(b)
	for _, files := range []int{1, 1000} {
		b.Run(fmt.Sprintf("files=%d", files), func(b *testing.B) {
			var took []time.Duration
			for range b.N {
				b.StopTimer()
				l.checkpoint()
				for n := range files {
					l.change(n * 13)
				}
				must(b, l.store.Close())
				b.StartTimer()
				begin := time.Now()
				l.store = openTest(b, l.path)
				_, err := l.store.GoBack(Undo, nil)
				must(b, err)
				took = append(took, time.Since(begin))
			}
			reportMedian(b, took, "median-µs")
		})
	}
}

// Looking at a checkpoint before which, or after which, much has changed.
func BenchmarkSnapshotAt(b *testing.B) {
	l := newLargeTree(b)
	for n := range 1000 {
		l.checkpoint()
		l.change(n * 7919)
	}
	must(b, l.store.Sync())
	for _, at := range []string{"1", "1000"} {
		b.Run("checkpoint="+at, func(b *testing.B) {
			for range b.N {
				s, err := Open(l.path, Options{At: at})
				must(b, err)
				_, err = Query(s, (*Tx).Snapshot)
				must(b, err)
				must(b, s.Close())
			}
		})
	}
}

// A fork that is made, with the database opened for it, and looked into, each by itself.
func BenchmarkFork(b *testing.B) {
	l := newLargeTree(b)
	l.checkpoint()
	must(b, l.store.Close())
	var made, looked []time.Duration
	for n := range b.N {
		path := fmt.Sprintf("%s.fork%d", l.path, n)
		begin := time.Now()
		s := openTest(b, l.path)
		secret := NewSecret()
		at, err := s.AddFork(path, secret, "")
		must(b, err)
		must(b, s.Close())
		must(b, MakeFork(l.path, path, secret, at))
		done := time.Now()
		s = openTest(b, path)
		put(s, lookup(b, s, "1"))
		must(b, s.Close())
		made, looked = append(made, done.Sub(begin)), append(looked, time.Since(done))
	}
	reportMedian(b, made, "made-µs")
	reportMedian(b, looked, "looked-µs")
	l.store = openTest(b, l.path)
}

// reportMedian reports what the disk and other work disturb the least.
func reportMedian(b *testing.B, took []time.Duration, unit string) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), unit)
}
