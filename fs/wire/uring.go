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

// depth is how many requests of a processor may wait for an answer at once. More of them wait in the kernel.
const depth = 8

// queue is what one thread serves: the rings' requests of one processor; or, for processors on which nothing can run, of
// all of these.
type queue struct {
	dev    int
	cpus   []int // numbers of the kernel's queues
	pin    bool
	ring   *ring
	memory []byte
	live   int  // entries that the kernel has or will have
	used   bool // by the kernel, for a request
	wake   int  // eventfd, to have the thread commit what others have answered

	entries []entry
	counter [8]byte // where the ring reads wake to

	mu       sync.Mutex
	answered []*entry // by others than the thread. GUARDED_BY(mu)
}

// entry is the place of one request in a queue.
type entry struct {
	queue   *queue
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

// rings are the queues of a connection, each with a thread that waits for the handler.
type rings struct {
	queues []*queue
	begin  chan func(*Request)
	ended  chan error
}

// openRings gets all that the queues need. That is done before the kernel is told that there are rings: from then on it
// holds requests back until each of its queues has an entry (fuse_block_alloc in fs/fuse/dev.c).
func openRings(dev int) (*rings, error) {
	queues, err := planQueues(dev)
	if err != nil {
		return nil, err
	}
	r := &rings{queues: queues, begin: make(chan func(*Request)), ended: make(chan error, len(queues))}
	opened := make(chan error, len(queues))
	for _, q := range queues {
		go func() { r.ended <- q.run(opened, r.begin) }()
	}
	for range queues {
		err = errors.Join(err, <-opened)
	}
	if err != nil {
		r.abandon()
		return nil, err
	}
	return r, nil
}

// abandon ends the threads of rings that are not to serve.
func (r *rings) abandon() { close(r.begin) }

// ServeRings serves the connection's requests by rings, if both sides agreed on them, until the connection ends. handle is
// called with each request on a thread that serves no other meanwhile: what may take long is to be handed on, see
// [Request.HandOff]. The error is nil at the end of the connection, and otherwise why there are no rings, or none any
// more: with [ErrLost] or, without it, the kernel goes on by /dev/fuse.
//
// Forgets and interruptions still come by /dev/fuse: Read has to be called as well.
func (c *Conn) ServeRings(handle func(*Request)) error {
	if c.rings == nil {
		return c.noRings
	}
	for range c.rings.queues {
		c.rings.begin <- handle
	}
	for range c.rings.queues {
		if err := <-c.rings.ended; err != nil {
			return err
		}
	}
	return nil
}

// planQueues plans a queue for each processor that this process may use, and one for the others.
func planQueues(dev int) ([]*queue, error) {
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
	others := &queue{dev: dev, wake: -1}
	var list []*queue
	for cpu := range n {
		if allowed.IsSet(cpu) {
			list = append(list, &queue{dev: dev, cpus: []int{cpu}, pin: true, wake: -1})
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
func (q *queue) run(opened chan<- error, begin <-chan func(*Request)) error {
	runtime.LockOSThread() // and never unlocked: the pinned thread ends with the goroutine
	defer q.close()
	err := q.open()
	opened <- err
	handle, ok := <-begin
	if !ok {
		return nil
	}
	q.register()
	for q.live > 0 {
		if err = q.step(handle); err != nil {
			break
		}
	}
	if err != nil && q.used {
		err = fmt.Errorf("%w: %w", ErrLost, err)
	}
	return err
}

// step gives the kernel what there is for it, waits for requests, and serves them.
func (q *queue) step(handle func(*Request)) error {
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
func (q *queue) open() (err error) {
	if q.pin {
		var set unix.CPUSet
		set.Set(q.cpus[0])
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			return fmt.Errorf("sched_setaffinity: %w", err)
		}
	}
	n := depth * len(q.cpus)
	if !q.pin {
		n = len(q.cpus) // nothing runs there
	}
	if q.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC); err != nil {
		q.wake = -1
		return fmt.Errorf("eventfd: %w", err)
	}
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
func (q *queue) register() {
	for i := range q.entries {
		e := &q.entries[i]
		s := e.command(cmdRegister)
		s.addr, s.length = uint64(uintptr(unsafe.Pointer(&e.iov))), 2
		q.live++
	}
	q.listen()
}

func (q *queue) close() {
	if q.ring != nil {
		q.ring.close()
	}
	if q.memory != nil {
		unix.Munmap(q.memory)
	}
	unix.Close(q.wake)
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
func (q *queue) listen() {
	s := q.ring.next()
	s.opcode, s.fd = opReadFixedSize, int32(q.wake)
	s.addr, s.length = uint64(uintptr(unsafe.Pointer(&q.counter))), uint32(len(q.counter))
}

// woken commits what others have answered.
func (q *queue) woken() {
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
func (q *queue) complete(e *entry, result int32, handle func(*Request)) error {
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
	size := binary.NativeEndian.Uint32(e.header[ringPayload:])
	if uint64(size) > uint64(len(e.payload)) {
		return nil, errMalformed
	}
	op, err := decode(&h, e.header[ringArg:ringInOut], e.payload[:size], e.payload)
	if err != nil {
		return nil, err
	}
	e.away = false
	return &Request{Op: op, UID: h.uid, GID: h.gid, Blocks: -1, header: h, entry: e}, nil
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
	first := len(q.answered) == 0
	q.answered = append(q.answered, e)
	q.mu.Unlock()
	if !first {
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
