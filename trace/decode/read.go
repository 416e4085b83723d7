package decode

import (
	"bytes"
	"net/netip"
	"strconv"

	"golang.org/x/sys/unix"
)

// String returns the NUL-terminated string at addr; ok is false when it is not
// readable or longer than a path can be.
func String(m Memory, addr uint64) (s string, ok bool) {
	b, terminated, ok := readCstring(m, addr, maxPath, nil)
	return string(b), ok && terminated
}

// Strings returns the strings of the NULL-terminated array at addr, at most limit
// of them and each up to size bytes; more says that something is left out.
func Strings(m Memory, addr uint64, limit, size int) (all []string, more bool) {
	p := printer{call: &Call{Mem: m}}
	addrs, more, broken, _ := p.pointers(addr, limit)
	more = more || broken
	for _, addr := range addrs {
		b, terminated, ok := readCstring(m, addr, size, nil)
		if !ok {
			return all, true
		}
		more = more || !terminated
		all = append(all, string(b))
	}
	return all, more
}

// Word returns the 64-bit word at addr, or 0 where nothing is readable.
func Word(m Memory, addr uint64) uint64 {
	var b [8]byte
	if m.Read(addr, b[:]) < len(b) {
		return 0
	}
	return u64(b[:], 0)
}

// Address returns the socket address of n bytes at addr as people write it:
// 192.0.2.1:80, [2001:db8::1]:80, /run/socket or @abstract. It is empty for what
// is none of these.
func Address(m Memory, addr, n uint64) string {
	b := make([]byte, min(n, maxSockaddr))
	if len(b) < 2 || m.Read(addr, b) < len(b) {
		return ""
	}
	port := func() string { return strconv.Itoa(int(b[2])<<8 | int(b[3])) }
	switch family := order.Uint16(b); {
	case family == unix.AF_INET && len(b) >= 8:
		return netip.AddrFrom4([4]byte(b[4:8])).String() + ":" + port()
	case family == unix.AF_INET6 && len(b) >= 24:
		return "[" + netip.AddrFrom16([16]byte(b[8:24])).String() + "]:" + port()
	case family == unix.AF_UNIX && len(b) > 2 && b[2] == 0:
		return "@" + string(b[3:])
	case family == unix.AF_UNIX && len(b) > 2:
		path, _, _ := bytes.Cut(b[2:], []byte{0})
		return string(path)
	}
	return ""
}

// MessageAddress returns the Address in the struct msghdr at addr.
func MessageAddress(m Memory, addr uint64) string {
	var b [msghdrSize]byte
	if m.Read(addr, b[:]) < len(b) {
		return ""
	}
	return Address(m, u64(b[:], 0), uint64(u32(b[:], msgNamelen)))
}
