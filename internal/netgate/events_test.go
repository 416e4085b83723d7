package netgate

import (
	"io"
	"net"
	"net/netip"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riverlytech/art/internal/control"
)

// heard returns what a gate tells, and what it ends with.
func heard(t testing.TB, g *Gate) (next func() control.NetEvent) {
	r, w := io.Pipe()
	g.Tell(w)
	t.Cleanup(func() { r.Close() })
	var waiting []control.NetEvent
	return func() control.NetEvent {
		t.Helper()
		for len(waiting) == 0 {
			var f control.NetEvents
			frame, err := control.ReadFrame(r)
			if err == nil {
				err = control.Unmarshal(frame, &f)
			}
			if err != nil {
				t.Fatal(err)
			}
			waiting = f.Events
		}
		e := waiting[0]
		waiting = waiting[1:]
		if err := e.Check(); err != nil {
			t.Fatalf("%+v: %v", e, err)
		}
		return e
	}
}

// The guest has no answer before art knows whose the connection is.
func TestAnswersWait(t *testing.T) {
	said := make(chan bool, 1)
	port := server(t, func(c *net.TCPConn) {
		_, err := c.Write([]byte("answer"))
		said <- err == nil
		_, _ = io.Copy(io.Discard, c)
	})
	g := newGate(t, "host:"+strconv.Itoa(int(port)))
	next := heard(t, g)
	g.events.most = time.Hour
	guest := newTestGuest(t, g)
	host, _ := standsFor(t, g, "host")
	dial := func() (net.Conn, control.NetEvent) {
		conn, err := guest.dial(host, port)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		if !<-said {
			t.Fatal("the server could not answer")
		}
		return conn, next()
	}
	answer := func(conn net.Conn) error {
		_, err := io.ReadFull(conn, make([]byte, len("answer")))
		return err
	}
	first, begun := dial()
	var noted atomic.Bool
	early := make(chan bool, 1)
	go func() { early <- answer(first) != nil || !noted.Load() }()
	// By the time that another one has its answer, so had the first.
	second, other := dial()
	g.Noted(other.Number)
	if err := answer(second); err != nil {
		t.Fatal(err)
	}
	noted.Store(true)
	g.Noted(begun.Number)
	if <-early {
		t.Error("the answer came before that was noted")
	}
}

func TestTell(t *testing.T) {
	port := server(t, echo)
	rule := "host:" + strconv.Itoa(int(port))
	g := newGate(t, rule)
	next := heard(t, g)
	guest := newTestGuest(t, g)
	host, _ := standsFor(t, g, "host")
	conn, err := guest.dial(host, port)
	if err != nil {
		t.Fatal(err)
	}
	begun := next()
	if _, err := conn.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	ended := next()
	if begun.Kind != control.NetBegun || begun.What != "host" || begun.Port != int(port) || begun.Rule != rule ||
		begun.Peer != netip.AddrPortFrom(host, port).String() || begun.Guest != conn.LocalAddr().String() {
		t.Errorf("begun is %+v", begun)
	}
	if ended.Kind != control.NetEnded || ended.Number != begun.Number || ended.Sent != 5 || ended.Received != 5 || ended.Address != "127.0.0.1:"+strconv.Itoa(int(port)) || ended.Why != "" {
		t.Errorf("ended is %+v", ended)
	}

	// A denial waits until it is noted, and not for long.
	refused := make(chan time.Duration, 1)
	ask := func() {
		at := time.Now()
		if _, err := guest.dial(netip.MustParseAddr("23.23.23.23"), 1); err == nil {
			t.Error("it was reached")
		}
		refused <- time.Since(at)
	}
	go ask()
	denied := next()
	if denied.Kind != control.NetDenied || denied.What != "23.23.23.23" || denied.Why == "" || denied.Allow != "23.23.23.23:1" {
		t.Errorf("denied is %+v", denied)
	}
	g.Noted(denied.Number)
	g.Noted(denied.Number + 7)
	<-refused
	go ask()
	next()
	if took := <-refused; took > 10*time.Second {
		t.Errorf("without an answer it took %v", took)
	}

	// What is open at the end is told of then.
	conn, err = guest.dial(host, port)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	begun = next()
	if _, err := conn.Write([]byte("hi")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 2)); err != nil {
		t.Fatal(err)
	}
	counted := func() (sent, received int64) {
		g.events.mu.Lock()
		defer g.events.mu.Unlock()
		for r := range g.events.open {
			sent, received = sent+r.traffic.sent.Load(), received+r.traffic.received.Load()
		}
		return sent, received
	}
	// Each is counted when it has been passed on: the other side may have it, and have answered, before that.
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until); {
		if sent, received := counted(); sent == 2 && received == 2 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	go g.EndTelling()
	if e := next(); e.Kind != control.NetEnded || e.Number != begun.Number || e.Sent != 2 || e.Received != 2 || e.Time.Before(begun.Time) {
		t.Errorf("at the end it is %+v", e)
	}
}

// Of one that is not made art is told as of others, and of one that is there at once when the guest has it.
func TestTellFailed(t *testing.T) {
	port := server(t, echo)
	closed, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := uint16(closed.Addr().(*net.TCPAddr).Port)
	closed.Close()
	g := newGate(t, "host:"+strconv.Itoa(int(port)), "host:"+strconv.Itoa(int(nobody)))
	next := heard(t, g)
	guest := newTestGuest(t, g)
	host, _ := standsFor(t, g, "host")
	conn, err := guest.dial(host, port)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if e := next(); e.Kind != control.NetBegun || e.Why != "" || e.Address != "" {
		t.Errorf("one that is made is %+v", e)
	}
	if _, err := guest.dial(host, nobody); err == nil {
		t.Error("it was reached")
	}
	begun := next()
	if ended := next(); begun.Kind != control.NetBegun || begun.Time.IsZero() || ended.Kind != control.NetEnded || ended.Number != begun.Number || ended.Why == "" || ended.Address != "" {
		t.Errorf("one that is not made is %+v, and then %+v", begun, ended)
	}
}

// Nobody waits for an art that hears nothing.
func TestTellNobody(t *testing.T) {
	g := newGate(t, "a.example")
	r, w := io.Pipe()
	defer r.Close()
	g.Tell(w)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 2 * mostEvents {
			g.deny(peers{busy: true}, denial{what: "b.example", why: "no"})
		}
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("it waits")
	}
	if g.events.lost.Load() == 0 {
		t.Error("nothing is counted")
	}
}
