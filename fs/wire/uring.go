package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The kernel has a queue for each processor, and puts a request into that of the processor on which it is made. A
// thread that is pinned there answers it and waits for the next by one system call, without another processor being
// woken (fs/fuse/dev_uring.c; Documentation/filesystems/fuse/fuse-io-uring.rst).

// Commands, by IORING_OP_URING_CMD (enum fuse_uring_cmd in linux/fuse.h).
const (
	cmdRegister       = 1
	cmdCommitAndFetch = 2
)

// Memory of an entry that the kernel shares (struct fuse_uring_req_header).
const (
	ringHeaderSize = 288
	ringArg        = 128 // where the request's fixed part begins
	ringInOut      = 256 // struct fuse_uring_ent_in_out: flags, number of the request, size of the payload
	ringCommitID   = ringInOut + 8
	ringPayload    = ringInOut + 16
)

// Requests that may wait for an answer at once: more of them wait in the kernel. Each entry has room for the longest
// request, in memory that stays in use once it was used, so there are fewer for a processor where there are many.
const (
	maxWaiting = 64
	minDepth   = 8
	maxDepth   = 32
)

// Queue is what one thread serves: the rings' requests of one processor; or, for processors on which nothing can run, of
// all of these. A processor has more of them once a thread was held up, see [Queue.Succeed].
type Queue struct {
	rings  *rings
	dev    int
	cpus   []int // numbers of the kernel's queues
	pin    bool
	depth  int // entries for each
	ring   *ring
	memory []byte
	live   int  // entries that the kernel has or will have
	used   bool // by the kernel, for a request

	entries []entry
	counter [8]byte // where the ring reads wake to

	mu       sync.Mutex
	wake     int      // eventfd, to have the thread commit what others have answered; -1 without. GUARDED_BY(mu)
	answered []*entry // by others than the thread. GUARDED_BY(mu)
}

// entry is the place of one request in a queue.
type entry struct {
	queue   *Queue
	cpu     int
	index   int
	iov     [2]unix.Iovec // read by the kernel when it is registered
	header  []byte
	payload []byte
	away    bool // others than the thread answer
}

// ErrLost says that rings have failed while the kernel used them: requests may wait for ever, unless the connection is
// ended, by closing its descriptor.
var ErrLost = errors.New("requests are lost")

// rings are the queues of a connection. Their threads wait for begin.
type rings struct {
	flags  Flags // of the connection
	begin  chan struct{}
	attend func(*Queue) func(*Request) // not before begin; nil: abandoned
	live   sync.WaitGroup              // threads
	failed chan error

	mu     sync.Mutex
	queues []*Queue // GUARDED_BY(mu)
	most   int      // of them
}

// openRings gets all that the queues need. That is done before the kernel is told that there are rings: from then on it
// holds requests back until each of its queues has an entry (fuse_block_alloc in fs/fuse/dev.c).
func openRings(dev int) (*rings, error) {
	queues, err := planQueues(dev)
	if err != nil {
		return nil, unsupported{err}
	}
	r := &rings{begin: make(chan struct{}), failed: make(chan error, 1), most: len(queues) + maxSuccessors}
	opened := make(chan error, len(queues))
	for _, q := range queues {
		r.start(q, opened)
	}
	for range queues {
		err = errors.Join(err, <-opened)
	}
	if err != nil {
		r.abandon()
		return nil, unsupported{err}
	}
	return r, nil
}

func (r *rings) start(q *Queue, opened chan<- error) {
	q.rings = r
	r.mu.Lock()
	r.queues = append(r.queues, q)
	r.mu.Unlock()
	r.live.Add(1)
	go func() {
		defer r.live.Done()
		if err := q.run(opened); err != nil {
			select {
			case r.failed <- err:
			default:
			}
		}
	}()
}

// abandon ends the threads of rings that are not to serve.
func (r *rings) abandon() { close(r.begin) }

