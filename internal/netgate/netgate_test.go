package netgate

import (
	"crypto/tls"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/netrule"
)

func newGate(t testing.TB, allow ...string) *Gate {
	t.Helper()
	rules, err := netrule.ParseRules(allow, nil)
	if err != nil {
		t.Fatal(err)
	}
	return New(rules)
}

// ask asks a gate for a name.
func ask(t *testing.T, g *Gate, name string, kind dnsmessage.Type, class dnsmessage.Class) *dnsmessage.Message {
	t.Helper()
	q := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: 77, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name), Type: kind, Class: class}},
	}
	packed, err := q.Pack()
	if err != nil {
		t.Fatal(err)
	}
	var m dnsmessage.Message
	if err := m.Unpack(g.answer(peers{}, packed)); err != nil {
		t.Fatal(err)
	}
	if m.ID != 77 || !m.Response {
		t.Errorf("the answer to %s is %v", name, m.Header)
	}
	return &m
}

func TestNames(t *testing.T) {
	g := newGate(t, "a.org", "*.b.org:443")
	m := ask(t, g, "A.org.", dnsmessage.TypeA, dnsmessage.ClassINET)
	if len(m.Answers) != 1 {
		t.Fatalf("a.org is at %v", m.Answers)
	}
	v4 := netip.AddrFrom4(m.Answers[0].Body.(*dnsmessage.AResource).A)
	m = ask(t, g, "a.org.", dnsmessage.TypeAAAA, dnsmessage.ClassINET)
	v6 := netip.AddrFrom16(m.Answers[0].Body.(*dnsmessage.AAAAResource).AAAA)
	if !control.Range4.Contains(v4) || !control.Range6.Contains(v6) || g.names.name(v4) != "a.org" || g.names.name(v6) != "a.org" {
		t.Errorf("a.org is at %v and %v", v4, v6)
	}
	if m = ask(t, g, "c.b.org.", dnsmessage.TypeA, dnsmessage.ClassINET); len(m.Answers) != 1 || netip.AddrFrom4(m.Answers[0].Body.(*dnsmessage.AResource).A) == v4 {
		t.Errorf("c.b.org is at %v", m.Answers)
	}
	for _, a := range []netip.Addr{control.Guest4, control.Gateway4, control.Gateway6, v4.Next().Next(), netip.MustParseAddr("198.19.255.255"),
		netip.MustParseAddr("fd61:7274:6e65:7400:1::100"), netip.MustParseAddr("8.8.8.8"), netip.MustParseAddr("::1")} {
		if name := g.names.name(a); name != "" {
			t.Errorf("%v stands for %s", a, name)
		}
	}
}

// What is not allowed does not exist, and of what is there is nothing but addresses.
func TestRefusedQuestions(t *testing.T) {
	g := newGate(t, "a.org")
	for _, c := range []struct {
		name  string
		kind  dnsmessage.Type
		class dnsmessage.Class
		want  dnsmessage.RCode
	}{
		{"b.org.", dnsmessage.TypeA, dnsmessage.ClassINET, dnsmessage.RCodeNameError},
		{"x.a.org.", dnsmessage.TypeTXT, dnsmessage.ClassINET, dnsmessage.RCodeNameError},
		{"a.org.", dnsmessage.TypeTXT, dnsmessage.ClassINET, dnsmessage.RCodeSuccess},
		{"a.org.", 65, dnsmessage.ClassINET, dnsmessage.RCodeSuccess},
		{"a.org.", dnsmessage.TypeALL, dnsmessage.ClassINET, dnsmessage.RCodeSuccess},
		{"a.org.", dnsmessage.TypeA, dnsmessage.ClassCHAOS, dnsmessage.RCodeRefused},
		{".", dnsmessage.TypeNS, dnsmessage.ClassINET, dnsmessage.RCodeNameError},
		{"1.0.18.198.in-addr.arpa.", dnsmessage.TypePTR, dnsmessage.ClassINET, dnsmessage.RCodeNameError},
	} {
		if m := ask(t, g, c.name, c.kind, c.class); m.RCode != c.want || len(m.Answers) != 0 {
			t.Errorf("%s %v: %v, %v", c.name, c.kind, m.RCode, m.Answers)
		}
	}
	r := g.Report()
	if len(r.Denied) != 3 || r.Denied[1].What != "b.org" || r.Denied[1].Allow != "b.org" || r.Denied[0].Allow != "" {
		t.Errorf("denied was %v", r.Denied)
	}
}

