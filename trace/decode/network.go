package decode

import (
	"bytes"
	"net/netip"

	"golang.org/x/sys/unix"
)

// printSocktype prints a socket's type: a number and two bits.
func printSocktype(p *printer, _ *argument, v uint64) bool {
	const typeMask = 0xf // SOCK_TYPE_MASK in include/linux/net.h
	v = uint64(uint32(v))
	if !networkFlags["socktype"].has(uint32(v & typeMask)) {
		p.printName(networkFlags["socktype"], v)
		return true
	}
	p.printName(networkFlags["socktype"], v&typeMask)
	if v &^= typeMask; v != 0 {
		p.str("|")
		p.printSet(networkFlags["sock"], v)
	}
	return true
}

// printProtocol prints a socket's protocol, which is a name in some families.
func printProtocol(p *printer, _ *argument, v uint64) bool {
	switch p.call.Args[0] {
	case unix.AF_INET, unix.AF_INET6:
		p.printName(networkFlags["ipproto"], v)
	case unix.AF_NETLINK:
		p.printName(networkFlags["netlink"], v)
	default:
		p.dec(int64(int32(v)))
	}
	return true
}

// maxSockaddr is sizeof(struct sockaddr_storage).
const maxSockaddr = 128

// sockaddr prints the n bytes of the address at addr.
func (p *printer) sockaddr(addr, n uint64) {
	n = min(n, maxSockaddr)
	b := make([]byte, n)
	if addr == 0 || n < 2 || p.call.Mem.Read(addr, b) < len(b) {
		p.addr(addr)
		return
	}
	family := order.Uint16(b)
	p.str("{sa_family=")
	p.printName(networkFlags["af"], uint64(family))
	switch {
	case family == unix.AF_UNIX:
		p.unixAddr(b[2:])
	case family == unix.AF_INET && n >= 16:
		p.str(", sin_port=htons(")
		p.udec(uint64(b[2])<<8 | uint64(b[3]))
		p.str(`), sin_addr=inet_addr("` + netip.AddrFrom4([4]byte(b[4:8])).String() + `")`)
	case family == unix.AF_INET6 && n >= 24:
		p.str(", sin6_port=htons(")
		p.udec(uint64(b[2])<<8 | uint64(b[3]))
		p.str("), sin6_flowinfo=htonl(")
		p.udec(uint64(b[4])<<24 | uint64(b[5])<<16 | uint64(b[6])<<8 | uint64(b[7]))
		p.str(`), inet_pton(AF_INET6, "` + netip.AddrFrom16([16]byte(b[8:24])).String() + `", &sin6_addr)`)
		if n >= 28 {
			p.str(", sin6_scope_id=")
			p.udec(uint64(u32(b, 24)))
		}
	case family == unix.AF_NETLINK && n >= 12:
		p.str(", nl_pid=")
		p.dec(int64(int32(u32(b, 4))))
		p.str(", nl_groups=")
		p.groups(u32(b, 8))
	case n > 2:
		p.str(", sa_data=")
		p.quote(b[2:])
	}
	p.str("}")
}

// groups prints a mask of multicast groups in eight hexadecimal digits.
func (p *printer) groups(v uint32) {
	if v == 0 {
		p.str("00000000")
		return
	}
	p.str("0x")
	for shift := 28; shift >= 0; shift -= 4 {
		p.buf = append(p.buf, digits[v>>shift&15])
	}
}

// unixAddr prints the path of a unix socket, or the name of an abstract one,
// which starts with a NUL byte that strace writes as @.
func (p *printer) unixAddr(b []byte) {
	const longest = 108 // UNIX_PATH_MAX
	b = b[:min(len(b), longest)]
	switch {
	case len(b) == 0:
	case b[0] == 0:
		p.str(", sun_path=@")
		p.quote(b[1:])
	default:
		path, _, _ := bytes.Cut(b, []byte{0})
		p.str(", sun_path=")
		p.quote(path)
	}
}

func printSockaddr(p *printer, a *argument, v uint64) bool {
	p.sockaddr(v, uint64(uint32(p.call.Args[a.number])))
	return true
}

