package netgate

import (
	"cmp"
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"github.com/riverlytech/art/internal/control"
)

// record is a connection that a rule allows, as art is told of it: before it is waited for, or, if it is there at once, when the guest
// has it, who is not to wait for what art does meanwhile. By the guest's socket art finds whose it is.
type record struct {
	events  *events
	event   control.NetEvent // with the number 0 if art is told nothing
	traffic traffic
	told    bool          // that it has begun
	noted   chan struct{} // closed when art knows whose it is; nil: nobody waits for that
}

// traffic counts bytes of a connection: those that were passed on for the guest, and to it.
type traffic struct{ sent, received atomic.Int64 }

// begin is called when a connection is about to be made. One that no rule allows is told of when it is denied.
func (g *Gate) begin(who peers, p *permit, name string, a netip.Addr, port uint16) *record {
	r := &record{events: &g.events}
	if p.rule == "" || g.events.queue == nil {
		return r
	}
	r.event = who.event()
	r.event.Kind, r.event.Number, r.event.Time = control.NetBegun, g.events.last.Add(1), time.Now()
	r.event.What, r.event.Port, r.event.Rule = short(cmp.Or(name, a.String())), int(port), short(p.rule)
	return r
}

// tell tells that the connection has begun, unless that is known.
func (r *record) tell() {
	if r.event.Number != 0 && !r.told {
		r.told = true
		r.noted = r.events.putAwaited(r.event)
	}
}

// wait waits until art knows whose the connection is, or for a moment.
func (r *record) wait() { r.events.wait(r.event.Number, r.noted) }

// because says why there was no connection. What was denied is told of as such, with another number.
func (r *record) because(err error) {
	r.tell()
	r.event.Why = short(err.Error())
	if errors.As(err, new(refusal)) {
		r.event.Why = control.FlowDenied
	}
}

// reached says that there is a connection, to an address, and that the guest has it.
func (r *record) reached(address string) {
	r.tell()
	if r.event.Address = address; r.event.Number != 0 {
		r.events.mu.Lock()
		r.events.open[r] = true
		r.events.mu.Unlock()
	}
}

// end tells how it went.
func (r *record) end() {
	if r.event.Number == 0 {
		return
	}
	r.events.mu.Lock()
	delete(r.events.open, r)
	r.events.mu.Unlock()
	r.events.put(r.ended())
}

func (r *record) ended() control.NetEvent {
	e := r.event
	e.Kind, e.Time, e.Sent, e.Received = control.NetEnded, time.Now(), r.traffic.sent.Load(), r.traffic.received.Load()
	return e
}

// measured is a connection of the guest's that counts.
type measured struct {
	net.Conn
	traffic *traffic
}

func (m *measured) Read(b []byte) (int, error) {
	n, err := m.Conn.Read(b)
	m.traffic.sent.Add(int64(n))
	return n, err
}

func (m *measured) Write(b []byte) (int, error) {
	n, err := m.Conn.Write(b)
	m.traffic.received.Add(int64(n))
	return n, err
}

func peersOfEndpoint(id *stack.TransportEndpointID, to netip.Addr) (p peers) {
	p.peer = netip.AddrPortFrom(to, id.LocalPort)
	if a, ok := netip.AddrFromSlice(id.RemoteAddress.AsSlice()); ok {
		p.guest = netip.AddrPortFrom(a.Unmap(), id.RemotePort)
	}
	return p
}