// A name is asked for as it is sent over the network, or does not exist.
func TestOtherForms(t *testing.T) {
	g := newGate(t, "*")
	for _, name := range []string{"b\u00fccher.org.", "a\u3002org.", "\uff41.org."} {
		if m := ask(t, g, name, dnsmessage.TypeA, dnsmessage.ClassINET); m.RCode != dnsmessage.RCodeNameError || len(m.Answers) != 0 {
			t.Errorf("%q: %v, %v", name, m.RCode, m.Answers)
		}
	}
}

// Of the host's loopback a guest reaches the ports that rules name.
func TestOtherPorts(t *testing.T) {
	port := server(t, echo)
	g := newGate(t, "host:1")
	guest := newTestGuest(t, g)
	v4, _ := standsFor(t, g, "host")
	if c, err := guest.dial(v4, port); err == nil {
		c.Close()
		t.Error("another port is reached")
	}
}

func TestNamesRunOut(t *testing.T) {
	n := &names{}
	n.list = make([]string, endName-firstName-1)
	if v4, _, err := n.addresses("last.org"); err != nil || v4 != netip.MustParseAddr("198.19.255.254") || n.name(v4) != "last.org" {
		t.Errorf("the last name is at %v, %v", v4, err)
	}
	if _, _, err := n.addresses("more.org"); err == nil {
		t.Error("there is no last one")
	}
}

func FuzzAnswer(f *testing.F) {
	q := dnsmessage.Message{Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName("x.a.org."), Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}}}
	packed, err := q.Pack()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(packed)
	f.Fuzz(func(t *testing.T, query []byte) {
		g := newGate(t, "*.a.org")
		reply := g.answer(peers{}, query)
		var m dnsmessage.Message
		if reply == nil {
			return
		}
		if err := m.Unpack(reply); err != nil || !m.Response {
			t.Fatalf("the answer is %v, %v", m, err)
		}
		for _, a := range m.Answers {
			if !strings.HasSuffix(strings.ToLower(a.Header.Name.String()), ".a.org.") {
				t.Fatalf("%v is answered", a)
			}
		}
	})
}

// hello is the beginning of a connection by TLS.
func hello(t testing.TB, name string) []byte {
	client, server := net.Pipe()
	go func() {
		_ = tls.Client(client, &tls.Config{ServerName: name, InsecureSkipVerify: name == ""}).Handshake()
	}()
	_ = server.SetReadDeadline(time.Now().Add(5 * time.Second))
	buf := make([]byte, 16<<10)
	n, err := server.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	client.Close()
	return buf[:n]
}

