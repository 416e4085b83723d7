// Package netgate is the network of a guest that reaches some names and nothing else: the other end of its only interface. It answers
// questions about names, and carries connections to them from the host.
//
//	gate.go    TCP and UDP in this process, by gVisor's netstack
//	wire.go    its link to the guest's kernel
//	dns.go     what the guest is told about names
//	names.go   the addresses that stand for them
//	dial.go    how they are reached from the host
//	own.go     the host's own addresses, which they may not be
//	grants.go  what may be reached now
//	asks.go    what the user is asked about
//	first.go   whom the first bytes of a connection are for
//	carry.go   the connection
//	guest.go   the guest's side of it
//	ender.go   or who ends it
//	ledger.go  what was denied
//	events.go  what art is told meanwhile
//	record.go  that, of a connection
package netgate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/nested"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
	"gvisor.dev/gvisor/pkg/waiter"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/netrule"
)

const (
	nic     = 1
	dnsPort = 53

	// Connections of the guest's at once, where this process may have as many descriptors; and those of them that are not answered yet.
	mostConns   = 10000
	mostWaiting = 256
	// Connections for questions about names, which no rule is about.
	mostDNS = 16
	// ownFiles are descriptors for other things.
	ownFiles = 64
)

// Gate is what the guest reaches the network through.
type Gate struct {
	grants   grants
	asks     asks
	resolver *net.Resolver
	own      func() ([]netip.Addr, error) // addresses of the host
	names    names
	ledger   ledger
	events   events
	stack    *stack.Stack
	most     int // in one packet of TCP
	// How long a program may take from its first byte until it has said whom it speaks to.
	firstTime time.Duration
	conns     chan struct{} // holds one for each connection
	waiting   chan struct{} // holds one for each that is not answered yet
	dns       chan struct{} // holds one for each that is for questions
	ender     Ender         // nil without one
}

// New returns the gate of rules.
func New(rules *netrule.Rules) *Gate {
	g := &Gate{
		resolver: &net.Resolver{PreferGo: true}, own: ownAddresses, firstTime: 20 * time.Second, asks: asks{time: askTime, again: askAgain},
		conns: make(chan struct{}, roomForConns()), waiting: make(chan struct{}, mostWaiting), dns: make(chan struct{}, mostDNS),
	}
	g.grants.now.Store(&held{rules: rules, granted: map[string]bool{}})
	return g
}

// roomForConns is how many connections there can be. The limit of descriptors is as high as it can be already (package os).
func roomForConns() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > mostConns+mostWaiting+ownFiles {
		return mostConns
	}
	return max(int(limit.Cur)-ownFiles, 1)
}

// Report returns what was denied so far.
func (g *Gate) Report() *control.NetReport { return g.ledger.report() }

// Serve serves the guest whose device, for packets of IP up to mtu, is open as fd: see [control.TunnelFD]. It returns when that has
// begun; what goes wrong later goes to ended.
func (g *Gate) Serve(fd int, mtu uint32, ended func(error)) error {
	link, err := newWire(fd, mtu, ended)
	if err != nil {
		return err
	}
	return g.serve(newSilent(link))
}

// serve serves the guest at the other end of link.
func (g *Gate) serve(link stack.LinkEndpoint) error {
	// The stack leaves room for all options: what is longer goes as two packets, one of them with a few bytes.
	g.most = int(link.MTU()) - header.IPv6MinimumSize - header.TCPHeaderMaximumSize
	g.stack = stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, ipv6.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, udp.NewProtocol},
	})
	sack := tcpip.TCPSACKEnabled(true)
	send := tcpip.TCPSendBufferSizeRangeOption{Min: leastBuffered, Default: mostBuffered, Max: mostBuffered}
	receive := tcpip.TCPReceiveBufferSizeRangeOption{Min: leastBuffered, Default: mostBuffered, Max: mostBuffered}
	for _, option := range []tcpip.SettableTransportProtocolOption{&sack, &send, &receive} {
		if err := g.stack.SetTransportProtocolOption(tcp.ProtocolNumber, option); err != nil {
			return asError(err)
		}
	}
	forwarder := tcp.NewForwarder(g.stack, firstWindow, cap(g.conns)+1, g.accept)
	g.stack.SetTransportProtocolHandler(tcp.ProtocolNumber, forwarder.HandlePacket)
	g.stack.SetTransportProtocolHandler(udp.ProtocolNumber, g.refuseUDP)
	if err := g.addInterface(link); err != nil {
		return err
	}
	return g.listen()
}

// addInterface adds the interface, which takes packets to whatever address.
func (g *Gate) addInterface(link stack.LinkEndpoint) error {
	if err := g.stack.CreateNIC(nic, link); err != nil {
		return asError(err)
	}
	if err := g.stack.SetPromiscuousMode(nic, true); err != nil {
		return asError(err)
	}
	if err := g.stack.SetSpoofing(nic, true); err != nil {
		return asError(err)
	}
	for _, a := range []netip.Addr{control.Gateway4, control.Gateway6} {
		full, number := fullAddress(a, 0)
		err := g.stack.AddProtocolAddress(nic, tcpip.ProtocolAddress{Protocol: number, AddressWithPrefix: full.Addr.WithPrefix()}, stack.AddressProperties{})
		if err != nil {
			return asError(err)
		}
	}
	g.stack.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: nic}, {Destination: header.IPv6EmptySubnet, NIC: nic}})
	return nil
}

// listen answers questions about names.
func (g *Gate) listen() error {
	for _, a := range []netip.Addr{control.Gateway4, control.Gateway6} {
		full, number := fullAddress(a, dnsPort)
		packets, err := gonet.DialUDP(g.stack, &full, nil, number)
		if err != nil {
			return err
		}
		streams, err := gonet.ListenTCP(g.stack, full, number)
		if err != nil {
			return err
		}
		go g.answerPackets(packets)
		go g.answerStreams(streams)
	}
	return nil
}

