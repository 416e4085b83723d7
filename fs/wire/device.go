package wire

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Conn is a connection to the kernel: an open and mounted /dev/fuse. Its methods may be called by several goroutines at
// once.
type Conn struct {
	dev     int
	flags   Flags
	rings   *rings // nil without
	noRings error  // why

	mu     sync.RWMutex // a notification is written with it held for reading
	closed bool         // GUARDED_BY(mu)
}

// Open has the first exchange with the kernel. The descriptor is the caller's, and must be in blocking mode.
func Open(dev int, opt Options) (*Conn, error) {
	c := &Conn{dev: dev}
	if err := c.negotiate(&opt); err != nil {
		return nil, err
	}
	return c, nil
}

// Close closes the descriptor of a connection that has ended, when nothing reads from it any more. Notifications may still be
// asked for: they are not written to what has the descriptor's number by then.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	return unix.Close(c.dev)
}

// Rings tells whether requests come by rings.
func (c *Conn) Rings() bool { return c.rings != nil }

// Flags are what both sides agreed on.
func (c *Conn) Flags() Flags { return c.flags }

// Request is a request of the kernel. It has to be answered once.
type Request struct {
	// Op is what is asked for, an operation of fuseops or of this package. The kernel's own buffers are part of it, and
	// are the kernel's again with the answer.
	Op any
	// UID and GID are the ids of the process that asks, in the mount's user namespace.
	UID, GID uint32
	// PID is the id of the thread that asks, in the process namespace of who has mounted; 0 where the kernel asks for what was
	// changed through mappings, or somebody outside of that namespace (fuse_get_req in fs/fuse/dev.c).
	PID uint32
	// Umask is that process's, of an operation that makes something.
	Umask uint32
	// End says of a write that it is of a file opened with O_APPEND: it is to go to the end, and the offset is where the kernel takes
	// that to be.
	End bool
	// Blocks is the number of 512 bytes that the inode takes which the reply is about; below 0, what its size takes.
	Blocks int64

	unique uint64  // the kernel's number of a request by /dev/fuse,
	memory *[]byte // and where it lies
	conn   *Conn   // same
	entry  *entry  // of a request by a ring
}

// newRequest is a request that is not answered, of what decode has made of it.
func newRequest(h *header, op any) *Request {
	return &Request{Op: op, UID: h.uid, GID: h.gid, PID: h.pid, Umask: h.umask, End: h.end, Blocks: -1}
}

// Requests by /dev/fuse lie in memory as the kernel wrote them. A reply is written over them from replyAt on, its header
// before that: no part of a request that serving it may need (content that is written, values of attributes) begins
// before the reply's largest fixed part ends, but a buffer to be read into may lie over the request's arguments, which
// are decoded by then.
const replyAt = outHeaderSize

// large has the memory of requests, as long as the longest.
var large = sync.Pool{New: func() any {
	memory := make([]byte, maxPayload+os.Getpagesize())
	return &memory
}}

// Read returns the next request by /dev/fuse. The error is io.EOF when the connection has ended. Requests that are
// malformed are answered with an error, and the next one is returned.
func (c *Conn) Read() (*Request, error) {
	memory := large.Get().(*[]byte)
	for {
		n, err := unix.Read(c.dev, *memory)
		switch {
		case errors.Is(err, unix.EINTR) || errors.Is(err, unix.ENOENT): // ENOENT: the request was interrupted before it was read
			continue
		case err != nil:
			large.Put(memory)
			return nil, ended(err)
		}
		h, err := decodeHeader((*memory)[:n])
		if err != nil || int(h.length) != n {
			continue // there is nothing to answer
		}
		if h.opcode == opInterrupt {
			continue // nothing that waits can be interrupted, and the kernel asks no further
		}
		r, err := c.request(&h, memory, n)
		if err != nil {
			answer(c.dev, h.unique, syscall.EIO, nil)
			continue
		}
		return r, nil
	}
}

// ended is io.EOF for the error of a connection that is no more: unmounted, or aborted.
func ended(err error) error {
	if errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ECONNABORTED) {
		return io.EOF
	}
	return &os.PathError{Op: "read", Path: "/dev/fuse", Err: err}
}

func (c *Conn) request(h *header, lent *[]byte, n int) (*Request, error) {
	memory := *lent
	h.flags = c.flags
	arg := memory[inHeaderSize:n]
	var payload []byte
	if fixed := h.fixed(); len(arg) > fixed {
		arg, payload = arg[:fixed], arg[fixed:]
	}
	op, err := decode(h, arg, payload, memory[replyAt:replyAt+maxPayload])
	if err != nil {
		return nil, err
	}
	r := newRequest(h, op)
	r.unique, r.memory, r.conn = h.unique, lent, c
	return r, nil
}

// Reply answers a request: with what its operation holds, or with an error. It must not be used afterwards. An
// error says that the connection has ended.
func (r *Request) Reply(errno syscall.Errno) error {
	if r.entry != nil {
		r.entry.reply(r, errno)
		return nil
	}
	defer large.Put(r.memory)
	if silent(r.Op) {
		return nil
	}
	memory, n := *r.memory, 0
	if errno == 0 {
		n = encode(r.Op, memory[replyAt:], r.Blocks)
	}
	putOutHeader(memory, replyAt+n, errno, r.unique)
	_, err := retry(func() (int, error) { return unix.Write(r.conn.dev, memory[:replyAt+n]) })
	if errors.Is(err, unix.ENOENT) { // who asked was killed
		return nil
	}
	return err
}
