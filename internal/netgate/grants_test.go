package netgate

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/netrule"
)

// denying returns a gate that allows nothing that is used here, denies, and asks if it is to.
func denying(t testing.TB, asks bool, deny ...string) *Gate {
	t.Helper()
	rules, err := netrule.ParseRules([]string{"allowed.example"}, deny)
	if err != nil {
		t.Fatal(err)
	}
	g := New(rules)
	if asks {
		g.Ask()
	}
	return g
}

// works tries a connection to an echo, and says whether it is one.
func works(guest *testGuest, a netip.Addr, port uint16) bool {
	conn, err := guest.dial(a, port)
	if err != nil {
		return false
	}
	defer conn.Close()
	_, err = conn.Write([]byte("hello"))
	if err == nil {
		_, err = io.ReadFull(conn, make([]byte, 5))
	}
	return err == nil
}

func knows(t *testing.T, g *Gate, name string) bool {
	t.Helper()
	return len(ask(t, g, name+".", dnsmessage.TypeA, dnsmessage.ClassINET).Answers) == 1
}

// What is granted can be reached at once, what is granted once by one connection, and what is denied not at all.
func TestGrants(t *testing.T) {
	port := server(t, echo)
	g := denying(t, false, "denied.example", "*.denied.example", "host:1")
	next := heard(t, g)
	guest := newTestGuest(t, g)
	host, _ := standsFor(t, g, "host")
	number := uint64(0)
	var rules []string // by which it was reached
	grant := func(rule string, once bool) string {
		t.Helper()
		number++
		g.Grant(&control.NetGrant{Number: number, Rule: rule, Once: once})
		for {
			e := next()
			if e.Kind == control.NetBegun {
				rules = append(rules, e.Rule)
			}
			if e.Kind == control.NetGranted {
				if e.Number != number {
					t.Errorf("grant %d is answered as %d", number, e.Number)
				}
				return e.Why
			}
		}
	}
	rule := "host:" + strconv.Itoa(int(port))
	if knows(t, g, "host") || works(guest, host, port) {
		t.Error("what nobody has granted was reached")
	}
	if why := grant(rule, true); why != "" || !knows(t, g, "host") || !works(guest, host, port) {
		t.Errorf("what was granted once cannot be reached: %s", why)
	}
	if knows(t, g, "host") || works(guest, host, port) {
		t.Error("what was granted once was reached twice")
	}
	if why := grant(rule, false); why != "" || !works(guest, host, port) || !works(guest, host, port) {
		t.Errorf("what was granted cannot be reached: %s", why)
	}
	grant(rule, false) // once more is the same
	if want := []string{"granted once: " + rule, "granted: " + rule, "granted: " + rule}; fmt.Sprint(rules) != fmt.Sprint(want) {
		t.Errorf("they were allowed by %q", rules)
	}
	for _, rule := range []string{"denied.example", "denied.example:443", "a.denied.example", "*.denied.example", "host:1", "no name"} {
		if why := grant(rule, false); why == "" {
			t.Errorf("%s was granted", rule)
		}
	}
	// A wider grant leaves out what is denied.
	if why := grant("*.example", false); why != "" || !knows(t, g, "a.example") || knows(t, g, "denied.example") || knows(t, g, "x.denied.example") {
		t.Errorf("a grant of more allows what is denied, or nothing: %s", why)
	}
}

// A connection that could not be made has not used what was granted once, and of two at the same time one has it.
func TestOnce(t *testing.T) {
	closed, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := uint16(closed.Addr().(*net.TCPAddr).Port)
	closed.Close()
	g := denying(t, false)
	guest := newTestGuest(t, g)
	host, _ := standsFor(t, g, "host")
	g.Grant(&control.NetGrant{Rule: "host:" + strconv.Itoa(int(port)), Once: true})
	if works(guest, host, port) {
		t.Fatal("nobody listens, and somebody answered")
	}
	l, err := net.Listen("tcp4", closed.Addr().String())
	if err != nil {
		t.Skip("the port is another's now")
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go echo(conn.(*net.TCPConn))
		}
	}()
	var mu sync.Mutex
	reached := 0
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if works(guest, host, port) {
				mu.Lock()
				reached++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if reached != 1 {
		t.Errorf("%d of them were reached", reached)
	}
}