// accept takes a connection that the guest begins, when what it is to has been reached. Until then it waits, and is reset if that
// fails.
func (g *Gate) accept(r *tcp.ForwarderRequest) {
	id := r.ID()
	a, ok := netip.AddrFromSlice(id.LocalAddress.AsSlice())
	if !ok {
		r.Complete(true)
		return
	}
	a = a.Unmap()
	name := g.names.name(a)
	who := peersOfEndpoint(&id, a)
	select {
	case g.conns <- struct{}{}:
	default:
		what := cmp.Or(name, a.String())
		g.deny(who, denial{what: what, port: id.LocalPort, why: fmt.Sprintf("there are %d connections already", cap(g.conns))})
		r.Complete(true)
		return
	}
	p := g.permit(name, a, id.LocalPort)
	if p.rule == "" {
		p = g.ask(who, name, a, id.LocalPort)
	}
	flow := g.begin(who, &p, name, a, id.LocalPort)
	ended := func() {
		flow.end()
		<-g.conns
	}
	there, err := g.dial(who, &p, name, a, id.LocalPort, flow.tell)
	if err != nil {
		p.end(false)
		flow.because(err)
		r.Complete(true)
		ended()
		return
	}
	var wq waiter.Queue
	ep, tcpErr := r.CreateEndpoint(&wq)
	r.Complete(tcpErr != nil)
	p.end(tcpErr == nil)
	if tcpErr != nil {
		there.close()
		flow.because(asError(tcpErr))
		ended()
		return
	}
	host, err := there.tcp()
	if err != nil {
		ep.Abort()
		flow.because(err)
		ended()
		return
	}
	flow.reached(there.address())
	if g.end(ep, &wq, flow, who, &p, name, id.LocalPort, host) {
		ended()
		return
	}
	guest := newGuestConn(ep, &wq, len(g.conns), g.most)
	guest.peers, guest.traffic = who, &flow.traffic
	g.carry(guest, host, name, id.LocalPort, flow.wait, ended)
}

// dial reaches what the guest connects to, from the host. It calls waits if that is not there at once.
func (g *Gate) dial(who peers, p *permit, name string, a netip.Addr, port uint16, waits func()) (*dialled, error) {
	if name == netrule.Host && p.rules.Name(name, port) {
		if d := dialAtOnce(port); d != nil {
			return d, nil
		}
	}
	waits()
	g.waiting <- struct{}{}
	defer func() { <-g.waiting }()
	ctx, cancel := context.WithTimeout(context.Background(), dialTime)
	defer cancel()
	var conn net.Conn
	var err error
	what := name
	switch {
	case name != "":
		conn, err = g.dialName(ctx, p, name, port)
	case p.rules.Named(a, port) || p.rules.Address(a, port) && !g.isOwn(a):
		conn, err = g.dialFirst(ctx, []netip.Addr{a}, port)
	default:
		what, err = a.String(), refusal{cmp.Or(p.why, "no rule allows the address"), g.allowing(a.String(), port)}
	}
	var refused refusal
	if errors.As(err, &refused) {
		g.deny(who, denial{what: what, port: port, why: refused.why, allow: refused.allow})
	}
	if err != nil {
		return nil, err
	}
	return &dialled{conn: conn.(*net.TCPConn)}, nil
}

// refuseUDP notes a packet that nobody takes; the stack then says that the port cannot be reached.
func (g *Gate) refuseUDP(id stack.TransportEndpointID, _ *stack.PacketBuffer) bool {
	if a, ok := netip.AddrFromSlice(id.LocalAddress.AsSlice()); ok && !a.IsMulticast() {
		what := a.Unmap().String()
		if name := g.names.name(a.Unmap()); name != "" {
			what = name
		}
		who := peersOfEndpoint(&id, a.Unmap())
		who.udp, who.busy = true, true
		g.deny(who, denial{what: what, port: id.LocalPort, why: "it is UDP"})
	}
	return false
}

// silent is a link that takes no ICMP of the guest's: the stack would answer echo requests to whatever address.
type silent struct{ nested.Endpoint }

func newSilent(link stack.LinkEndpoint) *silent {
	s := &silent{}
	s.Init(link, s)
	return s
}

// DeliverNetworkPacket implements stack.NetworkDispatcher.
func (s *silent) DeliverNetworkPacket(protocol tcpip.NetworkProtocolNumber, pkt *stack.PacketBuffer) {
	switch protocol {
	case header.IPv4ProtocolNumber:
		if h, ok := pkt.Data().PullUp(header.IPv4MinimumSize); ok && header.IPv4(h).TransportProtocol() == header.ICMPv4ProtocolNumber {
			return
		}
	case header.IPv6ProtocolNumber:
		if h, ok := pkt.Data().PullUp(header.IPv6MinimumSize); ok && header.IPv6(h).TransportProtocol() == header.ICMPv6ProtocolNumber {
			return
		}
	}
	s.Endpoint.DeliverNetworkPacket(protocol, pkt)
}

func fullAddress(a netip.Addr, port uint16) (tcpip.FullAddress, tcpip.NetworkProtocolNumber) {
	number := ipv6.ProtocolNumber
	if a.Is4() {
		number = ipv4.ProtocolNumber
	}
	return tcpip.FullAddress{NIC: nic, Addr: tcpip.AddrFromSlice(a.AsSlice()), Port: port}, number
}

func asError(err tcpip.Error) error { return fmt.Errorf("%v", err) }
