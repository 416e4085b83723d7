package netgate

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/riverlytech/art/internal/netrule"
)

// halfCloser is a connection of which one direction can end by itself.
type halfCloser interface {
	net.Conn
	CloseWrite() error
}

// carry passes on what the two sides of a connection to name say, until both have ended. abort ends the guest's side at once. Of
// a connection to an address name is "".
func (g *Gate) carry(guest, host halfCloser, name string, port uint16, abort func()) {
	defer host.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, err := io.Copy(guest, host); err != nil {
			abort()
			host.Close()
		}
		_ = guest.CloseWrite()
	}()
	err := g.passFirst(guest, host, name, port)
	if err == nil {
		_, err = io.Copy(host, guest)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		host.Close()
		abort()
	} else {
		_ = host.CloseWrite()
	}
	<-done
	guest.Close()
}

// passFirst passes on the first bytes of the guest, unless they contradict the name that it has connected to: servers that stand for
// many names would have it reach another.
func (g *Gate) passFirst(guest, host halfCloser, name string, port uint16) error {
	if name == "" || name == netrule.Host {
		return nil
	}
	var first []byte
	buf := make([]byte, 4<<10)
	for {
		n, err := guest.Read(buf)
		first = append(first, buf[:n]...)
		if err != nil {
			return err // what it has not said in full is nobody's
		}
		s, enough := understand(first)
		switch {
		case !enough && len(first) >= mostFirst:
			s.err = errors.New("it says too much before it says to whom")
		case !enough:
			continue
		}
		other := s.contradicts(name)
		if other == "" && s.err == nil {
			_, err := host.Write(first)
			return err
		}
		why := "the first bytes cannot be understood"
		if other != "" {
			why = fmt.Sprintf("the first bytes are for %q", other)
		}
		g.ledger.deny(denial{what: name, port: port, why: why})
		if s.http {
			refuseHTTP(guest, name, why)
			return io.EOF
		}
		return refusal{why: why}
	}
}

// refuseHTTP answers a request in clear.
func refuseHTTP(guest halfCloser, name, why string) {
	text := fmt.Sprintf("art: the network: this connection is to %s, and %s\n", name, why)
	r := http.Response{
		StatusCode: http.StatusForbidden, ProtoMajor: 1, ProtoMinor: 1, Close: true, ContentLength: int64(len(text)),
		Header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, Body: io.NopCloser(strings.NewReader(text)),
	}
	_ = r.Write(guest) // who does not hear it sees the end
	_ = guest.CloseWrite()
}
