package decode

import (
	"net/netip"

	"golang.org/x/sys/unix"
)

func inet4(b []byte) string { return netip.AddrFrom4([4]byte(b[:4])).String() }

// optionSets are the names of the options of each level.
var optionSets = map[uint32]string{
	unix.SOL_SOCKET: "so", unix.SOL_TCP: "tcp", unix.SOL_IP: "ip", unix.SOL_IPV6: "ipv6", 17: "udp",
	unix.SOL_RAW: "raw", unix.SOL_PACKET: "packet", unix.SOL_NETLINK: "netlink_opt",
}

// printSockopt prints the name of an option, which depends on the level.
func printSockopt(p *printer, _ *argument, v uint64) bool {
	if uint32(p.call.Args[1]) == unix.SOL_SOCKET && uint32(v) == unix.SO_GET_FILTER && p.call.Name == "getsockopt" {
		p.str("SO_GET_FILTER") // of the same number as SO_ATTACH_FILTER
		return true
	}
	if set := flagSets()[optionSets[uint32(p.call.Args[1])]]; set != nil {
		p.printName(set, v)
	} else {
		p.dec(int64(int32(v)))
	}
	return true
}

// optionStructures are the options whose value is a struct, by level and number.
var optionStructures = map[[2]uint32]string{
	{unix.SOL_SOCKET, unix.SO_LINGER}: "linger", {unix.SOL_SOCKET, unix.SO_PEERCRED}: "ucred",
	{unix.SOL_SOCKET, 20}: "timeval", {unix.SOL_SOCKET, 21}: "timeval", // SO_RCVTIMEO_OLD, SO_SNDTIMEO_OLD
	{unix.SOL_IP, unix.IP_ADD_MEMBERSHIP}: "ip_mreq", {unix.SOL_IP, unix.IP_DROP_MEMBERSHIP}: "ip_mreq",
	{unix.SOL_IP, unix.IP_MULTICAST_IF}:    "",
	{unix.SOL_PACKET, unix.PACKET_RX_RING}: "tpacket_req", {unix.SOL_PACKET, unix.PACKET_TX_RING}: "tpacket_req",
	{unix.SOL_PACKET, unix.PACKET_STATISTICS}: "tpacket_stats",
}

// option prints an option's value of n bytes at v: a struct, an int, or bytes.
func (p *printer) option(a *argument, v, n uint64) {
	level, name := uint32(p.call.Args[1]), uint32(p.call.Args[2])
	s := structures[optionStructures[[2]uint32{level, name}]]
	short := a.output && !p.call.Failed
	if otherOptions[name] && level == unix.SOL_SOCKET && s != nil && n < uint64(s.size) {
		s = nil // too short for a time-out
	}
	switch {
	case a.output && p.call.Failed || int32(n) < 0 || n == 0:
		p.addr(v)
	case level == unix.SOL_SOCKET && (name == unix.SO_ATTACH_FILTER || name == unix.SO_ATTACH_REUSEPORT_CBPF) && !a.output:
		if n == 16 { // the size of struct sock_fprog
			p.program(v)
		} else {
			p.addr(v)
		}
	case level == unix.SOL_SOCKET && name == unix.SO_GET_FILTER && a.output: // n is how many instructions there are
		if p.call.Whole && v != 0 {
			p.list(a, v, n, 8, func(b []byte) { p.instruction(b, (*printer).packetOffset) })
		} else {
			p.addr(v)
		}
	case s != nil && n >= uint64(s.size):
		if b := p.read(a, v, s.size); b != nil {
			p.structure(s, b)
		}
	case s != nil && short:
		p.part(s, v, int(n))
	case s != nil:
		p.addr(v)
	case level == unix.SOL_SOCKET && otherOptions[name] && n != 4:
		p.bytes(v, n)
	case n < 4 && short:
		p.hexBytes(v, int(n))
	case n < 4:
		p.addr(v)
	case level == unix.SOL_SOCKET && name == unix.SO_ERROR:
		if b := p.read(a, v, 4); b != nil {
			p.str("[")
			if name := errnoName(unix.Errno(u32(b, 0))); name != "" {
				p.str(name)
			} else {
				p.int32(b)
			}
			p.str("]")
		}
	case n == 4 || level == unix.SOL_NETLINK || level == unix.SOL_SOCKET:
		printIntP(p, a, v)
	default:
		p.bytes(v, n)
	}
}

// otherOptions are those of the level of sockets whose value is not always an int.
var otherOptions = map[uint32]bool{
	unix.SO_TYPE: true, unix.SO_PROTOCOL: true, unix.SO_DOMAIN: true, unix.SO_BINDTODEVICE: true, unix.SO_PEERNAME: true, unix.SO_PEERSEC: true,
	unix.SO_PEERGROUPS: true, unix.SO_COOKIE: true, unix.SO_NETNS_COOKIE: true, unix.SO_MAX_PACING_RATE: true, unix.SO_BPF_EXTENSIONS: true,
	unix.SO_ATTACH_BPF: true, unix.SO_ATTACH_REUSEPORT_EBPF: true, unix.SO_MEMINFO: true, unix.SO_TXTIME: true, unix.SO_BINDTOIFINDEX: true,
	unix.SO_BUF_LOCK: true, unix.SO_RCVTIMEO_OLD: true, unix.SO_SNDTIMEO_OLD: true, unix.SO_RCVTIMEO_NEW: true, unix.SO_SNDTIMEO_NEW: true,
	unix.SO_SECURITY_AUTHENTICATION: true, unix.SO_SECURITY_ENCRYPTION_TRANSPORT: true, unix.SO_SECURITY_ENCRYPTION_NETWORK: true,
}

// part prints the members of a struct of which the kernel has given the first n bytes, all of
// four bytes.
func (p *printer) part(s *structure, v uint64, n int) {
	b := p.peek(v, n)
	if b == nil || s.size != 4*len(s.members) {
		p.addr(v)
		return
	}
	p.str("{")
	for i, m := range s.members {
		if m.at >= n {
			break
		}
		if i > 0 {
			p.str(", ")
		}
		p.str(m.name + "=")
		if m.at+4 <= n {
			m.show(p, b[m.at:])
		} else {
			p.hexBytes(v+uint64(m.at), n-m.at)
		}
	}
	p.str("}")
}

// hexBytes prints n bytes as a string of nothing but numbers.
func (p *printer) hexBytes(v uint64, n int) {
	b := p.peek(v, n)
	if b == nil {
		p.addr(v)
		return
	}
	p.hexString(b)
}

func printOptval(p *printer, a *argument, v uint64) bool {
	p.option(a, v, uint64(uint32(p.call.Args[a.number])))
	return true
}

func printOptvalOut(p *printer, a *argument, v uint64) bool {
	b := p.peek(p.call.Args[a.number], 4)
	if b == nil {
		p.addr(v)
		return true
	}
	p.option(a, v, uint64(u32(b, 0)))
	return true
}