// ServeRings serves the connection's requests by rings, if both sides agreed on them, until the connection ends. attend is
// called on each thread that serves, and returns what to call there with each request. What waits there holds up the
// requests of a processor: it is to be handed on, see [Request.HandOff], or to be succeeded, see [Queue.Succeed]. The
// error is nil at the end of the connection, [errors.ErrUnsupported] where there are no rings, [ErrLost] when they have
// failed; and anything else when the kernel has not taken them, and goes on by /dev/fuse.
//
// Forgets and interruptions still come by /dev/fuse: Read has to be called as well.
func (c *Conn) ServeRings(attend func(*Queue) func(*Request)) error {
	r := c.rings
	if r == nil {
		return c.noRings
	}
	r.flags, r.attend = c.flags, attend
	close(r.begin)
	ended := make(chan struct{})
	go func() {
		r.live.Wait()
		close(ended)
	}()
	select {
	case err := <-r.failed:
		return err
	case <-ended:
	}
	select {
	case err := <-r.failed:
		return err
	default:
		return nil
	}
}

// maxSuccessors is how many threads may take the place of ones that wait, in all. They stay.
const maxSuccessors = 64

// Succeed has another thread serve the processor's next requests, because this one waits. The kernel prefers the entries
// that it got last (fuse_uring_ent_avail in fs/fuse/dev_uring.c), which are those of the new thread.
func (q *Queue) Succeed() {
	q.rings.mu.Lock()
	room := len(q.rings.queues) < q.rings.most
	q.rings.mu.Unlock()
	if room { // the thread that waits keeps live above 0
		q.rings.start(&Queue{dev: q.dev, cpus: q.cpus, pin: q.pin, depth: minDepth, wake: -1}, make(chan error, 1))
	}
}

