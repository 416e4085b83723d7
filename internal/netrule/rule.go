// Package netrule says which names and addresses of the network a guest may reach.
//
//	github.com            this name, on any port
//	*.example.org:443     every name below example.org, on one port
//	*                     every name
//	host:5432             a port of the host's own loopback
//	10.1.2.3, fd00::/8    addresses: to be reached as such, and what names may resolve to although they are private
//	[fd00::1]:443         one with a port
//	unix:/run/db.socket   a socket of the host's, which is none of a network's
//
// Names are compared without regard to case, in the form that is sent over the network (IDNA).
package netrule

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/riverlytech/art/internal/cli"
)

// Host is the name that stands for the host's loopback.
const Host = "host"

// Rule is what is reached by one name or in one range of addresses.
type Rule struct {
	name  string       // in lower case, without a trailing dot; "" for addresses
	below bool         // all names below name, or with an empty name all names
	nets  netip.Prefix // valid for addresses alone
	port  uint16       // 0 is any

	socket string // the absolute path of one; all else is not set then
}

// Parse reads a rule. One that could never match is an error.
func Parse(text string) (Rule, error) {
	fail := func(why string) (Rule, error) { return Rule{}, fmt.Errorf("%q is no name or address: %s", text, why) }
	switch {
	case text == "":
		return fail("it is empty")
	case strings.HasPrefix(text, socketPrefix):
		return parseSocket(text)
	case strings.Contains(text, "://"):
		return fail("leave out the scheme")
	}
	at, port, err := splitPort(text)
	if err != nil {
		return fail(err.Error())
	}
	r := Rule{port: port}
	if net, err := parseNet(at); err == nil {
		r.nets = net
		return r, nil
	}
	switch {
	case strings.ContainsAny(at, "/@?#"):
		return fail("leave out all but the name and the port")
	case strings.ContainsAny(at, ":[]"):
		return fail("an IPv6 address with a port is [ADDRESS]:PORT")
	}
	name, below := strings.CutPrefix(at, "*.")
	if at == "*" {
		r.below = true
		return r, nil
	}
	if strings.Contains(name, "*") {
		return fail("* stands only for all that is below a name, as in *.example.org, or alone")
	}
	if r.name, err = Canonical(name); err != nil {
		return fail(err.Error())
	}
	r.below = below
	return r, r.check(text)
}

// check returns an error for a rule that could never match.
func (r *Rule) check(text string) error {
	last := r.name[strings.LastIndexByte(r.name, '.')+1:]
	switch {
	case r.name == Host && r.below:
		return fmt.Errorf("%q never matches: there is nothing below the name of the host", text)
	case r.name == Host && r.port == 0:
		return fmt.Errorf("%q is the host's loopback: name a port of it, as in host:5432", text)
	case r.name == last && !r.below && r.port == 0 && last != "localhost":
		return fmt.Errorf("%q is a single word: name a port of it too, as in db:5432", text)
	case last == "localhost":
		return fmt.Errorf("%q never matches: localhost is the guest's own; a port of the host's is host:5432", text)
	}
	return nil
}

// splitPort takes a port off the end of a rule; 0 if it has none.
func splitPort(text string) (at string, port uint16, err error) {
	i := strings.LastIndexByte(text, ':')
	bracketed := strings.HasPrefix(text, "[")
	switch end := strings.IndexByte(text, ']'); {
	case bracketed && end == len(text)-1:
		return text[1:end], 0, nil
	case bracketed && end > 0 && i == end+1:
		at = text[1:end]
	case i < 0 || strings.IndexByte(text, ':') < i: // IPv6
		return text, 0, nil
	default:
		at = text[:i]
	}
	n, err := strconv.ParseUint(text[i+1:], 10, 16)
	if err != nil || n == 0 || text[i+1] == '+' {
		return "", 0, fmt.Errorf("%q is no port", text[i+1:])
	}
	return at, uint16(n), nil
}

func parseNet(text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		a = a.Unmap()
		if a.Zone() != "" {
			return netip.Prefix{}, fmt.Errorf("%s has a zone", text)
		}
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err == nil && p.Addr().Is4In6() {
		err = fmt.Errorf("%s is written as IPv6", text)
	}
	return p.Masked(), err
}

// Canonical returns a name as it is sent over the network, in lower case and without a trailing dot.
func Canonical(name string) (string, error) {
	name = strings.TrimSuffix(name, ".")
	ascii, err := profile.ToASCII(name)
	again, errAgain := profile.ToASCII(ascii)
	switch {
	case name == "":
		return "", errors.New("there is no name")
	case err != nil, errAgain != nil, again != ascii, !utf8.ValidString(name):
		return "", errNoName
	case len(ascii) > 253:
		return "", errors.New("it is too long")
	}
	for label := range strings.SplitSeq(ascii, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return "", errNoName
		}
		for _, c := range []byte(label) {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return "", errNoName
			}
		}
	}
	if strings.Trim(ascii[strings.LastIndexByte(ascii, '.')+1:], "0123456789") == "" {
		return "", errors.New("no name ends in a number")
	}
	return ascii, nil
}

var errNoName = errors.New("it cannot be a name on the network")

// profile is that of lookups, but lets names pass that are in use without being those of hosts, as _tcp.
var profile = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(false))

// Shown is a canonical name, or an address, as people are shown it: with what the letters of another script look like behind it, since
// these alone could be taken for others.
func Shown(name string) string {
	if looks := Looks(name); looks != "" {
		return cli.Printable(name) + " (" + cli.Printable(looks) + ")"
	}
	return cli.Printable(name)
}

// Looks is what a canonical name looks like in its own script, or "" where that is the same.
func Looks(name string) string {
	looks, err := idna.Display.ToUnicode(name)
	if err != nil || looks == name || !strings.Contains(name, "xn--") {
		return ""
	}
	return looks
}

// String returns the rule as it can be parsed again.
func (r Rule) String() string {
	if r.socket != "" {
		return socketPrefix + r.socket
	}
	text := r.name
	switch {
	case r.nets.IsValid() && r.nets.IsSingleIP():
		text = r.nets.Addr().String()
	case r.nets.IsValid():
		text = r.nets.String()
	case r.below && r.name == "":
		text = "*"
	case r.below:
		text = "*." + r.name
	}
	switch {
	case r.port == 0:
		return text
	case r.nets.IsValid() && r.nets.Addr().Is6():
		text = "[" + text + "]"
	}
	return text + ":" + strconv.Itoa(int(r.port))
}

// matchesName says whether the rule is of a canonical name, whatever the port.
func (r Rule) matchesName(name string) bool {
	switch {
	case r.nets.IsValid(), r.socket != "":
		return false
	case name == Host || r.name == Host:
		return r.name == name && !r.below
	case r.below:
		return r.name == "" || strings.HasSuffix(name, "."+r.name)
	}
	return r.name == name
}

func (r Rule) matchesPort(port uint16) bool { return r.port == 0 || r.port == port }

// Covers says whether the rule matches whatever other does.
func (r Rule) Covers(other Rule) bool {
	switch {
	case r.socket != "" || other.socket != "":
		return r == other
	case r.port != 0 && r.port != other.port, r.nets.IsValid() != other.nets.IsValid():
		return false
	case r.nets.IsValid():
		return r.nets.Bits() <= other.nets.Bits() && r.nets.Contains(other.nets.Addr())
	case !other.below:
		return r.matchesName(other.name)
	}
	return r.below && (r.name == "" || r.name == other.name || strings.HasSuffix(other.name, "."+r.name))
}
