package wire

import (
	"encoding/binary"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Commands about entries, by IORING_OP_URING_CMD (enum fuse_uring_cmd in linux/fuse.h).
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

// entry is the place of one request in a queue.
type entry struct {
	thread  *thread
	queue   *processor
	index   int
	iov     [2]unix.Iovec // read by the kernel when it is registered
	header  []byte
	payload []byte
	served  int // requests
}

func (e *entry) init(t *thread, index int, header, payload []byte) {
	*e = entry{thread: t, queue: t.queues[index], index: index, header: header, payload: payload}
}

// command is a submission of a command about an entry.
func (e *entry) command(number uint64) *sqe {
	s := e.thread.ring.next()
	s.opcode, s.fd, s.off = opUringCmd, int32(e.thread.rings.dev), number
	s.userData = uint64(e.index)
	// struct fuse_uring_cmd_req: flags, number of the request, queue.
	binary.NativeEndian.PutUint16(s.command[16:], uint16(e.queue.number))
	return s
}

// register gives the kernel the entry, with the next enter.
func (e *entry) register() {
	e.iov = [2]unix.Iovec{{Base: &e.header[0], Len: ringHeaderSize}, {Base: &e.payload[0], Len: e.thread.rings.payload}}
	s := e.command(cmdRegister)
	s.addr, s.length = uint64(uintptr(unsafe.Pointer(&e.iov))), 2
}

// serve serves the request that the kernel has put into the entry.
func (e *entry) serve() {
	r, q := e.thread.rings, e.queue
	if e.served++; e.served == 1 {
		r.used.Store(true)
	}
	busy, threads := q.busy.Add(1), q.threads.Load()
	if 2*busy > threads || threads < r.ahead && e.served > fewRequests {
		r.grow(q)
	}
	if request, err := e.request(); err == nil {
		r.serve(request)
	} else {
		e.finish(syscall.EIO, 0)
	}
	q.busy.Add(-1)
}

// request decodes what the kernel has put into the entry.
func (e *entry) request() (*Request, error) {
	h, err := decodeHeader(e.header)
	if err != nil {
		return nil, err
	}
	h.flags = e.thread.rings.flags
	size := binary.NativeEndian.Uint32(e.header[ringPayload:])
	if uint64(size) > uint64(len(e.payload)) {
		return nil, errMalformed
	}
	e.noteUse(int(size))
	op, err := decode(&h, e.header[ringArg:ringInOut], e.payload[:size], e.payload)
	if err != nil {
		return nil, err
	}
	r := newRequest(&h, op)
	r.entry = e
	return r, nil
}

// noteUse notes how much of the payload is in use.
func (e *entry) noteUse(n int) {
	if n > kept {
		e.thread.long = true
	}
}

// reply answers a request.
func (e *entry) reply(r *Request, errno syscall.Errno) {
	n := 0
	if errno == 0 {
		n = encode(r.Op, e.payload, r.Blocks)
	}
	e.finish(errno, n)
}

// finish makes a reply, whose payload of n bytes is in place, of the request. The kernel takes it with the next enter,
// which waits for another request.
func (e *entry) finish(errno syscall.Errno, n int) {
	e.noteUse(n)
	unique := binary.NativeEndian.Uint64(e.header[8:])
	putOutHeader(e.header, outHeaderSize+n, errno, unique)
	binary.NativeEndian.PutUint32(e.header[ringPayload:], uint32(n))
	s := e.command(cmdCommitAndFetch)
	copy(s.command[8:16], e.header[ringCommitID:ringCommitID+8])
}
