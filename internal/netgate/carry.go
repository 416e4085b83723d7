package netgate

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/tcpip"

	"github.com/riverlytech/art/internal/netrule"
)

// carry passes on what the two sides of a connection to name say, until both have ended. Of a connection to an address name is "".
func (g *Gate) carry(guest *guestConn, host *net.TCPConn, name string, port uint16) {
	defer guest.close()
	defer host.Close()
	done, refused := make(chan struct{}), atomic.Bool{}
	go func() {
		defer close(done)
		switch err := guest.fill(host); {
		case refused.Load():
		case err != nil:
			guest.abort()
			host.Close()
		default:
			guest.closeWrite()
		}
	}()
	err := g.passFirst(guest, host, name, port)
	if err == nil {
		err = guest.drain(host)
	}
	var told *toldError
	switch {
	case errors.As(err, &told):
		refused.Store(true)
		host.Close()
		<-done
		guest.say(told.text)
	case err != nil && !errors.Is(err, io.EOF):
		host.Close()
		guest.abort()
	default:
		_ = host.CloseWrite() // who is not there any more hears nothing
		guest.watch()
	}
	<-done
}

// passFirst passes on the first bytes of the guest, unless they contradict the name that it has connected to: servers that stand for
// many names would have it reach another.
func (g *Gate) passFirst(guest *guestConn, host *net.TCPConn, name string, port uint16) error {
	if name == "" || name == netrule.Host {
		return nil
	}
	first := &first{}
	var late <-chan time.Time
	for {
		err := guest.wait(late)
		if err == nil {
			err = guest.read(first)
		}
		var s said
		enough := false
		switch {
		case errors.Is(err, errLate):
			s, enough = said{err: errLate, http: first.http}, true
		case errors.Is(err, io.EOF):
			s, enough = first.ended()
			if !enough {
				return io.EOF // what it has not said in full is nobody's
			}
		case err != nil:
			return err
		default:
			s, enough = first.understand()
		}
		if late == nil && len(first.text) > 0 {
			timer := time.NewTimer(g.firstTime)
			defer timer.Stop()
			late = timer.C
		}
		if !enough {
			continue
		}
		other := s.contradicts(name)
		if other == "" && s.err == nil {
			_, err := host.Write(first.text)
			return err
		}
		why := "the first bytes cannot be understood"
		switch {
		case errors.Is(s.err, errLate) || errors.Is(s.err, errMuch):
			why = s.err.Error()
		case other != "":
			why = fmt.Sprintf("the first bytes are for %q", other)
		}
		g.ledger.deny(denial{what: name, port: port, why: why})
		if s.http {
			return refuseHTTP(name, why)
		}
		return refusal{why: why}
	}
}

// toldError is a refusal that the program can read.
type toldError struct{ text string }

func (*toldError) Error() string { return "the program has been told" }

// refuseHTTP returns the answer to a request in clear.
func refuseHTTP(name, why string) error {
	text := fmt.Sprintf("art: the network: this connection is to %s, and %s\n", name, why)
	r := http.Response{
		StatusCode: http.StatusForbidden, ProtoMajor: 1, ProtoMinor: 1, Close: true, ContentLength: int64(len(text)),
		Header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, Body: io.NopCloser(strings.NewReader(text)),
	}
	var b strings.Builder
	_ = r.Write(&b) // into memory
	return &toldError{b.String()}
}

// drain passes on what the guest says, to its end. No memory is taken while nothing comes.
func (c *guestConn) drain(host *net.TCPConn) error {
	raw, err := host.SyscallConn()
	if err != nil {
		return err
	}
	for {
		if err := c.wait(nil); err != nil {
			return err
		}
		w := &writer{}
		var result error
		err := raw.Write(func(fd uintptr) bool {
			w.fd, w.full = int(fd), false
			if result = c.read(w); w.err != nil {
				result = w.err
			}
			return !w.full || result != nil
		})
		switch {
		case err != nil:
			return err
		case errors.Is(result, io.EOF):
			return nil
		case result != nil:
			return result
		}
	}
}

// writer writes to a socket as much as that takes.
type writer struct {
	fd   int
	full bool  // it takes no more now
	err  error // why it will not
}

func (w *writer) Write(b []byte) (int, error) {
	n, err := ignoringEINTR(func() (int, error) { return unix.Write(w.fd, b) })
	switch {
	case errors.Is(err, unix.EAGAIN):
		w.full = true
		return 0, io.ErrShortWrite
	case err != nil:
		w.err = err
		return 0, err
	case n < len(b):
		w.full = true
		return n, io.ErrShortWrite
	}
	return n, nil
}

// fill passes on what the host says, to its end, straight from its socket.
func (c *guestConn) fill(host *net.TCPConn) error {
	raw, err := host.SyscallConn()
	if err != nil {
		return err
	}
	for {
		r := &reader{most: c.most}
		var refused tcpip.Error
		err := raw.Read(func(fd uintptr) bool {
			r.fd = int(fd)
			for {
				if !r.find() {
					return false
				}
				if r.end || r.err != nil {
					return true
				}
				if _, refused = c.ep.Write(r, tcpip.WriteOptions{}); refused != nil {
					return true
				}
			}
		})
		switch {
		case err != nil:
			return err
		case r.err != nil:
			return r.err
		case r.end:
			return nil
		}
		if _, full := refused.(*tcpip.ErrWouldBlock); !full {
			return asError(refused)
		}
		if err := c.waitWritable(); err != nil {
			return err
		}
	}
}

// reader reads what has come to a socket.
type reader struct {
	fd   int
	most int // at once
	n    int // so much is there
	end  bool
	err  error
}

// find finds out how much has come. It returns false if that is nothing yet.
func (r *reader) find() bool {
	r.n, r.err = unix.IoctlGetInt(r.fd, unix.TIOCINQ)
	if r.err != nil || r.n > 0 {
		r.n = min(r.n, r.most)
		return true
	}
	// Nothing, or the end, or an error.
	var none [1]byte
	n, _, err := unix.Recvfrom(r.fd, none[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return false
	case err != nil:
		r.err = err
	case n == 0:
		r.end = true
	default:
		r.n = n
	}
	return true
}

// Len implements tcpip.Payloader.
func (r *reader) Len() int { return r.n }

func (r *reader) Read(b []byte) (int, error) {
	n, err := ignoringEINTR(func() (int, error) { return unix.Read(r.fd, b[:min(len(b), r.n)]) })
	if err == nil && n == 0 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		r.err = err
		return 0, err
	}
	r.n -= n
	return n, nil
}

func ignoringEINTR(do func() (int, error)) (int, error) {
	for {
		if n, err := do(); !errors.Is(err, unix.EINTR) {
			return max(n, 0), err
		}
	}
}
