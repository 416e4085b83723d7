package fs

import (
	"sync/atomic"
	"time"

	"github.com/riverlytech/art/sqlvfs"
)

// The kernel is told what to forget while no operation goes on. A program that has met something that is forgotten, or that is new, waits
// until everything is: so nobody sees some of the tree before and some of it afterwards. But the kernel may hold up who tells it
// something, until an operation is answered that waits for the same step. That is waited for no longer than for a moment, and told
// beside it then.

const (
	lookAgain   = time.Millisecond
	heldUpBack  = 10 * time.Millisecond // that nothing at all goes on
	maxHeldBack = 64                    // that are held up at once
)

// invalidations are what the kernel is to forget.
type invalidations struct {
	jobs chan func()
	left atomic.Int64
	done chan struct{} // closed when nothing is left
	busy int           // goroutines
}

func newInvalidations(jobs []func()) *invalidations {
	v := &invalidations{jobs: make(chan func(), len(jobs)), done: make(chan struct{})}
	for _, job := range jobs {
		v.jobs <- job
	}
	close(v.jobs)
	if v.left.Store(int64(len(jobs))); len(jobs) == 0 {
		close(v.done)
	}
	return v
}

func (v *invalidations) work() {
	for job := range v.jobs {
		job()
		if v.left.Add(-1) == 0 {
			close(v.done)
		}
	}
}

// run does them, until nothing has gone on for a while, or a limit of time; 0: until all are done.
func (v *invalidations) run(patience, limit time.Duration) {
	ticks := time.NewTicker(lookAgain)
	defer ticks.Stop()
	if v.busy == 0 {
		v.busy++
		go v.work()
	}
	begun := time.Now()
	for left, since := v.left.Load(), begun; ; {
		select {
		case <-v.done:
			return
		case <-ticks.C:
		}
		now := v.left.Load()
		switch {
		case limit > 0 && time.Since(begun) > limit:
			return
		case now != left:
			left, since = now, time.Now()
		case patience > 0 && time.Since(since) > patience:
			return
		case v.busy < maxHeldBack:
			v.busy++
			go v.work()
		}
	}
}

// flush has the kernel forget what has changed, and returns what waits until that is done.
func (w *wayBack) flush() (wait func()) {
	cache := w.cache
	var jobs []func()
	dirs := map[*node]bool{}
	for _, d := range w.forget {
		dirs[d.dir] = true
		jobs = append(jobs, func() { cache.InvalidateEntry(d.dir.ino, d.name) })
	}
	seen := map[*node]bool{}
	for _, n := range w.content {
		if seen[n] {
			continue
		}
		seen[n] = true
		ino, list := n.ino, n.attrOf().IsDir()
		jobs = append(jobs, func() {
			if list {
				cache.InvalidateEntry(ino, noSuchName)
			}
			cache.InvalidateInode(ino)
		})
	}
	for _, n := range w.attrs {
		ino := n.ino
		jobs = append(jobs, func() { cache.InvalidateAttr(ino) })
	}
	for n := range dirs {
		if ino := n.ino; !seen[n] {
			jobs = append(jobs, func() { cache.InvalidateInode(ino) })
		}
	}
	v := newInvalidations(jobs)
	v.run(heldUpBack, 0)
	return func() { v.run(0, 0) }
}

// handOver has the kernel hand over what programs have written through mappings of files that are about to go back. Otherwise it
// would do so when it is told to forget the content, and what it hands over would be a change of what is there by then.
func handOver(overlays []*Overlay, live func() ([]sqlvfs.RestoredInode, error)) {
	rows, err := live()
	if err != nil {
		return // going back will tell
	}
	invalidateFiles(overlays, 0, func(t *tx) (list []*node) {
		t.findPlaces()
		for _, in := range rows {
			list = append(list, t.nodeOf(in.In, in.Number))
		}
		return list
	})
}

// handOverWithin bounds how long a guest that goes on writing can hold up who waits for what it has written.
const handOverWithin = 5 * time.Second

// HandOver has the kernel hand over what programs have written through mappings of files, of which the inode numbers are given. Some of
// them may be no files of the overlays.
func HandOver(overlays []*Overlay, files []uint64) {
	if len(files) == 0 {
		return
	}
	invalidateFiles(overlays, handOverWithin, func(t *tx) (list []*node) {
		for _, ino := range files {
			list = append(list, t.nodes[Ino(ino)])
		}
		return list
	})
}

// invalidateFiles has the kernel forget the content of those of the nodes that are files, within a limit of time, unless that is 0.
func invalidateFiles(overlays []*Overlay, limit time.Duration, find func(t *tx) []*node) {
	var jobs []func()
	for _, o := range overlays {
		o.view(func(t *tx) error {
			cache := t.cache
			for _, n := range find(t) {
				if n != nil && n.attrOf().IsRegular() {
					ino := n.ino
					jobs = append(jobs, func() { cache.InvalidateInode(ino) })
				}
			}
			return nil
		})
	}
	newInvalidations(jobs).run(BaseTTL, limit)
}
