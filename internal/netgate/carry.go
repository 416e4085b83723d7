package netgate

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/tcpip"

	"github.com/riverlytech/art/internal/netrule"
)

// flow is a connection that goes on. One goroutine waits for what the host says; what the guest says is passed on by one that begins
// when something comes, so that connections on which nothing happens take little memory.
type flow struct {
	guest *guestConn
	host  *net.TCPConn
	raw   syscall.RawConn
	state atomic.Int32 // of what the guest says
	left  atomic.Int32 // directions that have not ended
	told  atomic.Bool  // the guest has been refused in words, and is not to be reset
	heard chan struct{}
	known func() // waits until it is known whose it is
	ended func()
}

// The states of what the guest says.
const (
	waits int32 = iota
	passes
	passesAgain // more has come meanwhile
)

// carry passes on what the two sides of a connection to name say, until both have ended; then it calls ended. Of a connection to an
// address name is "". Before the guest has an answer it calls known.
func (g *Gate) carry(guest *guestConn, host *net.TCPConn, name string, port uint16, known, ended func()) {
	raw, err := host.SyscallConn()
	f := &flow{guest: guest, host: host, raw: raw, heard: make(chan struct{}), known: known, ended: ended}
	f.left.Store(2)
	go f.hear()
	if err == nil {
		err = g.passFirst(guest, host, name, port)
	}
	if err != nil {
		f.finish(err)
		return
	}
	guest.notify(f.wake)
	f.wake()
}

// hear passes on what the host says.
func (f *flow) hear() {
	f.known()
	err := f.guest.fill(f.raw)
	close(f.heard)
	switch {
	case f.told.Load():
	case err != nil:
		f.guest.abort()
		f.host.Close()
	default:
		f.guest.closeWrite()
	}
	f.leave()
}

// wake has what the guest says be passed on.
func (f *flow) wake() {
	for {
		switch f.state.Load() {
		case waits:
			if f.state.CompareAndSwap(waits, passes) {
				go f.pass()
				return
			}
		case passes:
			if f.state.CompareAndSwap(passes, passesAgain) {
				return
			}
		default:
			return
		}
	}
}

// pass passes on what the guest says until there is nothing.
func (f *flow) pass() {
	for {
		if err := f.guest.drain(f.raw); err != nil {
			f.finish(err)
			return // and nothing wakes it again
		}
		if f.state.CompareAndSwap(passes, waits) {
			return
		}
		f.state.Store(passes)
	}
}

// finish ends what the guest says.
func (f *flow) finish(err error) {
	var told *toldError
	switch {
	case errors.As(err, &told):
		f.told.Store(true)
		f.host.Close()
		late := time.NewTimer(sayTime)
		select {
		case <-f.heard:
			f.guest.say(told.text)
		case <-late.C: // the guest does not read even what the host has said
			f.guest.abort()
		}
		late.Stop()
	case !errors.Is(err, io.EOF):
		f.host.Close()
		f.guest.abort()
	default:
		_ = f.host.CloseWrite() // who is not there any more hears nothing
		f.guest.watch()
	}
	f.leave()
}

// leave is called at the end of each direction.
func (f *flow) leave() {
	if f.left.Add(-1) > 0 {
		return
	}
	f.host.Close()
	f.guest.close()
	f.ended()
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
			n, err := host.Write(first.text)
			guest.traffic.sent.Add(int64(n))
			return err
		}
		why := "the first bytes cannot be understood"
		switch {
		case errors.Is(s.err, errLate) || errors.Is(s.err, errMuch):
			why = s.err.Error()
		case other != "":
			why = fmt.Sprintf("the first bytes are for %q", other)
		}
		g.deny(guest.peers, denial{what: name, port: port, why: why})
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

// drain passes on what the guest has said. It returns io.EOF at the end.
func (c *guestConn) drain(raw syscall.RawConn) error {
	for c.ep.Readiness(guestEvents) != 0 {
		w := &writer{}
		var result error
		err := raw.Write(func(fd uintptr) bool {
			w.fd, w.full = int(fd), false
			if result = c.read(w); w.err != nil {
				result = w.err
			}
			c.traffic.sent.Add(w.n)
			w.n = 0
			return !w.full || result != nil
		})
		if err = cmp.Or(err, result); err != nil {
			return err
		}
	}
	return nil
}

// writer writes to a socket as much as that takes.
type writer struct {
	fd   int
	n    int64 // so much was written
	full bool  // it takes no more now
	err  error // why it will not
}

func (w *writer) Write(b []byte) (int, error) {
	n, err := ignoringEINTR(func() (int, error) { return unix.Write(w.fd, b) })
	w.n += int64(n)
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
func (c *guestConn) fill(raw syscall.RawConn) error {
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
				var n int64
				n, refused = c.ep.Write(r, tcpip.WriteOptions{})
				if c.traffic.received.Add(n); refused != nil {
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
		c.waitWritable()
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
	if len(b) == 0 { // the stack asks so whether this is the end
		return 0, nil
	}
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
