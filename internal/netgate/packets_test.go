package netgate

import (
	"io"
	"net"
	"net/netip"
	"strconv"
	"sync/atomic"
	"testing"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/nested"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// counting is a link that counts the packets of TCP that bring something.
type counting struct {
	nested.Endpoint
	full atomic.Int32
}

// DeliverNetworkPacket implements stack.NetworkDispatcher.
func (c *counting) DeliverNetworkPacket(protocol tcpip.NetworkProtocolNumber, pkt *stack.PacketBuffer) {
	size := header.IPv6MinimumSize
	if protocol == header.IPv4ProtocolNumber {
		size = header.IPv4MinimumSize
	}
	if h, ok := pkt.Data().PullUp(size + header.TCPMinimumSize); ok && pkt.Data().Size() > size+int(header.TCP(h[size:]).DataOffset()) {
		c.full.Add(1)
	}
	c.Endpoint.DeliverNetworkPacket(protocol, pkt)
}

// What is read from the host at once goes to the guest as one packet, with all options of TCP: not as one and a few bytes in another.
func TestPackets(t *testing.T) {
	var most atomic.Int32
	port := server(t, func(conn *net.TCPConn) {
		whole := make([]byte, most.Load())
		for {
			if _, err := conn.Read(whole[:1]); err != nil {
				return
			}
			_, _ = conn.Write(whole) // the test sees what is missing
		}
	})
	g := newGate(t, "host:"+strconv.Itoa(int(port)))
	guest := newTestGuest(t, g)
	most.Store(int32(g.most))
	v4, v6 := standsFor(t, g, "host")
	for _, a := range []netip.Addr{v4, v6} {
		conn, err := guest.dial(a, port)
		if err != nil {
			t.Fatal(err)
		}
		const times = 10
		guest.link.full.Store(0)
		for range times {
			if _, err := conn.Write([]byte("w")); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(conn, make([]byte, g.most)); err != nil {
				t.Fatal(err)
			}
		}
		if n := guest.link.full.Load(); n >= 2*times {
			t.Errorf("%d times %d bytes came to %v in %d packets", times, g.most, a, n)
		}
		conn.Close()
	}
}
