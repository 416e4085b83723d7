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

// How long it may take to find a name and connect to it; and to one of its addresses.
const (
	dialTime    = 30 * time.Second
	addressTime = 10 * time.Second
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
		if netrule.Public(a) && !g.rules.Denied(a, port) || g.rules.Address(a, port) {
			may = append(may, a)
		}
	}
	if len(may) == 0 && len(found) > 0 {
		return nil, refusal{fmt.Sprintf("it is at %v, which no rule allows", found[0].Unmap()), g.allowing(found[0].Unmap().String(), port)}
	}
	return g.dialFirst(ctx, may, port)
}

// dialFirst connects to the first of some addresses that answers.
func (g *Gate) dialFirst(ctx context.Context, addresses []netip.Addr, port uint16) (conn net.Conn, err error) {
	err = errors.New("it has no address")
	d := net.Dialer{Timeout: addressTime}
	for _, a := range addresses {
		if conn, err = d.DialContext(ctx, "tcp", netip.AddrPortFrom(a, port).String()); err == nil {
			return conn, nil
		}
	}
	return nil, err
}
