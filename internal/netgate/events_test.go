package netgate

import (
	"io"
	"net/netip"
	"strconv"
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
	counted := func() (n int64) {
		g.events.mu.Lock()
		defer g.events.mu.Unlock()
		for r := range g.events.open {
			n += r.traffic.received.Load()
		}
		return n
	}
	for until := time.Now().Add(10 * time.Second); counted() != 2 && time.Now().Before(until); { // the guest may have it before that
		time.Sleep(time.Millisecond)
	}
	go g.EndTelling()
	if e := next(); e.Kind != control.NetEnded || e.Number != begun.Number || e.Sent != 2 || e.Received != 2 || e.Time.Before(begun.Time) {
		t.Errorf("at the end it is %+v", e)
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
