package netrule

import (
	"net/netip"
	"slices"
)

// special are the ranges that are not the Internet's (https://www.iana.org/assignments/iana-ipv4-special-registry and
// iana-ipv6-special-registry): the host's own, those of local networks with what clouds tell their machines
// (169.254.169.254, fd00:ec2::254, 100.100.100.200), and those that stand for IPv4 addresses in IPv6.
var special = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
	"192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
	"168.63.129.16/32", // what Azure tells its machines
)

// global are the IPv6 addresses that are given out on the Internet, and within are those of them that are not its.
var (
	global = netip.MustParsePrefix("2000::/3")
	within = prefixes("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
)

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// Public says whether an address is one of the Internet.
func Public(a netip.Addr) bool {
	a = a.Unmap()
	if a.Zone() != "" || !a.IsValid() || a.Is6() && !global.Contains(a) {
		return false
	}
	list := special
	if a.Is6() {
		list = within
	}
	for _, p := range list {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// local are addresses of local networks, and told those among them that clouds tell their machines things at.
var (
	local = prefixes("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7")
	told  = prefixes("100.100.100.200/32", "fd00:ec2::/32", "fd20:ce::/32")
)

// Local says whether an address is one of a local network: not of the host's loopback, nor one at which clouds tell their machines what
// they are. The addresses of the host's interfaces may be among them.
func Local(a netip.Addr) bool {
	a = a.Unmap()
	in := func(list []netip.Prefix) bool {
		return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(a) })
	}
	return a.Zone() == "" && in(local) && !in(told)
}
