package netgate

import (
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riverlytech/art/internal/control"
)

const (
	// mostEvents are on their way to art at once; what is more is counted. mostTogether of them are in one frame.
	mostEvents   = 4096
	mostTogether = 256
	// noteTime is how long a denial, or what is first said on a connection, waits at most until art knows whose it is: a program that is
	// refused, or has its answer, is soon gone.
	noteTime = 20 * time.Millisecond
)

// events tells art what the guest does. Nobody waits for art, but for a moment who is denied something or gets an answer.
type events struct {
	queue chan control.NetEvent // nil: nobody is told
	last  atomic.Uint64         // number that was given
	lost  atomic.Uint64         // how many were not told
	told  chan struct{}         // closed when all are
	most  time.Duration         // noteTime

	mu      sync.Mutex
	waiting map[uint64]chan struct{} // GUARDED_BY(mu); what is not noted yet
	open    map[*record]bool         // GUARDED_BY(mu); connections
	closed  bool                     // GUARDED_BY(mu); no more are taken
}

// Tell has the gate tell w what the guest does. It is to be called before Serve.
func (g *Gate) Tell(w io.Writer) {
	e := &g.events
	e.queue, e.told, e.waiting = make(chan control.NetEvent, mostEvents), make(chan struct{}), map[uint64]chan struct{}{}
	e.open, e.most = map[*record]bool{}, noteTime
	go func() {
		defer close(e.told)
		for event := range e.queue {
			f := &control.NetEvents{Events: []control.NetEvent{event}, Lost: e.lost.Swap(0)}
			for more := true; more && len(f.Events) < mostTogether; {
				select {
				case event, more = <-e.queue:
					if more {
						f.Events = append(f.Events, event)
					}
				default:
					more = false
				}
			}
			if control.WriteFrame(w, f) != nil {
				for range e.queue { // art has gone
				}
				return
			}
		}
	}()
}

// EndTelling returns when all is told.
func (g *Gate) EndTelling() {
	e := &g.events
	if e.queue == nil {
		return
	}
	e.mu.Lock()
	for f := range e.open { // which end with the guest
		select {
		case e.queue <- f.ended():
		default:
			e.lost.Add(1)
		}
	}
	e.closed = true
	close(e.queue)
	e.mu.Unlock()
	<-e.told
}

// Noted says that art has noted a denial, or whose a connection is.
func (g *Gate) Noted(number uint64) {
	e := &g.events
	e.mu.Lock()
	defer e.mu.Unlock()
	if noted := e.waiting[number]; noted != nil {
		close(noted)
		delete(e.waiting, number)
	}
}

// put tells of an event, and reports whether art is going to hear of it.
func (e *events) put(event control.NetEvent) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.queue == nil || e.closed {
		return false
	}
	if event.Time.IsZero() {
		event.Time = time.Now()
	}
	select {
	case e.queue <- event:
		return true
	default:
		e.lost.Add(1)
		return false
	}
}

// denied tells of a denial, and waits until that is noted, or for a moment.
func (e *events) denied(event control.NetEvent, wait bool) {
	if e.queue == nil {
		return
	}
	event.Kind, event.Number = control.NetDenied, e.last.Add(1)
	if !wait {
		e.put(event)
		return
	}
	e.wait(event.Number, e.putAwaited(event))
}

// putAwaited is put of an event that art is to note. The channel is closed then; it is nil if nobody can wait for that.
func (e *events) putAwaited(event control.NetEvent) (noted chan struct{}) {
	e.mu.Lock()
	if len(e.waiting) < mostWaiting {
		noted = make(chan struct{})
		e.waiting[event.Number] = noted
	}
	e.mu.Unlock()
	if !e.put(event) && noted != nil {
		e.forget(event.Number)
		return nil
	}
	return noted
}

// wait waits until an event is noted, or for a moment.
func (e *events) wait(number uint64, noted chan struct{}) {
	if noted == nil {
		return
	}
	late := time.NewTimer(e.most)
	defer late.Stop()
	select {
	case <-noted:
	case <-late.C:
		e.forget(number)
	}
}

func (e *events) forget(number uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.waiting, number)
}

// peers are both ends of a connection, or of a packet, as the guest has them.
type peers struct {
	guest, peer netip.AddrPort
	udp         bool
	busy        bool // who takes the guest's packets must not wait
}

func (p *peers) event() control.NetEvent {
	return control.NetEvent{Guest: p.guest.String(), Peer: p.peer.String(), UDP: p.udp}
}

// peersOf are those of a connection for questions about names.
func peersOf(guest, peer net.Addr) (p peers) {
	for _, end := range []struct {
		from net.Addr
		to   *netip.AddrPort
	}{{guest, &p.guest}, {peer, &p.peer}} {
		switch a := end.from.(type) {
		case *net.UDPAddr:
			*end.to, p.udp = unmapped(a.AddrPort()), true
		case *net.TCPAddr:
			*end.to = unmapped(a.AddrPort())
		}
	}
	return p
}

func unmapped(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }
