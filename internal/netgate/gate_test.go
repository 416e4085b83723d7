package netgate

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/pipe"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"

	"github.com/riverlytech/art/internal/control"
)

// a guest that has no kernel: another netstack at the other end of the link.
type testGuest struct {
	t     testing.TB
	stack *stack.Stack
	link  *counting
}

func newTestGuest(t testing.TB, g *Gate) *testGuest {
	t.Helper()
	ours, theirs := pipe.New("", "", 65520)
	if err := g.serve(newSilent(ours)); err != nil {
		t.Fatal(err)
	}
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, ipv6.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, udp.NewProtocol},
	})
	link := &counting{}
	link.Init(theirs, link)
	if err := s.CreateNIC(nic, link); err != nil {
		t.Fatal(err)
	}
	for _, a := range []netip.Addr{control.Guest4, control.Guest6} {
		full, number := fullAddress(a, 0)
		if err := s.AddProtocolAddress(nic, tcpip.ProtocolAddress{Protocol: number, AddressWithPrefix: full.Addr.WithPrefix()}, stack.AddressProperties{}); err != nil {
			t.Fatal(err)
		}
	}
	s.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: nic}, {Destination: header.IPv6EmptySubnet, NIC: nic}})
	t.Cleanup(func() {
		s.Destroy()
		g.stack.Destroy()
	})
	return &testGuest{t, s, link}
}

func (g *testGuest) dial(a netip.Addr, port uint16) (*gonet.TCPConn, error) {
	full, number := fullAddress(a, port)
	ctx, cancel := context.WithTimeout(g.t.Context(), 20*time.Second)
	defer cancel()
	return gonet.DialContextTCP(ctx, g.stack, full, number)
}

// server returns the port at which what serve does is done for each connection to 127.0.0.1.
func server(t testing.TB, serve func(*net.TCPConn)) uint16 {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn.(*net.TCPConn))
			}()
		}
	}()
	return uint16(l.Addr().(*net.TCPAddr).Port)
}

func echo(conn *net.TCPConn) {
	_, _ = io.Copy(conn, conn)
}

// resolving has a gate find all names at an address.
func resolving(t testing.TB, g *Gate, at netip.Addr) {
	t.Helper()
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		buf := make([]byte, 4096)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil {
				continue
			}
			m.Response, m.Additionals = true, nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class}, Body: &dnsmessage.AResource{A: at.As4()}}}
			}
			if packed, err := m.Pack(); err == nil {
				_, _ = conn.WriteTo(packed, from)
			}
		}
	}()
	g.resolver.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp4", conn.LocalAddr().String())
	}
}

var loopback = netip.MustParseAddr("127.0.0.1")

// standsFor returns what stands for a name.
func standsFor(t testing.TB, g *Gate, name string) (v4, v6 netip.Addr) {
	t.Helper()
	v4, v6, err := g.names.addresses(name)
	if err != nil {
		t.Fatal(err)
	}
	return v4, v6
}

func TestCarry(t *testing.T) {
	port := server(t, echo)
	g := newGate(t, "host:"+strconv.Itoa(int(port)))
	guest := newTestGuest(t, g)
	v4, v6 := standsFor(t, g, "host")
	text := make([]byte, 3<<20)
	_, _ = rand.Read(text)
	var all sync.WaitGroup
	for _, a := range []netip.Addr{v4, v6, v4, v6} {
		all.Go(func() {
			conn, err := guest.dial(a, port)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			go func() {
				_, _ = conn.Write(text)
				_ = conn.CloseWrite()
			}()
			if got, err := io.ReadAll(conn); err != nil || !bytes.Equal(got, text) {
				t.Errorf("%v: %d bytes came back, %v", a, len(got), err)
			}
		})
	}
	all.Wait()
	if _, err := guest.dial(v4, port+1); err == nil {
		t.Error("another port of the host is reached")
	}
	awaitNone(t, g)
}

// awaitNone waits until there is no connection any more.
func awaitNone(t testing.TB, g *Gate) {
	t.Helper()
	for until := time.Now().Add(10 * time.Second); len(g.conns) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%d connections are left", len(g.conns))
		}
	}
}

// A reset of one side is one for the other.
func TestReset(t *testing.T) {
	heard := make(chan error, 1)
	port := server(t, func(conn *net.TCPConn) {
		if _, err := conn.Write([]byte("x")); err != nil {
			t.Error(err)
		}
		var b [1]byte
		if _, err := conn.Read(b[:]); err == nil && b[0] == 'r' {
			_ = conn.SetLinger(0)
			return
		}
		_, err := conn.Read(b[:])
		heard <- err
	})
	g := newGate(t, "host:"+strconv.Itoa(int(port)))
	guest := newTestGuest(t, g)
	v4, _ := standsFor(t, g, "host")
	conn, err := guest.dial(v4, port)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = conn.Write([]byte("r"))
	if got, err := io.ReadAll(conn); err == nil {
		t.Errorf("after a reset by the host the guest reads %q and the end", got)
	}
	conn.Close()
	if conn, err = guest.dial(v4, port); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("xy")); err != nil {
		t.Fatal(err)
	}
	conn.Close() // with something unread
	select {
	case <-heard:
	case <-time.After(10 * time.Second):
		t.Error("the host does not hear of the end")
	}
	awaitNone(t, g)
}

// The first bytes are held to the name, and what the server says meanwhile comes through.
func TestFirst(t *testing.T) {
	port := server(t, func(conn *net.TCPConn) {
		_, _ = conn.Write([]byte("welcome\n"))
		echo(conn)
	})
	g := newGate(t, "a.org", "127.0.0.1")
	g.firstTime = 200 * time.Millisecond
	resolving(t, g, loopback)
	guest := newTestGuest(t, g)
	v4, _ := standsFor(t, g, "a.org")
	const good = "GET / HTTP/1.1\r\nHost: a.org\r\n\r\n"
	for _, c := range []struct {
		text, want string
		end        bool // the guest ends
	}{
		{text: good, want: "welcome\n" + good, end: true},
		{text: "", want: "welcome\n", end: true},
		{text: "hello", want: "welcome\nhello", end: true},
		{text: "GET / HTTP/1.1\r\nHost: b.org\r\n\r\n", want: "403 Forbidden"},
		{text: "\r\nGET / HTTP/1.1\r\nHost: b.org\r\n\r\n", want: "403 Forbidden"},
		{text: "GET / HTTP/1.1\r\nHost: a.org\r\n", want: "403 Forbidden"}, // and no more, in time
		{text: string(hello(t, "b.org")), want: "error"},
		{text: "\x16\x03", want: "error"},
	} {
		conn, err := guest.dial(v4, port)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
		if _, err := conn.Write([]byte(c.text)); err != nil {
			t.Error(err)
		}
		if c.end {
			_ = conn.CloseWrite()
		}
		got, err := io.ReadAll(conn)
		switch {
		case c.end && (string(got) != c.want || err != nil), c.want == "error" && err == nil, c.want != "error" && !strings.Contains(string(got), c.want):
			t.Errorf("%.40q: %q, %v", c.text, got, err)
		}
		conn.Close()
	}
	awaitNone(t, g)
}

