package netgate

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/waiter"
)

// Ender ends connections to some names itself, where others are passed on as they are (package netsecret).
type Ender interface {
	// Ends says whether connections to a name are its.
	Ends(name string, port uint16) bool
	// Serve serves one, until it ends. first is a connection to the name from the host, and dial makes others.
	Serve(guest net.Conn, name string, port uint16, first net.Conn, dial func(context.Context) (net.Conn, error))
}

// EndAt gives connections to the names of e to it. It is called before Serve.
func (g *Gate) EndAt(e Ender) { g.ender = e }

// Deny notes that something was denied to the guest on a connection to name.
func (g *Gate) Deny(name string, port uint16, why string) {
	g.deny(peers{}, denial{what: name, port: port, why: why})
}

// end gives a connection to the Ender, if it is one of its.
func (g *Gate) end(ep tcpip.Endpoint, queue *waiter.Queue, r *record, who peers, p *permit, name string, port uint16, first net.Conn) bool {
	if g.ender == nil || name == "" || !g.ender.Ends(name, port) {
		return false
	}
	g.ender.Serve(&measured{gonet.NewTCPConn(queue, ep), &r.traffic}, name, port, first, func(context.Context) (net.Conn, error) {
		select {
		case g.conns <- struct{}{}:
		default:
			return nil, errors.New("there are too many connections already")
		}
		there, err := g.dial(who, p, name, netip.Addr{}, port, func() {}) // by what has allowed the first
		var conn net.Conn
		if err == nil {
			conn, err = there.tcp()
		}
		if err != nil {
			<-g.conns
			return nil, err
		}
		return &counted{Conn: conn, done: func() { <-g.conns }}, nil
	})
	return true
}

// counted is a connection that counts until it is closed.
type counted struct {
	net.Conn
	once sync.Once
	done func()
}

// Close implements net.Conn.
func (c *counted) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.done)
	return err
}
