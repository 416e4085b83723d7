package wire

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ring is an io_uring for commands to a device (linux/io_uring.h). One thread uses it: the one that made it.
type ring struct {
	fd          int
	rings, sqes []byte // memory shared with the kernel

	sqTail         *atomic.Uint32
	sqMask         uint32
	cqHead, cqTail *atomic.Uint32
	cqMask         uint32
	cqes           unsafe.Pointer

	unsubmitted uint32

	arg     geteventsArg // of enter
	timeout unix.Timespec
}

// Of linux/io_uring.h.
const (
	setupCQSize       = 1 << 3
	setupSQE128       = 1 << 10
	setupSingleIssuer = 1 << 12
	setupDeferTaskrun = 1 << 13
	setupNoSQArray    = 1 << 16
	featSingleMmap    = 1 << 0
	enterGetEvents    = 1 << 0
	enterExtArg       = 1 << 3
	offsetSQEs        = 0x10000000

	opUringCmd = 46 // IORING_OP_URING_CMD

	sqeSize = 128
	cqeSize = 16
)

// ringParams is struct io_uring_params.
type ringParams struct {
	sqEntries, cqEntries, flags, sqThreadCPU, sqThreadIdle, features, wqFd uint32
	_                                                                      [3]uint32
	sq                                                                     sqOffsets
	cq                                                                     cqOffsets
}

type sqOffsets struct {
	head, tail, mask, entries, flags, dropped, array, _ uint32
	_                                                   uint64
}

type cqOffsets struct {
	head, tail, mask, entries, overflow, cqes, flags, _ uint32
	_                                                   uint64
}

// sqe is struct io_uring_sqe with IORING_SETUP_SQE128.
type sqe struct {
	opcode, flags uint8
	_             uint16
	fd            int32
	off           uint64 // of a command, its number
	addr          uint64
	length        uint32
	opFlags       uint32
	userData      uint64
	_             [8]byte
	command       [80]byte // from offset 48; before Linux 5.19 there was none
}

// cqe is struct io_uring_cqe.
type cqe struct {
	userData uint64
	result   int32
	flags    uint32
}

// geteventsArg is struct io_uring_getevents_arg.
type geteventsArg struct {
	sigmask              uint64
	sigmaskSize, minWait uint32
	timeout              uint64 // address
}

// newRing makes a ring for as many submissions as entries.
func newRing(entries uint32) (*ring, error) {
	p := ringParams{flags: setupSQE128 | setupCQSize | setupSingleIssuer | setupDeferTaskrun | setupNoSQArray, cqEntries: 2 * entries}
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, uintptr(entries), uintptr(unsafe.Pointer(&p)), 0)
	if errno != 0 {
		return nil, fmt.Errorf("io_uring_setup: %w", errno)
	}
	r := &ring{fd: int(fd)}
	unix.CloseOnExec(r.fd)
	if err := r.mapMemory(&p); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *ring) mapMemory(p *ringParams) (err error) {
	if p.features&featSingleMmap == 0 {
		return fmt.Errorf("io_uring_setup: %w", unix.ENOSYS)
	}
	size := max(p.sq.entries, p.sq.array, p.cq.cqes+p.cqEntries*cqeSize)
	const protection, flags = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_SHARED | unix.MAP_POPULATE
	if r.rings, err = unix.Mmap(r.fd, 0, int(size), protection, flags); err != nil {
		return fmt.Errorf("map a ring: %w", err)
	}
	if r.sqes, err = unix.Mmap(r.fd, offsetSQEs, int(p.sqEntries*sqeSize), protection, flags); err != nil {
		return fmt.Errorf("map a ring: %w", err)
	}
	r.sqTail, r.sqMask = r.word(p.sq.tail), *r.plain(p.sq.mask)
	r.cqHead, r.cqTail, r.cqMask = r.word(p.cq.head), r.word(p.cq.tail), *r.plain(p.cq.mask)
	r.cqes = unsafe.Pointer(&r.rings[p.cq.cqes])
	return nil
}

func (r *ring) word(off uint32) *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Pointer(&r.rings[off]))
}
func (r *ring) plain(off uint32) *uint32 { return (*uint32)(unsafe.Pointer(&r.rings[off])) }

func (r *ring) close() {
	unix.Close(r.fd)
	if r.sqes != nil {
		unix.Munmap(r.sqes)
	}
	if r.rings != nil {
		unix.Munmap(r.rings)
	}
}

// next returns an empty submission, which the next enter takes. There is always room: each entry of a queue has at most
// one on its way.
func (r *ring) next() *sqe {
	tail := r.sqTail.Load()
	s := (*sqe)(unsafe.Pointer(&r.sqes[(tail&r.sqMask)*sqeSize]))
	*s = sqe{}
	r.sqTail.Store(tail + 1)
	r.unsubmitted++
	return s
}

// enter submits what there is, and waits for a completion, but no longer than for a time, if that is not 0.
func (r *ring) enter(patience time.Duration) error {
	flags, arg, size := uintptr(enterGetEvents), unsafe.Pointer(nil), uintptr(0)
	if patience > 0 {
		r.timeout = unix.NsecToTimespec(int64(patience))
		r.arg.timeout = uint64(uintptr(unsafe.Pointer(&r.timeout)))
		flags, arg, size = flags|enterExtArg, unsafe.Pointer(&r.arg), unsafe.Sizeof(r.arg)
	}
	for {
		n, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, uintptr(r.fd), uintptr(r.unsubmitted), 1, flags, uintptr(arg), size)
		switch errno {
		case 0: // also if the time is over, and something was submitted (io_uring_enter in io_uring/io_uring.c)
			r.unsubmitted -= min(r.unsubmitted, uint32(n&math.MaxUint32))
			return nil
		case unix.ETIME:
			return nil
		case unix.EINTR:
			// What was to be submitted was, or the kernel would have returned their number.
			r.unsubmitted = 0
		default:
			return fmt.Errorf("io_uring_enter: %w", errno)
		}
	}
}

// completion returns the next completion, if there is one.
func (r *ring) completion() (c cqe, ok bool) {
	head := r.cqHead.Load()
	if head == r.cqTail.Load() {
		return c, false
	}
	c = *(*cqe)(unsafe.Add(r.cqes, uintptr(head&r.cqMask)*cqeSize))
	r.cqHead.Store(head + 1)
	return c, true
}
