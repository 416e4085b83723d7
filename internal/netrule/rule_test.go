package netrule

import (
	"net/netip"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"github.com":          "github.com",
		"GitHub.COM.":         "github.com",
		"*.Example.org:443":   "*.example.org:443",
		"*":                   "*",
		"*:443":               "*:443",
		"host:5432":           "host:5432",
		"bücher.example":      "xn--bcher-kva.example",
		"XN--BCHER-KVA.de":    "xn--bcher-kva.de",
		"_dmarc.example.org":  "_dmarc.example.org",
		"10.1.2.3":            "10.1.2.3",
		"10.1.2.3:80":         "10.1.2.3:80",
		"10.1.2.3/8":          "10.0.0.0/8",
		"fd00::1":             "fd00::1",
		"[fd00::1]":           "fd00::1",
		"[fd00::1]:443":       "[fd00::1]:443",
		"fd00::/8":            "fd00::/8",
		"[fd00::/8]:443":      "[fd00::/8]:443",
		"::ffff:127.0.0.1":    "127.0.0.1",
		"a.example。org":       "a.example.org",
		"registry.npmjs.org.": "registry.npmjs.org",
		"unix:/run/a/../x":    "unix:/run/x",
		"unix:///run/x.sock":  "unix:/run/x.sock",
	} {
		r, err := Parse(text)
		if err != nil || r.String() != want {
			t.Errorf("%q is %q, %v; want %q", text, r, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, why := range map[string]string{
		"":                                  "empty",
		".":                                 "no name",
		"https://github.com":                "scheme",
		"github.com/a":                      "leave out",
		"me@github.com":                     "leave out",
		"unix:":                             "absolute path",
		"unix:run/x":                        "absolute path",
		"unix:443":                          "absolute path",
		"unix:@x":                           "without a file",
		"unix:\x00x":                        "without a file",
		"unix:/run/x\x1b[2J":                "printed",
		"unix:/run/a,b":                     "comma",
		"unix:/" + strings.Repeat("a", 107): "107 bytes",
		"github.com:":                       "no port",
		"github.com:0":                      "no port",
		"github.com:65536":                  "no port",
		"github.com:+1":                     "no port",
		"github.com:https":                  "no port",
		"a..b":                              "name",
		"nnone":                             "single word",
		"-a.b":                              "name",
		"a b":                               "name",
		"git*.com":                          "*",
		"*.*.com":                           "*",
		"host":                              "name a port",
		"*.host:1":                          "never matches",
		"localhost:80":                      "never matches",
		"a.localhost":                       "never matches",
		"1.2.3":                             "number",
		"1.2.3.4.5":                         "number",
		"[fd00::1":                          "[ADDRESS]:PORT",
		"fe80::1%eth0":                      "[ADDRESS]:PORT",
		strings.Repeat("a", 64):             "name",
		strings.Repeat("a.", 127) + "bc":    "too long",
	} {
		if r, err := Parse(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q is %q, %v; want an error with %q", text, r, err, why)
		}
	}
}

func TestRules(t *testing.T) {
	rs, err := ParseRules([]string{"github.com", "*.example.org:443", "host:5432", "10.0.0.0/8"}, []string{"bad.example.org", "10.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		port  uint16
		known bool
		want  bool
	}{
		{"github.com", 22, true, true}, {"api.github.com", 443, false, false}, {"agithub.com", 443, false, false},
		{"a.example.org", 443, true, true}, {"a.b.example.org", 443, true, true}, {"a.example.org", 80, true, false},
		{"example.org", 443, false, false}, {"bad.example.org", 443, false, false},
		{"host", 5432, true, true}, {"host", 22, true, false}, {"10.1.2.3", 80, false, false},
	} {
		if known, got := rs.KnowsName(c.name), rs.Name(c.name, c.port); known != c.known || got != c.want {
			t.Errorf("%s:%d: known %v, allowed %v; want %v, %v", c.name, c.port, known, got, c.known, c.want)
		}
	}
	for a, want := range map[string]bool{"10.1.2.3": true, "::ffff:10.1.2.3": true, "10.0.0.1": false, "11.0.0.1": false, "fd00::1": false} {
		if got := rs.Address(netip.MustParseAddr(a), 80); got != want {
			t.Errorf("%s is allowed: %v, want %v", a, got, want)
		}
	}
	// All names are not the host's, nor addresses.
	all, err := ParseRules([]string{"*"}, nil)
	if err != nil || all.Name("host", 22) || all.Address(netip.MustParseAddr("127.0.0.1"), 22) || !all.Name("a.b", 1) {
		t.Errorf("* allows too much or too little: %v", err)
	}
	for _, bad := range [][2][]string{{{"a.org:1"}, {"*.org"}}, {{"a.org"}, {"a.org"}}, {{"a.org"}, {"a org"}}} {
		if _, err := ParseRules(bad[0], bad[1]); err == nil {
			t.Errorf("%v was taken", bad)
		}
	}
}

// A name that a rule allows is reached at an address of a local network if that is said of it, and nowhere else of what is not public.
func TestAt(t *testing.T) {
	rs, err := ParseRules([]string{"npm.corp.example:8080", "a.example", "10.0.0.9"}, []string{"10.0.0.66"})
	if err == nil {
		err = rs.MayBeLocal([]string{"npm.corp.example:8080"})
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, address string
		port          uint16
		want          bool
	}{
		{"npm.corp.example", "8.8.8.8", 8080, true}, {"npm.corp.example", "10.0.0.1", 8080, true}, {"npm.corp.example", "::ffff:10.0.0.1", 8080, true},
		{"npm.corp.example", "fd12::1", 8080, true}, {"npm.corp.example", "100.64.0.1", 8080, true}, {"npm.corp.example", "10.0.0.1", 80, false},
		{"npm.corp.example", "10.0.0.66", 8080, false}, {"npm.corp.example", "127.0.0.1", 8080, false}, {"npm.corp.example", "::1", 8080, false},
		{"npm.corp.example", "169.254.169.254", 8080, false}, {"npm.corp.example", "fd00:ec2::254", 8080, false}, {"npm.corp.example", "100.100.100.200", 8080, false},
		{"npm.corp.example", "0.0.0.0", 8080, false}, {"npm.corp.example", "fe80::1", 8080, false},
		{"a.example", "8.8.8.8", 1, true}, {"a.example", "10.0.0.1", 8080, false}, {"a.example", "10.0.0.9", 8080, true},
	} {
		if got := rs.At(c.name, netip.MustParseAddr(c.address), c.port); got != c.want {
			t.Errorf("%s at %s, port %d: %v, want %v", c.name, c.address, c.port, got, c.want)
		}
	}
}

// All that is public is neither the host's nor private, and what is denied stays so.
func TestPublicRules(t *testing.T) {
	deny, err := Parse("bad.example.org")
	if err != nil {
		t.Fatal(err)
	}
	rs := &Rules{Deny: []Rule{deny}, Public: true}
	for name, want := range map[string]bool{"a.org": true, "bad.example.org": false, "host": false} {
		rule := map[bool]string{true: AllPublic}[want]
		if rs.KnowsName(name) != want || rs.Name(name, 443) != want || rs.Allowing(name, netip.Addr{}, 443) != rule {
			t.Errorf("%s: known %v, allowed %v by %q", name, rs.KnowsName(name), rs.Name(name, 443), rs.Allowing(name, netip.Addr{}, 443))
		}
	}
	for a, want := range map[string]bool{"9.9.9.9": true, "127.0.0.1": false, "10.0.0.1": false, "169.254.169.254": false, "::ffff:10.0.0.1": false, "fd00::1": false} {
		at := netip.MustParseAddr(a)
		if rs.Address(at, 80) != want || (rs.Allowing("", at, 80) != "") != want {
			t.Errorf("%s is allowed: %v by %q", a, rs.Address(at, 80), rs.Allowing("", at, 80))
		}
	}
	more := rs.With(deny)
	if len(rs.Allow) != 0 || len(more.Allow) != 1 || more.Name("bad.example.org", 1) {
		t.Errorf("one more rule allows what is denied: %v", more)
	}
}

// A socket is nothing of a network's: it allows no name and no address there, and denies none.
func TestSockets(t *testing.T) {
	rs, err := ParseRules([]string{"unix:/run/x", "a.org"}, []string{"unix:/run/y"})
	if err != nil || rs.Name("", 1) || rs.Name("run", 1) || rs.Name("b.org", 1) || !rs.Name("a.org", 1) || rs.Address(netip.MustParseAddr("127.0.0.1"), 1) {
		t.Errorf("sockets count for a network: %v", err)
	}
	if _, err := ParseRules([]string{"unix:/run/x"}, []string{"unix:/run//x"}); err == nil {
		t.Error("a socket that is denied can be allowed")
	}
	if got := Sockets([]string{"a.org", "packages", "unix:/run/x"}); len(got) != 1 || got[0] != "/run/x" {
		t.Errorf("the sockets are %q", got)
	}
}

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"a.org", "a.org", true}, {"a.org", "a.org:1", true}, {"a.org:1", "a.org", false}, {"a.org:1", "a.org:2", false},
		{"*.org", "a.org", true}, {"*.org", "*.a.org", true}, {"*.a.org", "*.org", false}, {"*.a.org", "*.ba.org", false},
		{"*", "*.org:3", true}, {"*", "host:1", false}, {"*", "10.0.0.1", false}, {"host:1", "host:1", true},
		{"10.0.0.0/8", "10.1.0.0/16:3", true}, {"10.1.0.0/16", "10.0.0.0/8", false}, {"0.0.0.0/0", "::/0", false}, {"a.org", "*.a.org", false},
		{"unix:/run/x", "unix:/run/x", true}, {"unix:/run", "unix:/run/x", false}, {"*", "unix:/run/x", false}, {"unix:/run/x", "a.org", false},
		{"0.0.0.0/0", "unix:/run/x", false}, {"unix:/run/x", "*", false},
	} {
		a, err := Parse(c.a)
		b, err2 := Parse(c.b)
		if err != nil || err2 != nil || a.Covers(b) != c.want {
			t.Errorf("%s covers %s: %v, %v, %v; want %v", c.a, c.b, a.Covers(b), err, err2, c.want)
		}
	}
}