// What a guest says of a host may be long; what was denied is told all the same.
func TestLongHostsAreTold(t *testing.T) {
	port := server(t, echo)
	g := newGate(t, "a.org", "127.0.0.1")
	resolving(t, g, loopback)
	guest := newTestGuest(t, g)
	v4, _ := standsFor(t, g, "a.org")
	for i := range mostReported {
		conn, err := guest.dial(v4, port)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		if _, err := conn.Write([]byte("GET / HTTP/1.1\r\nHost: " + strconv.Itoa(i) + strings.Repeat("x", 60_000) + "\r\n\r\n")); err != nil {
			t.Error(err)
		}
		_, _ = io.Copy(io.Discard, conn)
		conn.Close()
	}
	r := g.Report()
	if err := control.WriteFrame(io.Discard, r); err != nil || len(r.Denied) != mostReported {
		t.Errorf("%d are told, %v", len(r.Denied), err)
	}
	memory := 0
	for d := range g.ledger.denied {
		memory += len(d.what) + len(d.why) + len(d.allow)
	}
	if memory > 3*control.MaxNetText*mostReported {
		t.Errorf("of %d denials %d bytes are remembered", mostReported, memory)
	}
}

// A guest that is refused in words and does not read is not waited for.
func TestRefusedWhoDoesNotRead(t *testing.T) {
	full := make(chan struct{}, 1)
	port := server(t, func(conn *net.TCPConn) {
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second)) // the guest's side is full by then
		_, _ = conn.Write(make([]byte, 64<<20))
		full <- struct{}{}
		_, _ = io.Copy(io.Discard, conn)
	})
	g := newGate(t, "a.org", "127.0.0.1")
	resolving(t, g, loopback)
	guest := newTestGuest(t, g)
	v4, _ := standsFor(t, g, "a.org")
	conn, err := guest.dial(v4, port)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	<-full
	if _, err := conn.Write([]byte("GET / HTTP/1.1\r\nHost: b.org\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	awaitNone(t, g)
}

// Who waits with the first byte is not disturbed.
func TestSilentFirst(t *testing.T) {
	port := server(t, echo)
	g := newGate(t, "a.org", "127.0.0.1")
	g.firstTime = 50 * time.Millisecond
	resolving(t, g, loopback)
	guest := newTestGuest(t, g)
	v4, _ := standsFor(t, g, "a.org")
	conn, err := guest.dial(v4, port)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	time.Sleep(200 * time.Millisecond)
	_, err = conn.Write([]byte("\x00hello"))
	var got [6]byte
	if _, e := io.ReadFull(conn, got[:]); err != nil || e != nil || string(got[1:]) != "hello" {
		t.Errorf("%q, %v, %v", got, err, e)
	}
}

// There are no more connections than there may be, and the next is refused at once.
func TestMostConnections(t *testing.T) {
	port := server(t, echo)
	g := newGate(t, "host:"+strconv.Itoa(int(port)))
	g.conns = make(chan struct{}, 5)
	guest := newTestGuest(t, g)
	v4, _ := standsFor(t, g, "host")
	var conns []*gonet.TCPConn
	for range cap(g.conns) {
		conn, err := guest.dial(v4, port)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	begun := time.Now()
	if _, err := guest.dial(v4, port); err == nil || time.Since(begun) > 5*time.Second {
		t.Errorf("one more: %v after %v", err, time.Since(begun))
	}
	if r := g.Report(); len(r.Denied) != 1 || r.Denied[0].Why != "there are 5 connections already" {
		t.Errorf("denied was %v", r.Denied)
	}
	for _, conn := range conns {
		conn.Close()
	}
	awaitNone(t, g)
	conn, err := guest.dial(v4, port)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}

// Questions over connections need no rule, so there are few of these; those that wait in silence are ended.
func TestMostDNSStreams(t *testing.T) {
	g := newGate(t, "a.org")
	guest := newTestGuest(t, g)
	for range 2 * mostDNS {
		conn, err := guest.dial(control.Gateway4, dnsPort)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	time.Sleep(50 * time.Millisecond)
	if n := len(g.dns); n != mostDNS {
		t.Errorf("%d are answered, not %d", n, mostDNS)
	}
}

// What is no question about names, by UDP, is refused at once, and echo requests before it are not answered.
func TestUDPRefused(t *testing.T) {
	g := newGate(t, "a.org", "127.0.0.1")
	guest := newTestGuest(t, g)
	v4, v6 := standsFor(t, g, "a.org")
	defer func() {
		icmp := guest.stack.Stats().ICMP
		if n := icmp.V4.PacketsReceived.EchoReply.Value() + icmp.V6.PacketsReceived.EchoReply.Value(); n > 0 {
			t.Errorf("%d echo requests were answered", n)
		}
	}()
	guest.ping(control.Gateway4)
	guest.ping(control.Gateway6)
	for _, a := range []netip.Addr{v4, v6, netip.MustParseAddr("8.8.8.8")} {
		full, number := fullAddress(a, 443)
		conn, err := gonet.DialUDP(guest.stack, nil, &full, number)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
		if _, err := conn.Write([]byte("x")); err != nil {
			t.Error(err)
		}
		var b [1]byte
		if _, err := conn.Read(b[:]); err == nil || !strings.Contains(err.Error(), "refused") {
			t.Errorf("%v: %v", a, err)
		}
		conn.Close()
	}
}

// ping sends an echo request.
func (g *testGuest) ping(to netip.Addr) {
	g.t.Helper()
	full, number := fullAddress(to, 0)
	var packet []byte
	if to.Is4() {
		packet = make([]byte, header.IPv4MinimumSize+header.ICMPv4MinimumSize)
		head, icmp := header.IPv4(packet), header.ICMPv4(packet[header.IPv4MinimumSize:])
		from, _ := fullAddress(control.Guest4, 0)
		head.Encode(&header.IPv4Fields{TotalLength: uint16(len(packet)), TTL: 64, Protocol: uint8(header.ICMPv4ProtocolNumber), SrcAddr: from.Addr, DstAddr: full.Addr})
		head.SetChecksum(^head.CalculateChecksum())
		icmp.SetType(header.ICMPv4Echo)
		icmp.SetChecksum(header.ICMPv4Checksum(icmp, 0))
	} else {
		packet = make([]byte, header.IPv6MinimumSize+header.ICMPv6EchoMinimumSize)
		head, icmp := header.IPv6(packet), header.ICMPv6(packet[header.IPv6MinimumSize:])
		from, _ := fullAddress(control.Guest6, 0)
		head.Encode(&header.IPv6Fields{PayloadLength: uint16(len(icmp)), TransportProtocol: header.ICMPv6ProtocolNumber, HopLimit: 64, SrcAddr: from.Addr, DstAddr: full.Addr})
		icmp.SetType(header.ICMPv6EchoRequest)
		icmp.SetChecksum(header.ICMPv6Checksum(header.ICMPv6ChecksumParams{Header: icmp, Src: from.Addr, Dst: full.Addr}))
	}
	if err := g.stack.WriteRawPacket(nic, number, buffer.MakeWithData(packet)); err != nil {
		g.t.Fatal(err)
	}
}

// A connection needs little memory: what may be on its way is less the more there are.
func TestBuffered(t *testing.T) {
	sum := 0
	for n := 1; n <= mostConns; n++ {
		sum += buffered(n)
	}
	if buffered(1) != mostBuffered || sum > 200<<20 {
		t.Errorf("the first has %d, all of them %d", buffered(1), sum)
	}
}

// Wherever a name leads, by another name or since it was last looked up, its address is looked at right before it is connected to.
func TestWhereNamesLead(t *testing.T) {
	port := server(t, echo)
	g := newGate(t, "a.org", "127.0.0.1")
	var leads atomic.Value
	leads.Store(loopback)
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		buf := make([]byte, 4096)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil {
				continue
			}
			m.Response, m.Additionals = true, nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				other := dnsmessage.MustNewName("inside.b.org.")
				m.Answers = []dnsmessage.Resource{
					{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class}, Body: &dnsmessage.CNAMEResource{CNAME: other}},
					{Header: dnsmessage.ResourceHeader{Name: other, Class: q.Class}, Body: &dnsmessage.AResource{A: leads.Load().(netip.Addr).As4()}},
				}
			}
			if packed, err := m.Pack(); err == nil {
				_, _ = conn.WriteTo(packed, from)
			}
		}
	}()
	g.resolver.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp4", conn.LocalAddr().String())
	}
	c, err := g.dialName(t.Context(), &permit{rules: g.rules()}, "a.org", port)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	for _, a := range []string{"127.0.0.2", "10.1.2.3", "169.254.169.254", "0.0.0.0"} {
		leads.Store(netip.MustParseAddr(a))
		var refused refusal
		if c, err := g.dialName(t.Context(), &permit{rules: g.rules()}, "a.org", port); !errors.As(err, &refused) {
			t.Errorf("at %s: %v, %v", a, c, err)
		}
	}
}

