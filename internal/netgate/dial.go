package netgate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

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
func (g *Gate) dialName(ctx context.Context, name string, port uint16) (net.Conn, error) {
	if !g.rules.Name(name, port) {
		return nil, refusal{"no rule allows this port of it", g.allowing(name, port)}
	}
	if name == netrule.Host {
		return g.dialFirst(ctx, []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback()}, port)
	}
	// As it is: not in the domains that the host searches.
	found, err := g.resolver.LookupNetIP(ctx, "ip", name+".")
	if err != nil {
		return nil, err
	}
	var may []netip.Addr
	for _, a := range found {
		a = a.Unmap()
		if g.rules.At(name, a, port) {
			may = append(may, a)
		}
	}
	if len(may) == 0 && len(found) > 0 {
		return nil, refusal{fmt.Sprintf("it is at %v, which no rule allows", found[0].Unmap()), g.allowing(found[0].Unmap().String(), port)}
	}
	return g.dialFirst(ctx, may, port)
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
