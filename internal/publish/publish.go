// Package publish has ports of a guest be reached from the host. Whatever comes to a socket of the host's loopback is connected to that
// port within the guest's network, in which this process is: a server that listens on the guest's loopback is reached as it is from there,
// and no packet goes where the guest has its own. The guest has none of this process.
//
//	publish.go  what comes to a socket of the host's, and is passed on
//	conns.go    how many connections there are, and which gives way
package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riverlytech/art/internal/control"
)

const (
	// mostConns is how many connections there are at once, of which each port has its share. Who comes then waits until one ends, or takes the
	// place of the one over which nothing was said for the longest time, idleTime at least; it is looked for every idleAgain.
	mostConns = 1000
	idleTime  = time.Minute
	idleAgain = time.Second
	// dialTime is how long one of the guest's addresses has to answer.
	dialTime = 10 * time.Second
	// acceptAgain is when it is tried again where there are no more descriptors.
	acceptAgain = 100 * time.Millisecond
)

// addresses are where the guest's servers are looked for, in order: its loopback, and its only interface.
var addresses = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback(), control.Guest4, control.Guest6}

// Gate connects both sides.
type Gate struct {
	share int           // of connections, that a port has
	idle  time.Duration // after which one of them may give way
	last  atomic.Uint64 // number of an event

	mu   sync.Mutex
	tell io.Writer // GUARDED_BY(mu); of events; nobody reads any more when it fails
}

// New returns a gate for some ports, at least one, which tells w of its connections.
func New(w io.Writer, ports int) *Gate {
	return &Gate{share: mostConns / ports, idle: idleTime, tell: w}
}

// Serve connects all that comes to l, a socket of the host, to a port of the guest's, the one with that index. It returns when l is closed.
func (g *Gate) Serve(l net.Listener, index, port int) {
	conns := &conns{room: make(chan struct{}, g.share), open: map[*net.TCPConn]bool{}}
	e := control.NetEvent{What: control.PublishedWhat, Port: port, Published: index, Rule: "published at " + l.Addr().String()}
	for {
		c, err := l.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			time.Sleep(acceptAgain)
			continue
		}
		host := c.(*net.TCPConn)
		conns.add(host, g.idle)
		go func() {
			defer conns.remove(host)
			g.connect(host, e)
		}()
	}
}

// connect connects one. What it tells of it begins with e.
func (g *Gate) connect(host *net.TCPConn, e control.NetEvent) {
	defer host.Close()
	e.Kind, e.Number, e.Time, e.Address = control.NetBegun, g.last.Add(1), time.Now(), host.RemoteAddr().String()
	guest, err := dial(e.Port)
	if err == nil {
		defer guest.Close()
		// Who listens, as nobody has this connection yet: a lookup without it finds that socket (inet_diag_find_one_icsk in
		// net/ipv4/inet_diag.c).
		server, own := guest.RemoteAddr().(*net.TCPAddr).AddrPort(), guest.LocalAddr().(*net.TCPAddr).AddrPort()
		e.Guest, e.Peer = server.String(), netip.AddrPortFrom(own.Addr(), 0).String()
	}
	g.event(e)
	if err != nil {
		e.Why = "nothing listens at the port"
		_ = host.SetLinger(0) // the other side is to see that, not an end
	} else {
		e.Received, e.Sent = carry(guest, host)
	}
	e.Kind, e.Time = control.NetEnded, time.Now()
	g.event(e)
}

// dial reaches a port of the guest's.
func dial(port int) (*net.TCPConn, error) {
	var failed []error
	d := net.Dialer{Timeout: dialTime}
	for _, a := range addresses {
		c, err := d.DialContext(context.Background(), "tcp", net.JoinHostPort(a.String(), strconv.Itoa(port)))
		if err == nil {
			return c.(*net.TCPConn), nil
		}
		failed = append(failed, err)
	}
	return nil, errors.Join(failed...)
}

// carry passes on what both sides say, until both have ended, and returns how much came to each.
func carry(guest, host *net.TCPConn) (toGuest, toHost int64) {
	var wait sync.WaitGroup
	pass := func(to, from *net.TCPConn, n *int64) {
		wait.Go(func() {
			var err error
			if *n, err = io.Copy(to, from); err != nil {
				_ = to.SetLinger(0) // it was cut off
				to.Close()
				from.Close()
				return
			}
			_ = to.CloseWrite() // who is gone hears nothing
		})
	}
	pass(guest, host, &toGuest)
	pass(host, guest, &toHost)
	wait.Wait()
	return toGuest, toHost
}

func (g *Gate) event(e control.NetEvent) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tell != nil && control.WriteFrame(g.tell, &control.NetEvents{Events: []control.NetEvent{e}}) != nil {
		g.tell = nil
	}
}

// Listen returns a socket at a port of the host's loopback.
func Listen(port int) (*net.TCPListener, error) {
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("listen at 127.0.0.1:%d: %w", port, err)
	}
	return l.(*net.TCPListener), nil
}