// A name at an address of the host's own, however public that is, is reached only where a rule allows the address; and the host may get one
// at any time.
func TestOwnAddress(t *testing.T) {
	g, at, other := newGate(t, "a.org", "23.23.23.24:80"), netip.MustParseAddr("23.23.23.23"), netip.MustParseAddr("23.23.23.24")
	found := []netip.Addr{at}
	if may, err := g.choose(&permit{rules: g.rules()}, "a.org", found, nil, 80); err != nil || !slices.Equal(may, found) {
		t.Errorf("another host's: %v, %v", may, err)
	}
	var refused refusal
	if may, err := g.choose(&permit{rules: g.rules()}, "a.org", found, []netip.Addr{loopback, at}, 80); !errors.As(err, &refused) || !strings.Contains(refused.why, "of this host") || refused.allow != "" {
		t.Errorf("the host's own: %v, %v", may, err)
	}
	if may, err := g.choose(&permit{rules: g.rules()}, "a.org", []netip.Addr{at, other}, []netip.Addr{at, other}, 80); err != nil || !slices.Equal(may, []netip.Addr{other}) {
		t.Errorf("where a rule names one: %v, %v", may, err)
	}
	// A name that may be in a local network may be at the host's address there no more than others.
	docker, registry := netip.MustParseAddr("172.17.0.1"), netip.MustParseAddr("172.17.0.9")
	inside := newGate(t, "*.corp.example", "172.17.0.1:80").rules()
	if err := inside.MayBeLocal([]string{"*.corp.example"}); err != nil {
		t.Fatal(err)
	}
	for port, want := range map[uint16][]netip.Addr{80: {docker, registry}, 443: {registry}} {
		may, err := g.choose(&permit{rules: inside}, "npm.corp.example", []netip.Addr{docker, registry}, []netip.Addr{docker}, port)
		if err != nil || !slices.Equal(may, want) {
			t.Errorf("in a local network, at port %d: %v, %v", port, may, err)
		}
	}
	resolving(t, g, at)
	g.own = func() ([]netip.Addr, error) { return []netip.Addr{at}, nil } // it has got it since
	if _, err := g.dialName(t.Context(), &permit{rules: g.rules()}, "a.org", 80); !errors.As(err, &refused) {
		t.Errorf("it is connected to: %v", err)
	}
	g.own = func() ([]netip.Addr, error) { return nil, io.ErrUnexpectedEOF }
	if _, err := g.dialName(t.Context(), &permit{rules: g.rules()}, "a.org", 80); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("where nobody knows: %v", err)
	}
	if own, err := ownAddresses(); err != nil || !slices.Contains(own, loopback) {
		t.Errorf("the host is at %v, %v", own, err)
	}
}

// Of many addresses those that do not answer cost little time.
func TestDialFirst(t *testing.T) {
	port := server(t, echo)
	g := newGate(t, "a.org")
	conn, err := g.dialFirst(t.Context(), []netip.Addr{netip.MustParseAddr("127.0.0.2"), loopback}, port)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if _, err := g.dialFirst(t.Context(), []netip.Addr{netip.MustParseAddr("127.0.0.2")}, port); !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("nobody answers: %v", err)
	}
}
