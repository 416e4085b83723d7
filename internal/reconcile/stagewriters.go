package reconcile

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// flushEvery is how much is staged before the kernel is made to write it, in bytes, while more is
// staged: so there is less to wait for at the end.
const flushEvery = 32 << 20

// stageWriters are the goroutines that write what is staged. Each action is written by one of them, which
// leaves in it what came of it. What goes into one directory goes to one of them, since the kernel lets
// one at a time make an entry there (Documentation/filesystems/directory-locking.rst).
type stageWriters struct {
	p    *puller
	todo chan []*operation // each list is of one directory

	next      []*operation // gathers
	nextBytes int64        // of its content

	all sync.WaitGroup
	end atomic.Bool // an error would hit all the other files too

	staged   atomic.Int64 // bytes since the last flush began
	flushing sync.Mutex
	flushErr error // GUARDED_BY(flushing)
}

// startWriters has as many as there are processors, but not more than a disk can use.
func (p *puller) startWriters() *stageWriters {
	n := min(runtime.GOMAXPROCS(0), 8)
	c := &stageWriters{p: p, todo: make(chan []*operation, 4*n)}
	for range n {
		w := &writer{p: p}
		c.all.Go(func() {
			defer w.leave()
			for list := range c.todo {
				for _, a := range list {
					if c.end.Load() {
						break
					}
					if a.err = w.write(a); a.err != nil && fatal(a.err) {
						c.end.Store(true)
					}
					p.report.Add(1, 0)
					c.flush(a.attr.Size)
				}
			}
		})
	}
	return c
}

// flush counts what is staged, and starts to write it to the disk when it has become much. That something could
// not be written is reported once to each open file (fs/sync.c, syncfs; lib/errseq.c), so this one is kept.
func (c *stageWriters) flush(bytes int64) {
	if c.staged.Add(bytes) < flushEvery || !c.flushing.TryLock() {
		return
	}
	c.staged.Store(0)
	c.all.Go(func() {
		defer c.flushing.Unlock()
		if err := syncfs(int(c.p.staging.Fd())); err != nil {
			c.flushErr = err
			c.end.Store(true)
		}
	})
}

// write has an action written with those before it that are of the same directory, unless these are
// much work already.
func (c *stageWriters) write(a *operation) {
	if len(c.next) > 0 && (a.in != c.next[0].in || c.nextBytes >= bufferSize) {
		c.send()
	}
	c.next = append(c.next, a)
	c.nextBytes += a.attr.Size
}

func (c *stageWriters) send() {
	c.todo <- c.next
	c.next, c.nextBytes = nil, 0
}

func (c *stageWriters) stopped() bool { return c.end.Load() }

// wait waits until all is written. The error is about the disk.
func (c *stageWriters) wait() error {
	c.send()
	close(c.todo)
	c.all.Wait()
	c.flushing.Lock()
	defer c.flushing.Unlock()
	return c.flushErr
}