// printSockaddrOut prints an address that the kernel has filled in, and whose
// length it has stored where the argument a.number points. That may be more than there
// was room for, and what is behind that the kernel has not written.
func printSockaddrOut(p *printer, a *argument, v uint64) bool {
	var b [4]byte
	if v == 0 || p.call.Failed || p.call.Mem.Read(p.call.Args[a.number], b[:]) < len(b) {
		p.addr(v)
		return true
	}
	p.sockaddr(v, min(uint64(u32(b[:], 0)), uint64(max(p.call.length, 0))))
	return true
}

// noteLength remembers, at the entry, a length that the call will overwrite:
// what stands at offset in what v points to.
func noteLength(offset uint64) func(c *Call, v uint64) {
	return func(c *Call, v uint64) {
		var b [4]byte
		if v != 0 && c.Mem.Read(v+offset, b[:]) == len(b) {
			c.length = int64(u32(b[:], 0))
		}
	}
}

// changed prints a length, and in front of it what it was at the entry if that
// was another one.
func (p *printer) changed(now uint32) {
	if p.call.length != int64(now) {
		p.dec(p.call.length)
		p.str(" => ")
	}
	p.dec(int64(int32(now)))
}

func printSocklen(p *printer, _ *argument, v uint64) bool {
	if b := p.read(&argument{}, v, 4); b != nil {
		p.str("[")
		p.changed(u32(b, 0))
		p.str("]")
	}
	return true
}

// struct msghdr (include/linux/socket.h, struct user_msghdr).
const (
	msghdrSize    = 56
	msgNamelen    = 8
	msgIov        = 16
	msgIovlen     = 24
	msgControl    = 32
	msgControllen = 40
	msgFlags      = 48
)

func (p *printer) msghdr(b []byte, total uint64, received bool) {
	p.str("{msg_name=")
	size := uint64(u32(b, msgNamelen))
	if received {
		size = min(size, uint64(max(p.call.length, 0)))
	}
	p.sockaddr(u64(b, 0), size)
	p.str(", msg_namelen=")
	if received {
		p.changed(u32(b, msgNamelen))
	} else {
		p.int32(b[msgNamelen:])
	}
	p.str(", msg_iov=")
	p.messageIovecs(b, total)
	p.str(", msg_iovlen=")
	p.udec(u64(b, msgIovlen))
	if n := u64(b, msgControllen); n != 0 {
		p.str(", msg_control=")
		p.control(u64(b, msgControl), n)
	}
	p.str(", msg_controllen=")
	p.udec(u64(b, msgControllen))
	p.str(", msg_flags=")
	p.printSet(networkFlags["msg"], uint64(u32(b, msgFlags)))
	p.str("}")
}

// messageIovecs prints the buffers of a message, those of netlink as its messages.
func (p *printer) messageIovecs(b []byte, total uint64) {
	addr, n := u64(b, msgIov), u64(b, msgIovlen)
	if !p.isNetlink(u64(b, 0), uint64(u32(b, msgNamelen))) {
		p.iovecs(&argument{}, addr, n, total)
		return
	}
	p.list(&argument{}, addr, n, 16, func(b []byte) {
		base, size := u64(b, 0), u64(b, 8)
		shown := min(size, total)
		if total != unlimited {
			total -= shown
		}
		p.str("{iov_base=")
		p.netlink(base, shown)
		p.str(", iov_len=")
		p.udec(size)
		p.str("}")
	})
}

// printSent prints a buffer that is sent, to netlink as messages.
func printSent(p *printer, a *argument, v uint64) bool {
	to := p.call.Args[4]
	if to == 0 && p.toNetlink(v, p.call.Args[a.number]) || p.isNetlink(to, uint64(uint32(p.call.Args[5]))) {
		p.netlink(v, p.call.Args[a.number])
		return true
	}
	return printBuf(p, a, v)
}

func printMsghdr(p *printer, a *argument, v uint64) bool {
	if b := p.read(a, v, msghdrSize); b != nil {
		p.msghdr(b, unlimited, false)
	}
	return true
}

func printMsghdrOut(p *printer, a *argument, v uint64) bool {
	if p.call.Failed {
		if b := p.peek(v, msghdrSize); b != nil {
			p.str("{msg_namelen=")
			p.int32(b[msgNamelen:])
			p.str("}")
			return true
		}
	}
	if b := p.read(a, v, msghdrSize); b != nil {
		p.msghdr(b, uint64(p.call.Ret), true)
	}
	return true
}
