package sqlvfs

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// What history costs a program that syncs after each few bytes, as a database in the guest does which keeps a rollback journal: two stores,
// of which one has a checkpoint every hundred transactions, take turns.
func BenchmarkHistory(b *testing.B) {
	const atOnce = 100
	type side struct {
		*journaled
		took []time.Duration
	}
	without, with := side{journaled: newJournaled(b)}, side{journaled: newJournaled(b)}
	for range max(1, b.N/atOnce) {
		_, err := with.store.Checkpoint(ByUser, "")
		must(b, err)
		for _, s := range []*side{&without, &with} {
			for range atOnce {
				begin := time.Now()
				s.transaction(b)
				s.took = append(s.took, time.Since(begin))
			}
		}
	}
	reportMedian(b, without.took, "without-µs")
	reportMedian(b, with.took, "with-µs")
	b.ReportMetric(float64(total(with.took))/float64(total(without.took)), "ratio")
}

func total(took []time.Duration) (sum time.Duration) {
	for _, t := range took {
		sum += t
	}
	return sum
}

// journaled is a store with a directory in which a file is changed in the way of a rollback journal.
type journaled struct {
	store *Store
	dir   *Inode
	file  *Inode
	size  int64
}

func newJournaled(t testing.TB) *journaled {
	s := openTest(t, filepath.Join(t.TempDir(), "a.db"))
	j := &journaled{store: s}
	must(t, s.Update(func(tx *Tx) (err error) {
		if j.dir, err = tx.New(Attr{Mode: syscall.S_IFDIR | 0o755, Nlink: 2}); err == nil {
			err = tx.Link(tx.Root(), "dir", j.dir)
		}
		return err
	}))
	j.file = j.create(t, "app.db")
	must(t, s.WriteAt(j.file, make([]byte, 3<<16), 0, nil, Now()))
	must(t, s.Sync())
	t.Cleanup(func() {
		put(s, j.file)
		put(s, j.dir)
		must(t, s.Close())
	})
	return j
}

func (j *journaled) create(t testing.TB, name string) (in *Inode) {
	must(t, j.store.Update(func(tx *Tx) (err error) {
		if in, err = tx.New(Attr{Mode: syscall.S_IFREG | 0o644, Nlink: 1}); err == nil {
			err = tx.Link(j.dir, name, in)
		}
		now := Now()
		j.dir.Attr.Mtime, j.dir.Attr.Ctime = now, now
		tx.Dirty(j.dir)
		return err
	}))
	return in
}

// transaction changes two pages of the file.
func (j *journaled) transaction(t testing.TB) {
	s := j.store
	journal := j.create(t, "app.db-journal")
	must(t, s.WriteAt(journal, make([]byte, 4096+512), 0, nil, Now()))
	must(t, s.Sync())
	must(t, s.WriteAt(journal, make([]byte, 12), 0, nil, Now()))
	must(t, s.Sync())
	j.size++
	for _, at := range []int64{0, 4096 * (1 + j.size%40)} {
		must(t, s.WriteAt(j.file, fmt.Appendf(make([]byte, 0, 4096), "%4096d", j.size), at, nil, Now()))
	}
	must(t, s.Sync())
	must(t, s.Reduce(func(tx *Tx) error {
		tx.Unlink(j.dir, "app.db-journal")
		journal.Attr.Nlink = 0
		tx.Dirty(journal)
		now := Now()
		j.dir.Attr.Mtime, j.dir.Attr.Ctime = now, now
		tx.Dirty(j.dir)
		return nil
	}))
	put(s, journal)
	must(t, s.Sync())
}