func TestFirstBytes(t *testing.T) {
	record := string(hello(t, "b.org"))
	split := record[:3] + "\x00\x08" + record[5:13] + "\x16\x03\x01" + string([]byte{byte((len(record) - 13) >> 8), byte(len(record) - 13)}) + record[13:]
	for _, c := range []struct {
		text, other string
		http, err   bool
	}{
		{text: string(hello(t, "a.org"))},
		{text: record, other: "b.org"},
		{text: split, other: "b.org"},
		{text: string(hello(t, ""))},
		{text: "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00", err: true},
		{text: "\x16\x03\x01\x00\x00", err: true},
		{text: "\x16\x03\x01\xff\xff", err: true},
		{text: "\x16\x00 something else"},
		// Records that servers drop, or take, before what they look at.
		{text: "\x15\x03\x01\x00\x02\x01\x00" + record, err: true},
		{text: "\x14\x03\x01\x00\x01\x01" + record, err: true}, {text: "\x17\x03\x03\x00\x01\x00" + record, err: true},
		{text: "\x15\x02\x00\x00\x02\x01\x00" + record, err: true}, {text: "\x16\x02\x00" + record[3:], err: true},
		{text: "\x15\x00\x00\x00\x07\x00\x00"}, {text: "\x15\x40"}, {text: "\x14\x00\x00\x00"},
		{text: "\x80\x2e\x01\x03\x01\x00\x15\x00\x00", err: true}, {text: "\x80\x1c\x01\x00\x02\x00\x03", err: true},
		{text: "\xff\xfd\x01\xff\xfd\x03"}, {text: "\x80\x00\x00\x2c"},
		// Requests without a version.
		{text: "GET http://b.org/secret\r\n", other: "b.org", http: true}, {text: "get\tHTTPS://b.org?x \n", other: "b.org", http: true},
		{text: "GET http://user@a.org\r\n", other: "user@a.org", http: true},
		{text: "GET http://a.org:80/\r\n", http: true}, {text: "GET /?to=x\r\n"},
		{text: "GET / HTTP/1.1\r\nHost: A.org.\r\n\r\n", http: true},
		{text: "GET / HTTP/1.1\r\nHost: a.org:8080\r\n\r\n", http: true},
		{text: "GET / HTTP/1.1\r\nHost: a.org:\r\n\r\n", http: true},
		{text: "GET / HTTP/1.1\r\nHost: a.org:80@b.org\r\n\r\n", other: "a.org:80@b.org", http: true, err: true},
		{text: "GET / HTTP/1.1\r\nhOST : b.org\r\n\r\n", other: "b.org", http: true, err: true},
		{text: "GET / HTTP/1.1\r\nHost: b.org\r\n\r\n", other: "b.org", http: true},
		{text: "GET / HTTP/1.1\r\nHost: a.org\r\nHost: b.org\r\n\r\n", http: true, err: true},
		{text: "GET / HTTP/1.1\r\nHost: a.org\rHost: b.org\r\n\r\n", http: true, err: true},
		{text: "GET http://b.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n", other: "b.org", http: true},
		{text: "GET http://a.org/ HTTP/1.1\r\nHost: b.org\r\n\r\n", other: "b.org", http: true},
		{text: "CONNECT b.org:443 HTTP/1.1\r\nHost: a.org\r\n\r\n", other: "b.org", http: true},
		{text: "POST / HTTP/1.0\n\nbody", http: true},
		// What servers pass over, or take though it is none.
		{text: "\r\n\r\nGET / HTTP/1.1\r\nHost: b.org\r\n\r\n", other: "b.org", http: true},
		{text: "\nGET / HTTP/1.1\nHost: a.org\n\n", http: true},
		{text: "GET / HTTP/1.1 \r\nHost: b.org\r\n\r\n", http: true, err: true},
		{text: "GET\t/\tHTTP/1.1\r\nHost: b.org\r\n\r\n", http: true, err: true},
		{text: "get / HTTP/1.1\r\nHost: b.org\r\n\r\n", other: "b.org", http: true},
		{text: " GET / HTTP/1.1\r\nHost: b.org\r\n\r\n", http: true, err: true},
		{text: "GET / http/1.1\r\nHost: b.org\r\n\r\n", http: true, err: true},
		{text: strings.Repeat("A", 300) + " / HTTP/1.1\r\nHost: b.org\r\n\r\n", other: "b.org", http: true},
		{text: "GET / HTTP/1.1\r\nHost: a.org\r\nX: " + strings.Repeat("x", mostFirst), http: true, err: true},
		{text: "SSH-2.0-OpenSSH\r\n"}, {text: "EHLO b.org\r\n"}, {text: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"}, {text: "\x00\x00\x00\x08\x04\xd2\x16\x2f"},
		{text: "GET nothing\r\n"}, {text: "AMQP\x00\x00\x09\x01"}, {text: "003egit-upload-pack /x\x00host=b.org\x00"}, {text: "*1\r\n$4\r\nPING\r\n"},
	} {
		// However it is cut into pieces.
		for _, piece := range []int{1, 7, len(c.text)} {
			f := &first{}
			var s said
			enough := false
			for at := 0; at < len(c.text) && !enough; at += piece {
				_, _ = f.Write([]byte(c.text[at:min(at+piece, len(c.text))]))
				s, enough = f.understand()
			}
			if other := s.contradicts("a.org"); !enough || s.err == nil && other != c.other || s.http != c.http || (s.err != nil) != c.err && !(c.err && other == c.other && other != "") {
				t.Errorf("%.60q by %d: enough %v, other %q, http %v, %v", c.text, piece, enough, other, s.http, s.err)
			}
		}
	}
}

// What a program has not ended when it says no more is passed on only if no server would make a request of it.
func TestFirstBytesEnd(t *testing.T) {
	for text, want := range map[string]bool{"": true, "hello": true, "GET / HTT": true, "GET / HTTP/1.1": false, "GET / HTTP/1.1\r\nHost: b.org\r\n": false, "\r\n": true, "\x16\x03": false, "\x15": false, "\x80\x2e\x01": true} {
		f := &first{text: []byte(text)}
		if s, got := f.ended(); got != want || s.err != nil {
			t.Errorf("%q: %v, %v", text, got, s.err)
		}
	}
}

// Each byte is looked at once, however slowly they come.
func BenchmarkFirstBytes(b *testing.B) {
	text := []byte("GET / HTTP/1.1\r\n" + strings.Repeat("X: y\r\n", mostFirst/6-10))
	for b.Loop() {
		f := &first{}
		for i := range text {
			_, _ = f.Write(text[i : i+1])
			f.understand()
		}
	}
}

func FuzzFirstBytes(f *testing.F) {
	f.Add([]byte("GET / HTTP/1.1\r\nHost: b.org\r\n\r\n"), 3)
	f.Add(hello(f, "b.org"), 10)
	f.Fuzz(func(t *testing.T, b []byte, at int) {
		// What is enough stays so, and means the same: who waits for more must not come to another answer.
		whole := &first{}
		_, _ = whole.Write(b)
		s, enough := whole.understand()
		at = min(max(at, 0), len(b))
		pieces := &first{}
		_, _ = pieces.Write(b[:at])
		s2, enough2 := pieces.understand()
		if !enough2 {
			_, _ = pieces.Write(b[at:])
			s2, enough2 = pieces.understand()
		}
		if enough != enough2 || s.http != s2.http && s.err == nil || (s.err == nil) != (s2.err == nil) || s.contradicts("a.org") != s2.contradicts("a.org") && s.err == nil {
			t.Fatalf("%q cut at %d: %v %v, and whole %v %v", b, at, s2, enough2, s, enough)
		}
	})
}

// A guest may ask for any number of things.
func TestLedgerIsBounded(t *testing.T) {
	g := newGate(t, "a.org")
	for i := range 3 * mostDenials {
		g.ledger.deny(denial{what: strings.Repeat("x", i%2000), port: uint16(i)})
	}
	if r := g.Report(); len(g.ledger.denied) != mostDenials || len(r.Denied) != mostReported || r.More != 3*mostDenials-mostReported {
		t.Errorf("%d are remembered, %d told, and %d more", len(g.ledger.denied), len(r.Denied), r.More)
	}
}

// What a rule denies is not offered to be allowed.
func TestDeniedIsNotOffered(t *testing.T) {
	rules, err := netrule.ParseRules([]string{"*.a.org"}, []string{"secret.a.org"})
	if err != nil {
		t.Fatal(err)
	}
	g := New(rules)
	ask(t, g, "secret.a.org.", dnsmessage.TypeA, dnsmessage.ClassINET)
	ask(t, g, "b.org.", dnsmessage.TypeA, dnsmessage.ClassINET)
	for _, d := range g.Report().Denied {
		if want := map[string]string{"b.org": "b.org"}[d.What]; d.Allow != want {
			t.Errorf("of %s it says that %q would allow it", d.What, d.Allow)
		}
	}
}
