package netgate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/netrule"
)

// How long it may take to find a name and connect to it; to one of its addresses; and until the next
// of them is tried.
const (
	dialTime    = 30 * time.Second
	addressTime = 10 * time.Second
	nextTime    = 250 * time.Millisecond
)

// refusal is why something is not dialled, and what would allow it.
type refusal struct{ why, allow string }

func (r refusal) Error() string { return r.why }

// dialName connects to a name from the host.
func (g *Gate) dialName(ctx context.Context, p *permit, name string, port uint16) (net.Conn, error) {
	if !p.rules.Name(name, port) {
		return nil, refusal{cmp.Or(p.why, "no rule allows this port of it"), g.allowing(name, port)}
	}
	if name == netrule.Host {
		return g.dialFirst(ctx, []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback()}, port)
	}
	// As it is: not in the domains that the host searches.
	found, err := g.resolver.LookupNetIP(ctx, "ip", name+".")
	if err != nil {
		return nil, err
	}
	own, err := g.own() // as they are now
	if err != nil {
		return nil, err
	}
	may, err := g.choose(p, name, found, own, port)
	if err != nil {
		g.addressOnce(p, port, found)
		may, err = g.choose(p, name, found, own, port)
	}
	if err != nil {
		return nil, err
	}
	return g.dialFirst(ctx, may, port)
}

// choose returns the addresses of a name that may be connected to: those of the Internet, and for some names of local networks, that are
// not the host's own, and those that a rule names.
func (g *Gate) choose(p *permit, name string, found, own []netip.Addr, port uint16) (may []netip.Addr, _ error) {
	for _, a := range found {
		a = a.Unmap()
		if p.rules.At(name, a, port) && (!slices.Contains(own, a) || p.rules.Named(a, port)) {
			may = append(may, a)
		}
	}
	if len(may) > 0 || len(found) == 0 {
		return may, nil
	}
	first := found[0].Unmap()
	if slices.Contains(own, first) {
		return nil, refusal{fmt.Sprintf("it is at %v, an address of this host, which no rule allows", first), ""}
	}
	return nil, refusal{fmt.Sprintf("it is at %v, which no rule allows", first), g.allowing(first.String(), port)}
}

// dialFirst connects to the first of some addresses that answers: each has some time before the next is tried beside it.
func (g *Gate) dialFirst(ctx context.Context, addresses []netip.Addr, port uint16) (net.Conn, error) {
	if len(addresses) == 0 {
		return nil, errors.New("it has no address")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		conn net.Conn
		err  error
	}
	d, results := net.Dialer{Timeout: addressTime}, make(chan result, len(addresses))
	begun, ended := 0, 0
	begin := func() {
		a := netip.AddrPortFrom(addresses[begun], port).String()
		begun++
		go func() {
			conn, err := d.DialContext(ctx, "tcp", a)
			results <- result{conn, err}
		}()
	}
	begin()
	next := time.NewTicker(nextTime)
	defer next.Stop()
	var failed error
	for ended < len(addresses) {
		select {
		case r := <-results:
			ended++
			if r.err == nil {
				go func() { // those that come too late
					for range begun - ended {
						if r := <-results; r.err == nil {
							r.conn.Close()
						}
					}
				}()
				return r.conn, nil
			}
			if failed = r.err; begun < len(addresses) {
				begin()
			}
		case <-next.C:
			if begun < len(addresses) {
				begin()
			}
		}
	}
	return nil, failed
}

// dialled is a connection to the host's side. One that was there at once is a descriptor alone: to make more of it takes a dozen system
// calls, and the guest has its answer before.
type dialled struct {
	conn *net.TCPConn // nil: file has it
	file *os.File     // not known to the poller
	at   netip.AddrPort
}

func (d *dialled) address() string {
	if d.conn != nil {
		return d.conn.RemoteAddr().String()
	}
	return d.at.String()
}

// tcp returns it as what can be waited for. If that fails, it is closed.
func (d *dialled) tcp() (*net.TCPConn, error) {
	if d.conn != nil {
		return d.conn, nil
	}
	defer d.file.Close()
	conn, err := net.FileConn(d.file)
	if err != nil {
		return nil, err
	}
	return conn.(*net.TCPConn), nil
}

func (d *dialled) close() {
	if d.conn != nil {
		d.conn.Close()
	} else {
		d.file.Close()
	}
}

// dialAtOnce connects to a port of the host's loopback, where nothing is waited for, without what waiting takes: timers, and a goroutine
// that others wake. It returns nil if that is not done at once.
func dialAtOnce(port uint16) *dialled {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	d := &dialled{at: netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port)}
	to := &unix.SockaddrInet4{Addr: d.at.Addr().As4(), Port: int(port)}
	if err = unix.Connect(fd, to); errors.Is(err, unix.EINPROGRESS) {
		// It is made, or refused, by then, but the kernel says so only to who asks again (inet_stream_connect in net/ipv4/af_inet.c).
		err = unix.Connect(fd, to)
	}
	if err == nil {
		err = unix.SetNonblock(fd, false) // for os.NewFile, which has the poller take what does not block
	}
	if err != nil {
		unix.Close(fd)
		return nil
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_TCP, unix.TCP_NODELAY, 1) // does not fail on a connection
	d.file = os.NewFile(uintptr(fd), "")
	return d
}