func TestPublic(t *testing.T) {
	for a, want := range map[string]bool{
		"8.8.8.8": true, "2606:4700::1111": true, "::ffff:8.8.8.8": true, "198.17.0.1": true,
		"127.0.0.1": false, "::1": false, "::ffff:127.0.0.1": false, "169.254.169.254": false, "fd00:ec2::254": false,
		"100.100.100.200": false, "10.0.0.1": false, "172.31.0.1": false, "192.168.1.1": false, "0.0.0.0": false, "::": false,
		"224.0.0.1": false, "255.255.255.255": false, "ff02::1": false, "fe80::1": false, "fe80::1%eth0": false,
		"64:ff9b::7f00:1": false, "2002:7f00:1::": false, "::127.0.0.1": false, "198.18.0.1": false, "168.63.129.16": false,
	} {
		if got := Public(netip.MustParseAddr(a)); got != want {
			t.Errorf("%s is public: %v, want %v", a, got, want)
		}
	}
}

// A rule is the same when it is read again, matches what it says itself, and covers itself.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"github.com.", "*.Bücher.example:443", "[fd00::1]:1", "10.0.0.0/8:2", "host:1", "*", "a:b:c", "xn--a.b", "[::]:", "*.:1", "unix:/run/x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(r.String())
		if err != nil || again != r {
			t.Fatalf("%q is %q, which is %q, %v", text, r, again, err)
		}
		if !r.Covers(r) {
			t.Fatalf("%q does not cover itself", r)
		}
		if !r.nets.IsValid() && !r.below && r.socket == "" && !(&Rules{Allow: []Rule{r}}).Name(r.name, max(r.port, 1)) {
			t.Fatalf("%q does not match itself", r)
		}
	})
}
