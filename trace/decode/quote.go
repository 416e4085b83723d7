package decode

import (
	"bytes"
	"slices"
	"strings"
)

// maxString is how many bytes of a buffer or string are shown, as in strace.
const maxString = 32

// maxStrings bounds what may be asked for instead.
const maxStrings = 1 << 20

// stringLimit is how many bytes of a string are shown.
func (p *printer) stringLimit() int {
	if p.call.Strings <= 0 {
		return maxString
	}
	return min(p.call.Strings, maxStrings)
}

// maxPath is the kernel's PATH_MAX less the NUL: paths are shown whole.
const maxPath = 4095

// Quote returns b as a string in C's notation: printable ASCII, and the
// shortest octal escapes for what is not.
func Quote(b []byte) string { return string(appendQuoted(nil, b)) }

func appendQuoted(dst, b []byte) []byte {
	return append(appendEscaped(append(dst, '"'), b, ""), '"')
}

// Hex says which strings, or what of them, are shown as numbers, two hexadecimal digits for each byte.
type Hex int

// The choices are those of strace's -x and -xx.
const (
	NoHex    Hex = iota
	HexOther     // strings that hold bytes which are no ASCII text
	HexAll
	HexBytes // only those bytes
)

// quote prints b as a string.
func (p *printer) quote(b []byte) {
	switch {
	case p.call.Hex == HexAll || p.call.Hex == HexOther && slices.ContainsFunc(b, isNoText):
		p.hexString(b)
	case p.call.Hex == HexBytes:
		p.str(`"`)
		for i, c := range b {
			if isNoText(c) {
				p.hexByte(c)
			} else {
				p.buf = appendEscaped(p.buf, b[i:i+1], "")
			}
		}
		p.str(`"`)
	default:
		p.buf = appendQuoted(p.buf, b)
	}
}

// isNoText tells bytes that ASCII text does not have.
func isNoText(c byte) bool { return c > '~' || c < ' ' && (c < '\t' || c > '\r') }

// hexString prints b as a string of nothing but numbers.
func (p *printer) hexString(b []byte) {
	p.str(`"`)
	for _, c := range b {
		p.hexByte(c)
	}
	p.str(`"`)
}

func (p *printer) hexByte(c byte) { p.buf = append(p.buf, '\\', 'x', digits[c>>4], digits[c&15]) }

// appendEscaped is appendQuoted without the quotes around, and with an octal
// escape for each byte of others too.
func appendEscaped(dst, b []byte, others string) []byte {
	for i, c := range b {
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, `\n`...)
		case '\t':
			dst = append(dst, `\t`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\v':
			dst = append(dst, `\v`...)
		case '\f':
			dst = append(dst, `\f`...)
		default:
			if c >= ' ' && c <= '~' && strings.IndexByte(others, c) < 0 {
				dst = append(dst, c)
				continue
			}
			// Fewer than three digits only where no digit follows that
			// would be read as part of the escape.
			digit := i+1 < len(b) && b[i+1] >= '0' && b[i+1] <= '7'
			dst = append(dst, '\\')
			if c >= 0o100 || digit {
				dst = append(dst, '0'+c>>6)
			}
			if c >= 0o10 || digit {
				dst = append(dst, '0'+c>>3&7)
			}
			dst = append(dst, '0'+c&7)
		}
	}
	return dst
}

// bytes prints n bytes at addr, the first p.stringLimit() of them.
func (p *printer) bytes(addr, n uint64) {
	if addr == 0 {
		p.str("NULL")
		return
	}
	shown := min(n, uint64(p.stringLimit()))
	want := min(n, shown+1) // as strace asks for
	var short [maxString + 1]byte
	buf := short[:]
	if want > uint64(len(short)) {
		buf = make([]byte, want)
	}
	if got := p.call.Mem.Read(addr, buf[:want]); uint64(got) < want {
		p.hex(addr)
		return
	}
	p.quote(buf[:shown])
	if n > shown {
		p.str("...")
	}
}

// cstring prints the NUL-terminated string at addr, up to limit bytes of it.
func (p *printer) cstring(addr uint64, limit int) {
	b, terminated, ok := readCstring(p.call.Mem, addr, limit, p.scratch)
	if !ok {
		p.addr(addr)
		return
	}
	p.scratch = b[:0:min(cap(b), 256)] // a short one, for short reads
	p.quote(b)
	if !terminated {
		p.str("...")
	}
}

// field prints the string at addr, of which the kernel reads no more than size bytes, with or without a NUL.
func (p *printer) field(addr uint64, size int) {
	b := p.readable(addr, size)
	text, _, terminated := bytes.Cut(b, []byte{0})
	switch {
	case terminated:
		p.quote(text)
	case len(b) == size && size > 0:
		p.quote(b)
		p.str("...")
	default:
		p.addr(addr)
	}
}

// readCstring reads the string at addr up to its NUL, or limit bytes of it; ok is
// false when its end is not readable. It is read into scratch where that is large
// enough.
func readCstring(m Memory, addr uint64, limit int, scratch []byte) (b []byte, terminated, ok bool) {
	if addr == 0 {
		return nil, false, false
	}
	// Most strings are short: a small read first, then the rest.
	if b = scratch[:0]; cap(b) == 0 {
		b = make([]byte, 0, 256)
	}
	for len(b) <= limit {
		room := b[len(b):cap(b)]
		n := m.Read(addr+uint64(len(b)), room)
		if i := bytes.IndexByte(room[:n], 0); i >= 0 {
			b = b[:len(b)+i]
			return b[:min(len(b), limit)], len(b) <= limit, true
		}
		if b = b[:len(b)+n]; n < len(room) && len(b) <= limit {
			return nil, false, false
		}
		b = append(b, make([]byte, maxPath+1)...)[:len(b)]
	}
	return b[:limit], false, true
}
