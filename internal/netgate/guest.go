package netgate

import (
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/waiter"
)

// What is on its way in each direction of a connection: enough for the time that threads take to wake, and less the more connections there
// are, so that all of them together stay within some 100 MB.
const (
	mostBuffered  = 1 << 20
	leastBuffered = 8 << 10
	allBuffered   = 16 << 20
	// firstWindow is what a guest may send before its connection has begun.
	firstWindow = 32 << 10
)

// buffered is how much one of n connections may have on its way in each direction.
func buffered(n int) int { return min(max(allBuffered/max(n, 1), leastBuffered), mostBuffered) }

// errLate and errMuch are that a program does not say whom it speaks to.
var (
	errLate = errors.New("it does not say in time whom it is for")
	errMuch = errors.New("it says too much before it says whom it is for")
)

// guestConn is the guest's side of a connection.
type guestConn struct {
	ep       tcpip.Endpoint
	queue    *waiter.Queue
	in, out  waiter.Entry
	readable <-chan struct{}
	writable <-chan struct{}
	most     int // in one packet
	aborted  atomic.Bool
	peers    peers
	traffic  *traffic
}

// newGuestConn takes over an endpoint, as one of n.
func newGuestConn(ep tcpip.Endpoint, queue *waiter.Queue, n, most int) *guestConn {
	c := &guestConn{ep: ep, queue: queue, most: most, traffic: &traffic{}}
	c.in, c.readable = waiter.NewChannelEntry(guestEvents)
	c.out, c.writable = waiter.NewChannelEntry(waiter.WritableEvents | waiter.EventHUp | waiter.EventErr)
	queue.EventRegister(&c.in)
	queue.EventRegister(&c.out)
	options := ep.SocketOptions()
	options.SetDelayOption(false)
	size := int64(buffered(n))
	options.SetSendBufferSize(size, true)
	options.SetReceiveBufferSize(size, true)
	return c
}

// guestEvents are those that are heard by reading.
const guestEvents = waiter.ReadableEvents | waiter.EventHUp | waiter.EventErr

// wait waits until there is something to be read, or returns errLate.
func (c *guestConn) wait(late <-chan time.Time) error {
	for c.ep.Readiness(guestEvents) == 0 {
		select {
		case <-c.readable:
		case <-late:
			return errLate
		}
	}
	return nil
}

// notify has something called when there is more to be read, instead of waking who waits for it.
func (c *guestConn) notify(call func()) {
	c.queue.EventUnregister(&c.in)
	c.in = waiter.NewFunctionEntry(guestEvents, func(waiter.EventMask) { call() })
	c.queue.EventRegister(&c.in)
}

// waitWritable waits until something can be written.
func (c *guestConn) waitWritable() {
	for c.ep.Readiness(waiter.WritableEvents|waiter.EventHUp|waiter.EventErr) == 0 {
		<-c.writable
	}
}

// read gives what is there to w. It returns io.EOF at the end.
func (c *guestConn) read(w io.Writer) error {
	_, err := c.ep.Read(w, tcpip.ReadOptions{})
	switch err.(type) {
	case nil, *tcpip.ErrWouldBlock, *tcpip.ErrBadBuffer: // w has taken nothing, and knows why
		return nil
	case *tcpip.ErrClosedForReceive:
		if c.aborted.Load() {
			return errAborted
		}
		return io.EOF
	}
	return asError(err)
}

var errAborted = errors.New("the connection was reset")

// say writes a short text, if there is room, and ends. What the guest still says is not heard, but for a while it is taken: a reset
// could come before the text.
func (c *guestConn) say(text string) {
	_, _ = c.ep.Write(strings.NewReader(text), tcpip.WriteOptions{}) // who does not hear it sees the end
	c.closeWrite()
	late := time.NewTimer(sayTime)
	defer late.Stop()
	for c.wait(late.C) == nil && c.read(io.Discard) == nil { //nolint:revive // to the end
	}
}

const sayTime = 5 * time.Second

func (c *guestConn) closeWrite() { _ = c.ep.Shutdown(tcpip.ShutdownWrite) }

// abort resets the connection.
func (c *guestConn) abort() {
	c.aborted.Store(true)
	c.ep.Abort()
}

func (c *guestConn) close() {
	c.queue.EventUnregister(&c.in)
	c.queue.EventUnregister(&c.out)
	c.ep.Close()
}

// A guest that has said all may have gone altogether, which nobody hears of as long as the host says nothing.
const (
	goneAfter    = 90 * time.Second
	goneInterval = 30 * time.Second
	goneCount    = 3
)

// watch asks from time to time whether the guest is still there.
func (c *guestConn) watch() {
	idle, interval := tcpip.KeepaliveIdleOption(goneAfter), tcpip.KeepaliveIntervalOption(goneInterval)
	_ = c.ep.SetSockOpt(&idle) // none of these can fail on a connection
	_ = c.ep.SetSockOpt(&interval)
	_ = c.ep.SetSockOptInt(tcpip.KeepaliveCountOption, goneCount)
	c.ep.SocketOptions().SetKeepAlive(true)
}
