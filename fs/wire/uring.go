package wire

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The kernel has a queue for each processor, and puts a request into that of the processor on which it is made. A
// thread that is pinned there answers it and waits for the next by one system call, without another processor being
// woken (fs/fuse/dev_uring.c; Documentation/filesystems/fuse/fuse-io-uring.rst).
//
// A request that waits, for a disk or for a network, has its thread for itself: the thread's ring has one entry, so that
// the kernel has put no other request there. The next one finds another entry of that queue, which has to be there
// already: one that is registered later gets no request that is queued (fuse_uring_do_register), only one that commits
// an answer does (fuse_uring_next_fuse_req). So each processor that is used has threads to spare. The kernel prefers the
// entry that became available last (fuse_uring_ent_avail): as long as nothing waits, one thread serves. When more wait at
// once than there are threads, the next ones wait for one of them, which on a disk ends.

// Threads. Each has room for the longest request, in memory that is in use from a long request on until there was none for
// a moment.
const (
	// maxAhead is how many threads a processor has as soon as it is used, if all processors have at most maxEarly then.
	maxAhead, minAhead = 8, 3
	maxEarly           = 512
	// fewRequests are no such use: to have two threads is enough for a session that ends soon, and takes 2 ms less.
	fewRequests = 200
	// maxMore is how many there may be in addition, for processors on which most wait.
	maxMore = 128
	// shortage is how long no thread is tried after one could not be had.
	shortage = time.Second
	// kept is how much of its memory a thread keeps that has nothing to do for keepFor. To get it anew takes a page fault
	// for each page, which is a third of what a long request takes.
	kept    = 64 << 10
	keepFor = time.Second
)

// ErrLost says that rings have failed while the kernel used them: requests may wait for ever, unless the connection is
// ended, by closing its descriptor.
var ErrLost = errors.New("requests are lost")

// rings are the queues of a connection, and the threads that serve them. These wait for begin.
type rings struct {
	dev    int
	flags  Flags // of the connection
	begin  chan struct{}
	serve  func(*Request) // not before begin; nil: abandoned
	failed chan error
	ended  chan struct{} // closed when there is no thread any more
	used   atomic.Bool   // by the kernel, for a request
	ahead  int32         // threads for each processor that is used
	// payload is the room that the kernel is told of for what comes with a request.
	payload uint64

	notBefore atomic.Int64 // nanoseconds since 1970: until then no thread is started

	mu   sync.Mutex
	live int   // threads. GUARDED_BY(mu)
	more int32 // that may be started beyond ahead. GUARDED_BY(mu)
}

// processor is one of the kernel's queues.
type processor struct {
	number  int
	pin     bool // its threads can run there
	threads atomic.Int32
	busy    atomic.Int32 // of these
}

// thread serves a queue by a ring with one entry; or, in the beginning, those of all processors on which nothing can run,
// with an entry for each.
type thread struct {
	rings   *rings
	queues  []*processor
	spare   bool // there is another one for its queue
	ring    *ring
	memory  []byte
	entries []entry
	long    bool // more than kept of an entry's memory is in use
}

// openRings gets all that the first threads need. That is done before the kernel is told that there are rings: from then
// on it holds requests back until each of its queues has an entry (fuse_block_alloc in fs/fuse/dev.c).
func openRings(dev int) (*rings, error) {
	processors, err := listProcessors()
	if err != nil {
		return nil, unsupported{err}
	}
	r := &rings{
		dev: dev, begin: make(chan struct{}), failed: make(chan error, 1), ended: make(chan struct{}), payload: uint64(maxPayload),
		ahead: int32(min(max(maxEarly/len(processors), minAhead), maxAhead)), more: maxMore,
	}
	opened := make(chan error)
	var others []*processor
	threads := 0
	for _, p := range processors {
		p.threads.Store(1)
		if !p.pin {
			others = append(others, p)
			continue
		}
		r.start(&thread{rings: r, queues: []*processor{p}}, opened)
		threads++
	}
	if len(others) > 0 {
		r.start(&thread{rings: r, queues: others}, opened)
		threads++
	}
	for range threads {
		err = errors.Join(err, <-opened)
	}
	if err != nil {
		r.abandon()
		return nil, unsupported{err}
	}
	return r, nil
}