// What may be granted waits for that, and then goes on, or is refused: by the user, or when nobody has answered in time.
func TestAsks(t *testing.T) {
	port := server(t, echo)
	g := denying(t, true, "denied.example")
	next := heard(t, g)
	guest := newTestGuest(t, g)
	host, _ := standsFor(t, g, "host")
	rule := "host:" + strconv.Itoa(int(port))
	begin := func() chan bool {
		reached := make(chan bool, 1)
		go func() { reached <- works(guest, host, port) }()
		return reached
	}
	hear := func(kind control.NetEventKind) control.NetEvent {
		t.Helper()
		for {
			if e := next(); e.Kind == kind {
				return e
			}
		}
	}
	if !knows(t, g, "other.example") || knows(t, g, "denied.example") || knows(t, g, "x.localhost") {
		t.Error("names that may be granted are not known, or those that may not are")
	}
	reached := begin()
	asked := hear(control.NetAsked)
	if asked.What != "host" || asked.Port != int(port) || asked.Allow != rule || asked.Guest == "" {
		t.Errorf("it is asked %+v", asked)
	}
	g.Grant(&control.NetGrant{Number: 1, Rule: "host:1"})
	select {
	case <-reached:
		t.Error("what was asked about was answered by another grant")
	case <-time.After(50 * time.Millisecond):
	}
	g.Grant(&control.NetGrant{Number: 2, Rule: rule, Once: true})
	if !<-reached {
		t.Error("what was granted once cannot be reached")
	}
	if e := hear(control.NetAnswered); e.Number != asked.Number {
		t.Errorf("the question %d is answered as %d", asked.Number, e.Number)
	}
	reached = begin()
	hear(control.NetAsked)
	g.Grant(&control.NetGrant{Number: 3, Rule: rule, Deny: true})
	if <-reached {
		t.Error("what the user has denied was reached")
	}
	if e := hear(control.NetDenied); e.Why != errDenied || e.Allow != rule {
		t.Errorf("it was denied as %+v", e)
	}
	if works(guest, host, port) { // and nobody is asked again
		t.Error("what the user has denied was reached")
	}
	g.Grant(&control.NetGrant{Number: 4, Rule: rule}) // he thinks better of it
	if !works(guest, host, port) {
		t.Error("what was granted cannot be reached")
	}
}

func TestNobodyAnswers(t *testing.T) {
	g := denying(t, true, "denied.example")
	g.asks.time = 50 * time.Millisecond
	next := heard(t, g)
	guest := newTestGuest(t, g)
	other, _ := standsFor(t, g, "other.example")
	if works(guest, other, 443) {
		t.Error("it was reached")
	}
	var kinds []control.NetEventKind
	for len(kinds) < 3 {
		e := next()
		kinds = append(kinds, e.Kind)
		if e.Kind == control.NetDenied && !strings.Contains(e.Why, "in time") {
			t.Errorf("it was denied: %s", e.Why)
		}
	}
	if fmt.Sprint(kinds) != fmt.Sprint([]control.NetEventKind{control.NetAsked, control.NetAnswered, control.NetDenied}) {
		t.Errorf("art hears %v", kinds)
	}
	// He is not asked again however often a program tries, which is refused at once, but after a while, and about other ports.
	g.asks.time = time.Hour
	if works(guest, other, 443) {
		t.Error("it was reached")
	}
	if e := next(); e.Kind != control.NetDenied || !strings.Contains(e.Why, "in time") {
		t.Errorf("art hears %+v of another try", e)
	}
	g.asks.time = 50 * time.Millisecond
	for _, port := range []uint16{80, 443} {
		if works(guest, other, port) {
			t.Error("it was reached")
		}
		if e := next(); e.Kind != control.NetAsked || e.Port != int(port) {
			t.Errorf("art hears %+v", e)
		}
		next() // answered
		next() // denied
		g.asks.again = 0
	}
	g.asks.again = askAgain
	// Nobody is asked about what can be no rule, and about nothing more than so many at once.
	g.asks.time = time.Hour
	for _, a := range []string{"10.0.0.1", "169.254.169.254"} {
		if works(guest, netip.MustParseAddr(a), 80) {
			t.Errorf("%s was reached", a)
		}
	}
	g.asks.mu.Lock()
	g.asks.waiting = mostAsking
	g.asks.mu.Unlock()
	if works(guest, other, 8443) {
		t.Error("one too many was reached")
	}
	r := g.Report()
	if last := r.Denied[len(r.Denied)-1]; len(g.asks.open) != 0 || !strings.Contains(fmt.Sprint(r.Denied), "too many wait") {
		t.Errorf("%d are asked about; the last one is %+v", len(g.asks.open), last)
	}
}

// With all that is public, what is private, the host's or denied is refused all the same.
func TestPublic(t *testing.T) {
	port := server(t, echo)
	g := denying(t, false, "denied.example")
	g.rules().Public = true
	resolving(t, g, loopback)
	guest := newTestGuest(t, g)
	host, _ := standsFor(t, g, "host")
	other, _ := standsFor(t, g, "other.example") // at the loopback
	if !knows(t, g, "any.example") || knows(t, g, "denied.example") || knows(t, g, "host") {
		t.Error("names are not known as they are to be")
	}
	for _, a := range []netip.Addr{host, other, netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("169.254.169.254")} {
		if works(guest, a, port) {
			t.Errorf("%s was reached", a)
		}
	}
}
