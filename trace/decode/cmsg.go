package decode

import "golang.org/x/sys/unix"

// maxControl bounds how many bytes of control messages are read.
const maxControl = 4096

// control prints the n bytes of control messages at addr: a list of struct cmsghdr
// with data behind each, aligned to 8 bytes (cmsg(3)).
func (p *printer) control(addr, n uint64) {
	b := make([]byte, min(n, maxControl))
	if len(b) < unix.SizeofCmsghdr || p.call.Mem.Read(addr, b) < len(b) {
		p.addr(addr)
		return
	}
	p.str("[")
	for i := 0; len(b) >= unix.SizeofCmsghdr; i++ {
		if i > 0 {
			p.str(", ")
		}
		if uint64(i) == p.elements() {
			p.str("...")
			break
		}
		size, level, kind := u64(b, 0), u32(b, 8), u32(b, 12)
		p.str("{cmsg_len=")
		p.udec(size)
		p.str(", cmsg_level=")
		p.printName(networkFlags["sol"], uint64(level))
		p.str(", cmsg_type=")
		p.printName(controlTypes(level), uint64(kind))
		if size < unix.SizeofCmsghdr {
			p.str("}")
			break
		}
		p.controlData(level, kind, b[unix.SizeofCmsghdr:min(size, uint64(len(b)))])
		p.str("}")
		b = b[min((min(size, uint64(len(b)))+7)&^7, uint64(len(b))):]
	}
	p.str("]")
}

// controlTypes are the names of the control messages of a level.
func controlTypes(level uint32) *flagSet {
	switch level {
	case unix.SOL_SOCKET:
		return networkFlags["scm"]
	case unix.SOL_IP:
		return networkFlags["ip"]
	case unix.SOL_IPV6:
		return networkFlags["ipv6"]
	}
	return &flagSet{unknown: "???"}
}

func (p *printer) controlData(level, kind uint32, b []byte) {
	if len(b) == 0 {
		return
	}
	p.str(", cmsg_data=")
	switch {
	case level == unix.SOL_SOCKET && kind == unix.SCM_RIGHTS:
		p.str("[")
		for i := 0; len(b) >= 4; i++ {
			if i > 0 {
				p.str(", ")
			}
			if uint64(i) == p.elements() {
				p.str("...")
				break
			}
			p.fdElement(b)
			b = b[4:]
		}
		p.str("]")
	case level == unix.SOL_SOCKET && kind == unix.SCM_CREDENTIALS && len(b) >= unix.SizeofUcred:
		p.str("{pid=")
		p.int32(b)
		p.str(", uid=")
		p.int32(b[4:])
		p.str(", gid=")
		p.int32(b[8:])
		p.str("}")
	case level == unix.SOL_SOCKET && (kind == unix.SO_TIMESTAMP || kind == 63) && len(b) >= 16: // and SO_TIMESTAMP_NEW
		p.timeval(b)
	case level == unix.SOL_SOCKET && (kind == unix.SO_TIMESTAMPNS || kind == 64) && len(b) >= 16: // and SO_TIMESTAMPNS_NEW
		p.timespec(b)
	default:
		p.quote(b[:min(len(b), p.stringLimit())])
		if len(b) > p.stringLimit() {
			p.str("...")
		}
	}
}