// start starts a thread, which says on opened whether it has all that it needs.
func (r *rings) start(t *thread, opened chan<- error) {
	r.mu.Lock()
	r.live++
	r.mu.Unlock()
	go func() {
		if err := t.run(opened); err != nil {
			select {
			case r.failed <- err:
			default:
			}
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.live--; r.live == 0 { // only a thread starts others
			close(r.ended)
		}
	}()
}

// grow starts threads for a processor that is used, or of which most wait. Without memory or descriptors for them there
// are none.
func (r *rings) grow(p *processor) {
	if time.Now().UnixNano() < r.notBefore.Load() {
		return
	}
	r.mu.Lock()
	n, threads := int32(1), p.threads.Load()
	switch {
	case threads == 1:
	case threads < r.ahead:
		n = r.ahead - threads
	default:
		n = min(r.ahead/2, r.more)
		r.more -= n
	}
	p.threads.Add(n)
	r.mu.Unlock()
	for range n {
		r.start(&thread{rings: r, queues: []*processor{p}, spare: true}, make(chan error, 1))
	}
}

// abandon ends the threads of rings that are not to serve.
func (r *rings) abandon() { close(r.begin) }

// ServeRings serves the connection's requests by rings, if both sides agreed on them, until the connection ends. serve
// is called with each request on the thread that got it, and has to answer it before it returns. What waits there holds
// up others only if most threads of a processor do. The error is nil at the end of the connection, [errors.ErrUnsupported] where there are
// no rings, [ErrLost] when they have failed; and anything else when the kernel has not taken them, and goes on by /dev/fuse.
//
// Forgets and interruptions still come by /dev/fuse: Read has to be called as well.
func (c *Conn) ServeRings(serve func(*Request)) error {
	r := c.rings
	if r == nil {
		return c.noRings
	}
	r.flags, r.serve = c.flags, serve
	close(r.begin)
	select {
	case err := <-r.failed:
		return err
	case <-r.ended:
	}
	select {
	case err := <-r.failed:
		return err
	default:
		return nil
	}
}

// listProcessors lists all that the kernel has queues for, with those to pin threads to that this process may use.
func listProcessors() ([]*processor, error) {
	text, err := os.ReadFile("/sys/devices/system/cpu/possible")
	if err != nil {
		return nil, err
	}
	n, err := countCPUs(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, err
	}
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return nil, fmt.Errorf("sched_getaffinity: %w", err)
	}
	list := make([]*processor, n)
	for i := range list {
		list[i] = &processor{number: i, pin: allowed.IsSet(i)}
	}
	return list, nil
}

// countCPUs returns how many processors there may be: the kernel numbers them without gaps where it counts queues
// (num_possible_cpus), and lists them as in "0-3".
func countCPUs(list string) (int, error) {
	last := list[strings.LastIndexAny(list, "-,")+1:]
	n, err := strconv.Atoi(last)
	if err != nil || n < 0 || n >= 1<<16 {
		return 0, fmt.Errorf("processors %q: not understood", list)
	}
	return n + 1, nil
}

// run is the life of a thread.
func (t *thread) run(opened chan<- error) error {
	runtime.LockOSThread() // and never unlocked: the pinned thread ends with the goroutine
	err := t.open()
	opened <- err
	<-t.rings.begin
	if err != nil || t.rings.serve == nil {
		t.close()
		t.missing()
		return nil
	}
	for i := range t.entries {
		t.entries[i].register()
	}
	refused := false
	for live := len(t.entries); live > 0 && err == nil; {
		if err = t.ring.enter(t.patience()); err != nil {
			break
		}
		c, ok := t.ring.completion()
		if !ok {
			t.giveBack()
		}
		for ; ok; c, ok = t.ring.completion() {
			e := &t.entries[c.userData]
			switch errno := syscall.Errno(-c.result); errno {
			case 0:
				e.serve()
				continue
			case unix.ENOTCONN, unix.ECONNABORTED, unix.ENODEV: // the connection has ended
			default:
				err = fmt.Errorf("a queue of FUSE over io_uring: %w", errno)
				refused = e.served == 0
			}
			live--
		}
	}
	t.close()
	switch {
	case err == nil:
		return nil
	case refused && t.spare:
		t.missing()
		return nil
	case t.rings.used.Load():
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	return err
}

// missing notes that a spare thread is not there after all. The next is not tried at once: what it lacks, others have.
func (t *thread) missing() {
	if !t.spare {
		return
	}
	r := t.rings
	r.notBefore.Store(time.Now().Add(shortage).UnixNano())
	r.mu.Lock()
	defer r.mu.Unlock()
	if t.queues[0].threads.Add(-1) >= r.ahead {
		r.more++
	}
}

// open gets all that the thread needs.
func (t *thread) open() (err error) {
	if t.queues[0].pin {
		var set unix.CPUSet
		set.Set(t.queues[0].number)
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			return fmt.Errorf("sched_setaffinity: %w", err)
		}
	}
	n := len(t.queues)
	if t.ring, err = newRing(uint32(n)); err != nil {
		return err
	}
	page := os.Getpagesize()
	size := page + maxPayload
	// Pages that are never used cost nothing.
	if t.memory, err = unix.Mmap(-1, 0, n*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE); err != nil {
		return fmt.Errorf("memory for requests: %w", err)
	}
	t.entries = make([]entry, n)
	for i := range t.entries {
		m := t.memory[i*size:][:size]
		t.entries[i].init(t, i, m[:ringHeaderSize], m[page:])
	}
	return nil
}

// patience is how long the thread waits for a request; 0: until there is one.
func (t *thread) patience() time.Duration {
	if t.long {
		return keepFor
	}
	return 0
}

// giveBack gives the memory back that only long requests need. The kernel puts none there meanwhile: it does that on this
// thread, while that waits in the ring (fuse_uring_send_in_task in fs/fuse/dev_uring.c, with IORING_SETUP_DEFER_TASKRUN).
func (t *thread) giveBack() {
	for i := range t.entries {
		unix.Madvise(t.entries[i].payload[kept:], unix.MADV_DONTNEED)
	}
	t.long = false
}

func (t *thread) close() {
	if t.ring != nil {
		t.ring.close()
	}
	if t.memory != nil {
		unix.Munmap(t.memory)
	}
}
