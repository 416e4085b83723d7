package commands

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/control"
)

// gather is how long messages gather in the ring, before art-fuse is woken to take them. It takes them by itself before it
// serves a request that changes something.
const gather = 100 * time.Millisecond

// sender sends messages to art-fuse.
type sender struct {
	sock *os.File
	ring *control.Ring
	lost atomic.Int64 // messages

	mu    sync.Mutex
	rings bool      // GUARDED_BY(mu); art-fuse will be woken
	woken time.Time // GUARDED_BY(mu); when it was last, because much has gathered
}

// tell puts a message into the ring. Of what finds no room it only counts that: nobody waits.
func (s *sender) tell(c *control.Command) {
	data := control.Marshal(c)
	s.mu.Lock()
	ok, filled := s.ring.Put(data)
	rings, now := s.rings, filled && time.Since(s.woken) > time.Millisecond
	if s.rings = true; now {
		s.woken = time.Now()
	}
	s.mu.Unlock()
	if !ok {
		s.lost.Add(1)
	}
	if now {
		s.wake()
	}
	if !rings {
		time.AfterFunc(gather, func() {
			s.mu.Lock()
			s.rings = false
			s.mu.Unlock()
			s.wake()
		})
	}
}

// wake has art-fuse take what is in the ring.
func (s *sender) wake() { s.answer(&control.Command{Kind: control.Waiting}) }

// answer sends a message over the socket, to art-fuse that waits for it. If there is no room, it has asked more than it has heard.
func (s *sender) answer(c *control.Command) {
	_ = unix.Send(int(s.sock.Fd()), control.Marshal(c), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
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
