package publish

import (
	"bytes"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/riverlytech/art/internal/control"
)

// told are the events of a gate.
type told struct {
	mu   sync.Mutex
	text bytes.Buffer // GUARDED_BY(mu)
	more *sync.Cond
}

func newTold() *told {
	t := &told{}
	t.more = sync.NewCond(&t.mu)
	return t
}

func (t *told) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.more.Broadcast()
	return t.text.Write(p)
}

// events waits for some.
func (t *told) events(tb testing.TB, n int) (all []control.NetEvent) {
	tb.Helper()
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		all = nil
		for r := bytes.NewReader(t.text.Bytes()); ; {
			frame, err := control.ReadFrame(r)
			if err != nil {
				break
			}
			var some control.NetEvents
			if err := control.Unmarshal(frame, &some); err != nil {
				tb.Fatal(err)
			}
			all = append(all, some.Events...)
		}
		if len(all) >= n {
			return all
		}
		t.more.Wait()
	}
}

func serve(t *testing.T, network, address string) (at string, port int, ev *told) {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				text, _ := io.ReadAll(c)
				_, _ = io.WriteString(c, strings.ToUpper(string(text))+"!")
			}()
		}
	}()
	return publish(t, l.Addr().(*net.TCPAddr).Port)
}

func publish(t *testing.T, port int) (at string, _ int, ev *told) {
	t.Helper()
	host, err := Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { host.Close() })
	ev = newTold()
	go New(ev, 1).Serve(host, 0, port)
	return host.Addr().String(), port, ev
}

// A server on either loopback is reached, each side ends for itself, and what was said is counted.
func TestServe(t *testing.T) {
	for _, at := range []string{"127.0.0.1:0", "[::1]:0"} {
		address, port, ev := serve(t, "tcp", at)
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(c, "hello")
		if err == nil {
			err = c.(*net.TCPConn).CloseWrite()
		}
		text, err2 := io.ReadAll(c)
		if err != nil || err2 != nil || string(text) != "HELLO!" {
			t.Errorf("at %s: %q, %v, %v", at, text, err, err2)
		}
		c.Close()
		e := ev.events(t, 2)
		if e[0].Kind != control.NetBegun || e[1].Kind != control.NetEnded || e[0].Number != e[1].Number || e[1].Sent != 6 || e[1].Received != 5 || e[1].Why != "" ||
			e[0].Port != port || e[0].Rule != "published at "+address || e[0].Address != c.LocalAddr().String() || e[0].Guest == "" || e[1].Check() != nil {
			t.Errorf("at %s: the events are %+v", at, e)
		}
	}
}

// Where nothing listens, who has connected is reset, and not left waiting or told of an end.
func TestNobody(t *testing.T) {
	l, err := Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	address, _, ev := publish(t, port)
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.ReadAll(c); err == nil {
		t.Error("it ended without an error")
	}
	if e := ev.events(t, 2); e[1].Why != "nothing listens at the port" {
		t.Errorf("the events are %+v", e)
	}
}

// One port that has all the connections that it can have keeps nobody from another.
func TestShares(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	ev := newTold()
	g := New(ev, 2)
	if g.share != mostConns/2 {
		t.Errorf("of 2 ports each has %d connections", g.share)
	}
	g.share = 1
	for index := range 2 {
		host, err := Listen(0)
		if err != nil {
			t.Fatal(err)
		}
		defer host.Close()
		go g.Serve(host, index, server.Addr().(*net.TCPAddr).Port)
		for range 3 { // one is connected, the others wait
			c, err := net.Dial("tcp", host.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
		}
		if e := ev.events(t, index+1); e[index].Published != index || e[index].Kind != control.NetBegun {
			t.Errorf("the events are %+v", e)
		}
	}
}

// Where a port has as many connections as it may, one that is idle gives way to who comes, and one that is not is waited for.
func TestMostConnections(t *testing.T) {
	_, port, _ := serve(t, "tcp", "127.0.0.1:0")
	for _, idle := range []time.Duration{0, time.Hour} {
		host, err := Listen(0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { host.Close() })
		ev := newTold()
		g := New(ev, mostConns) // so each has one
		g.idle = idle
		go g.Serve(host, 0, port)
		var conns [2]*net.TCPConn
		for i := range conns {
			c, err := net.Dial("tcp", host.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			conns[i] = c.(*net.TCPConn)
			if i == 0 {
				ev.events(t, 1) // it is the first
			}
		}
		says := func(i int) string {
			_, err := io.WriteString(conns[i], "a")
			_ = conns[i].CloseWrite()
			text, err2 := io.ReadAll(conns[i])
			if err != nil || err2 != nil {
				return "cut off"
			}
			return string(text)
		}
		if idle == 0 {
			if first, second := says(1), says(0); first != "A!" || second != "cut off" {
				t.Errorf("the new one: %s, the idle one: %s", first, second)
			}
		} else if first, second := says(0), says(1); first != "A!" || second != "A!" {
			t.Errorf("the first: %s, the one that waits: %s", first, second)
		}
	}
}