// planQueues plans a queue for each processor that this process may use, and one for the others.
func planQueues(dev int) ([]*Queue, error) {
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
	others := &Queue{dev: dev, depth: 1, wake: -1}
	var list []*Queue
	for cpu := range n {
		if allowed.IsSet(cpu) {
			list = append(list, &Queue{dev: dev, cpus: []int{cpu}, pin: true, depth: min(max(maxWaiting/n, minDepth), maxDepth), wake: -1})
		} else {
			others.cpus = append(others.cpus, cpu)
		}
	}
	if len(others.cpus) > 0 {
		list = append(list, others)
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

// run is the life of a queue's thread.
func (q *Queue) run(opened chan<- error) error {
	runtime.LockOSThread() // and never unlocked: the pinned thread ends with the goroutine
	err := q.open()
	opened <- err
	<-q.rings.begin
	if err != nil || q.rings.attend == nil {
		q.close()
		return nil
	}
	handle := q.rings.attend(q)
	q.register()
	for q.live > 0 {
		if err = q.step(handle); err != nil {
			break
		}
	}
	if err != nil && q.used {
		// The memory stays: others may be about to answer what they were handed.
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	q.close()
	return err
}

// step gives the kernel what there is for it, waits for requests, and serves them.
func (q *Queue) step(handle func(*Request)) error {
	if err := q.ring.enter(); err != nil {
		return err
	}
	for {
		c, ok := q.ring.completion()
		switch {
		case !ok:
			return nil
		case c.userData == 0:
			q.woken()
		default:
			if err := q.complete(&q.entries[c.userData-1], c.result, handle); err != nil {
				return err
			}
		}
	}
}

// open gets all that the queue needs.
func (q *Queue) open() (err error) {
	if q.pin {
		var set unix.CPUSet
		set.Set(q.cpus[0])
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			return fmt.Errorf("sched_setaffinity: %w", err)
		}
	}
	n := q.depth * len(q.cpus)
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("eventfd: %w", err)
	}
	q.wake = wake
	if q.ring, err = newRing(uint32(n + 1)); err != nil {
		return err
	}
	page := os.Getpagesize()
	size := page + maxPayload
	// Pages that are never used cost nothing.
	if q.memory, err = unix.Mmap(-1, 0, n*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE); err != nil {
		return fmt.Errorf("memory for requests: %w", err)
	}
	q.entries = make([]entry, n)
	for i := range q.entries {
		e := &q.entries[i]
		m := q.memory[i*size:][:size]
		*e = entry{queue: q, cpu: q.cpus[i%len(q.cpus)], index: i, header: m[:ringHeaderSize], payload: m[page:]}
		e.iov = [2]unix.Iovec{{Base: &e.header[0], Len: ringHeaderSize}, {Base: &e.payload[0], Len: uint64(maxPayload)}}
	}
	return nil
}

// register gives the kernel the entries, with the next enter.
func (q *Queue) register() {
	for i := range q.entries {
		e := &q.entries[i]
		s := e.command(cmdRegister)
		s.addr, s.length = uint64(uintptr(unsafe.Pointer(&e.iov))), 2
		q.live++
	}
	q.listen()
}

func (q *Queue) close() {
	if q.ring != nil {
		q.ring.close()
	}
	if q.memory != nil {
		unix.Munmap(q.memory)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	unix.Close(q.wake)
	q.wake = -1 // who has answered the last request may still be about to write to it
}

// command is a submission of a command about an entry.
func (e *entry) command(number uint64) *sqe {
	s := e.queue.ring.next()
	s.opcode, s.fd, s.off = opUringCmd, int32(e.queue.dev), number
	s.userData = uint64(e.index + 1)
	// struct fuse_uring_cmd_req: flags, number of the request, queue.
	binary.NativeEndian.PutUint16(s.command[16:], uint16(e.cpu))
	return s
}

// listen has the ring complete when others have answered.
func (q *Queue) listen() {
	s := q.ring.next()
	s.opcode, s.fd = opReadFixedSize, int32(q.wake)
	s.addr, s.length = uint64(uintptr(unsafe.Pointer(&q.counter))), uint32(len(q.counter))
}

// woken commits what others have answered.
func (q *Queue) woken() {
	q.mu.Lock()
	answered := q.answered
	q.answered = nil
	q.mu.Unlock()
	for _, e := range answered {
		e.commit()
	}
	q.listen()
}

// complete serves the request that an entry has got.
func (q *Queue) complete(e *entry, result int32, handle func(*Request)) error {
	switch errno := syscall.Errno(-result); errno {
	case 0:
	case unix.ENOTCONN, unix.ECONNABORTED, unix.ENODEV:
		q.live--
		return nil
	default:
		return fmt.Errorf("a queue of FUSE over io_uring: %w", errno)
	}
	q.used = true
	r, err := e.request()
	if err != nil {
		e.finish(syscall.EIO, 0)
		e.commit()
		return nil
	}
	handle(r)
	return nil
}

// request decodes what the kernel has put into an entry.
func (e *entry) request() (*Request, error) {
	h, err := decodeHeader(e.header)
	if err != nil {
		return nil, err
	}
	h.flags = e.queue.rings.flags
	size := binary.NativeEndian.Uint32(e.header[ringPayload:])
	if uint64(size) > uint64(len(e.payload)) {
		return nil, errMalformed
	}
	op, err := decode(&h, e.header[ringArg:ringInOut], e.payload[:size], e.payload)
	if err != nil {
		return nil, err
	}
	e.away = false
	return &Request{Op: op, UID: h.uid, GID: h.gid, Umask: h.umask, Blocks: -1, header: h, entry: e}, nil
}

// HandOff is to be called on the thread that got a request, before others are to answer it.
func (r *Request) HandOff() {
	if r.entry != nil {
		r.entry.away = true
	}
}

// reply answers a request that came by a ring.
func (e *entry) reply(r *Request, errno syscall.Errno) error {
	n := 0
	if errno == 0 {
		n = encode(r.Op, e.payload, r.Blocks)
	}
	e.finish(errno, n)
	if !e.away {
		e.commit()
		return nil
	}
	q := e.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	q.answered = append(q.answered, e)
	if len(q.answered) > 1 {
		return nil
	}
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	if _, err := unix.Write(q.wake, one[:]); err != nil {
		return io.ErrClosedPipe
	}
	return nil
}

// finish writes the header of a reply, whose payload of n bytes is in place. What was the request's header becomes the
// reply's.
func (e *entry) finish(errno syscall.Errno, n int) {
	unique := binary.NativeEndian.Uint64(e.header[8:])
	putOutHeader(e.header, outHeaderSize+n, errno, unique)
	binary.NativeEndian.PutUint32(e.header[ringPayload:], uint32(n))
}

// commit has the kernel take the answer with the next enter, which waits for another request.
func (e *entry) commit() {
	s := e.command(cmdCommitAndFetch)
	copy(s.command[8:16], e.header[ringCommitID:ringCommitID+8])
}
