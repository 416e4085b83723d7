package commands

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/control"
)

// room is how long to wait for room in the socket, in milliseconds.
const room = 20

// sender sends messages to art-fuse, in the order in which send is called.
type sender struct {
	sock *os.File
	sent *atomic.Uint64 // messages, for art-fuse
	lost atomic.Int64   // messages

	mu   sync.Mutex
	slow bool // GUARDED_BY(mu); there was no room for the last one, and nobody waits any more
	gone bool // GUARDED_BY(mu); art-fuse is
}

// send sends a message. Of what finds no room in time it only counts that.
func (s *sender) send(c *control.Command) {
	data := control.Marshal(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.gone {
		switch err := unix.Send(int(s.sock.Fd()), data, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL); {
		case err == nil:
			s.slow = false
			s.sent.Add(1)
			return
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN) && !s.slow && s.wait():
		case errors.Is(err, unix.EAGAIN):
			s.slow = true
			s.lost.Add(1)
			return
		default:
			s.gone = true
		}
	}
}

// wait waits for room.
func (s *sender) wait() bool {
	ready := []unix.PollFd{{Fd: int32(s.sock.Fd()), Events: unix.POLLOUT}}
	n, err := unix.Poll(ready, room)
	return n > 0 || errors.Is(err, unix.EINTR)
}

// receive returns the next message of art-fuse.
func (s *sender) receive(buf []byte) (*control.Command, error) {
	for {
		n, err := unix.Read(int(s.sock.Fd()), buf)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, err
		case n == 0:
			return nil, os.ErrClosed
		}
		c := &control.Command{}
		return c, control.Unmarshal(buf[:n], c)
	}
}
