package registries

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/riverlytech/art/internal/netrule"
)

// Place is one port of a host that a tool fetches from.
type Place struct {
	// Rule is of package netrule.
	Rule string
	// Tool is its name, and From the file, the variable or the like that says so.
	Tool, From string
	// Configured says that somebody has said so: then the name may be at an address of a local network.
	Configured bool
}

// ports are those of the kinds of addresses that are reached over the network.
var ports = map[string]string{"http": "80", "https": "443", "ssh": "22", "git": "9418", "ftp": "21"}

// local are kinds that are not.
var local = []string{"file", "copy", "cdrom"}

// parse reads the address of a registry, and returns nil for one that is not reached over the network.
func parse(text string) (*Place, error) {
	shown := text
	if at := strings.LastIndexByte(shown, '@'); at >= 0 { // a name and a password are nobody's to see
		shown = shown[at+1:]
	}
	fail := func() (*Place, error) { return nil, fmt.Errorf("%.80q is no address of a registry", shown) }
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil {
		return fail()
	}
	scheme := strings.ToLower(u.Scheme)
	for _, kind := range []string{"sparse+", "registry+", "git+", "mirror+", "tor+"} {
		scheme = strings.TrimPrefix(scheme, kind)
	}
	if slices.Contains(local, scheme) || scheme == "" && u.Host == "" && strings.HasPrefix(u.Path, "/") {
		return nil, nil
	}
	if scheme == "mirror" {
		scheme = "http"
	}
	port, known := ports[scheme]
	if !known || u.Hostname() == "" || strings.Contains(u.Hostname(), "*") {
		return fail()
	}
	if p := u.Port(); p != "" {
		port = p
	}
	return place(u.Hostname(), port)
}

// place returns the place of a port of a host.
func place(host, port string) (*Place, error) {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return nil, fmt.Errorf("%q is no port", port)
	}
	if a, err := netip.ParseAddr(host); err == nil {
		switch a = a.Unmap(); {
		case a.IsLoopback():
			host = netrule.Host
		case !netrule.Public(a) && !netrule.Local(a):
			return nil, fmt.Errorf("no registry is at %s", a)
		case a.Is6():
			host = "[" + a.String() + "]"
		}
	} else if name := strings.ToLower(strings.TrimSuffix(host, ".")); name == "localhost" || strings.HasSuffix(name, ".localhost") {
		host = netrule.Host
	} else if name == netrule.Host { // which in rules is another one
		return nil, fmt.Errorf("a name %q cannot be told from the host's loopback", host)
	}
	r, err := netrule.Parse(host + ":" + port)
	if err != nil {
		return nil, err
	}
	return &Place{Rule: r.String()}, nil
}
