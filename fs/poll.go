package fs

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// poller waits for requests without sleeping, as long as that pays. Being woken costs more than
// most operations: the next request of a busy program comes before we would be asleep. But on a
// machine with few processors, to wait like this takes time from the programs that we wait for. docs/speed.md
// has what was tried.
type poller struct {
	fd      int
	score   int          // how likely it pays, from 0 to fullScore
	skipped int          // how often it was not tried since
	barred  time.Time    // not before then: someone else wanted the processor
	wasted  atomic.Int64 // time for which nothing came, in nanoseconds
}

const (
	// pollFor is for how long to wait. A program that reads or makes one file after the other asks
	// again within some 10 µs; one that computes or waits for a disk does not within many times that.
	pollFor   = 50 * time.Microsecond
	fullScore = 16
	retryPoll = 32 // how often not to try when it does not pay
	// A gap in our time of this length means that someone else had the processor.
	gap    = 20 * time.Microsecond
	barFor = 20 * time.Millisecond
)

// wait returns when there is a request, or when it is better to sleep until there is one.
func (p *poller) wait() {
	if p.score < fullScore/2 {
		if p.skipped++; p.skipped < retryPoll {
			return
		}
		p.skipped = 0
	}
	begin := time.Now()
	if begin.Before(p.barred) {
		return
	}
	for last := begin; ; {
		if p.ready() {
			p.score = min(p.score+1, fullScore)
			return
		}
		now := time.Now()
		preempted := now.Sub(last) > gap
		if preempted {
			p.barred = now.Add(barFor)
		}
		if waited := now.Sub(begin); preempted || waited > pollFor {
			p.score = max(p.score-2, 0)
			p.wasted.Add(int64(min(waited, pollFor)))
			return
		}
		last = now
	}
}

// ready tells whether there is a request. The call does not block, so Go's scheduler need not know.
func (p *poller) ready() bool {
	fds := unix.PollFd{Fd: int32(p.fd), Events: unix.POLLIN}
	var none unix.Timespec
	n, _, _ := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&fds)), 1, uintptr(unsafe.Pointer(&none)), 0, 0, 0)
	return n == 1
}
