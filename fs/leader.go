package fs

import (
	"sync/atomic"
	"time"
)

// leadership passes the reading of requests on to another goroutine. The leader, which reads, also serves: that is fast as
// long as nothing waits. But a lookup may wait for the host's disk, or a directory may be long, which cannot be told
// before. So a watchdog looks at the leader: if that is still at the same operation after leadFor, another goroutine leads
// from then on, and the first ends with its operation.
type leadership struct {
	turn   atomic.Pointer[turn] // the leader's operation; nil while it waits for one
	parked atomic.Bool          // the watchdog sleeps, because nothing has happened for a while
	wake   chan struct{}
	ended  chan struct{} // closed when the connection is gone
}

type turn struct{ op any }

const (
	// leadFor is for how long an operation may hold up the others.
	leadFor = 5 * time.Millisecond
	// parkAfter is how often the watchdog has to find no operation before it sleeps: an idle session must cost nothing.
	parkAfter = 100
)

func newLeadership() leadership {
	return leadership{wake: make(chan struct{}, 1), ended: make(chan struct{})}
}

// begin is the leader's, before an operation.
func (l *leadership) begin(op any) *turn {
	t := &turn{op}
	l.turn.Store(t)
	if l.parked.Load() {
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
	return t
}

// end is the leader's, after an operation. It returns false if another one leads by now.
func (l *leadership) end(t *turn) bool { return l.turn.CompareAndSwap(t, nil) }

// watchLeader is the watchdog. It ends with the connection.
func (s *Server) watchLeader() {
	l := &s.leadership
	tick := time.NewTicker(leadFor)
	defer tick.Stop()
	var last *turn
	for idle := 0; ; {
		select {
		case <-l.ended:
			return
		case <-tick.C:
		}
		t := l.turn.Load()
		switch {
		case t == nil:
			if idle++; idle == parkAfter {
				tick.Stop()
				l.parked.Store(true)
				if l.turn.Load() == nil { // or it began before it could see that
					select {
					case <-l.ended:
						return
					case <-l.wake:
					}
				}
				l.parked.Store(false)
				tick.Reset(leadFor)
				idle = 0
			}
		case t == last:
			s.inflight.begin(t.op)
			if l.turn.CompareAndSwap(t, nil) {
				go s.lead()
			} else {
				s.inflight.end(t.op) // it has just ended
			}
			t = nil
			fallthrough
		default:
			last, idle = t, 0
		}
	}
}
