package decode

import (
	"encoding/binary"
	"slices"
)

// Both architectures are little-endian, and programs of the native one only are
// decoded; sizes and offsets in this package are those of the 64-bit ABI.
var order = binary.LittleEndian

func u32(b []byte, at int) uint32 { return order.Uint32(b[at:]) }
func u64(b []byte, at int) uint64 { return order.Uint64(b[at:]) }

// read returns the n bytes at addr. Where there is nothing to show, because addr
// is NULL or unreadable or the call did not fill in what a points to, it prints
// the address and returns nil.
func (p *printer) read(a *argument, addr uint64, n int) []byte {
	if addr == 0 || a.output && p.call.Failed {
		p.addr(addr)
		return nil
	}
	b := make([]byte, n)
	if p.call.Mem.Read(addr, b) < n {
		p.addr(addr)
		return nil
	}
	return b
}

// peek returns the n bytes at addr, or nil.
func (p *printer) peek(addr uint64, n int) []byte {
	b := make([]byte, n)
	if addr == 0 || p.call.Mem.Read(addr, b) < n {
		return nil
	}
	return b
}

// tail prints what a program gives behind the members of a structure that are known: the bytes from known up to size,
// which are zero where the program asks for nothing more.
func (p *printer) tail(addr, known, size uint64) {
	const largest = 4096 // a page, as the kernel has it (copy_struct_from_user's callers)
	if size <= known {
		return
	}
	b := p.peek(addr+known, int(min(size, largest)-min(known, largest)))
	if b == nil {
		p.str(", ???")
		return
	}
	if !slices.ContainsFunc(b, func(c byte) bool { return c != 0 }) {
		return
	}
	p.str(", /* bytes ")
	p.udec(known)
	p.str("..")
	p.udec(size - 1)
	p.str(" */ ")
	p.hexString(b[:min(len(b), p.stringLimit())])
	if uint64(p.stringLimit()) < size-known {
		p.str("...")
	}
}

// readable returns as many of the n bytes at addr as are readable.
func (p *printer) readable(addr uint64, n int) []byte {
	b := make([]byte, n)
	if addr == 0 {
		return nil
	}
	return b[:p.call.Mem.Read(addr, b)]
}

// elements is how many elements of an array are shown.
func (p *printer) elements() uint64 {
	const whole = 1 << 16
	switch {
	case p.call.Whole:
		return whole
	case p.call.Strings <= 0:
		return maxElements
	}
	return min(uint64(p.call.Strings), whole)
}

// textLimit is after how many bytes of text the rest of an array is left out: its elements may be arrays, too.
func (p *printer) textLimit() int {
	limit := 16<<10 + 8*p.stringLimit()
	if p.call.Whole {
		limit += 1 << 20
	}
	return limit
}

// list prints the elements, of the given size, of an array of n at addr, at most
// p.elements() of them, and as many of those as are readable.
func (p *printer) list(a *argument, addr uint64, n uint64, size int, element func(b []byte)) {
	p.listUpTo(a, addr, n, unlimited, size, element)
}

// listUpTo is list for an array of which the kernel takes no more than bound elements; no more are shown.
func (p *printer) listUpTo(a *argument, addr uint64, n, bound uint64, size int, element func(b []byte)) {
	if n == 0 && addr != 0 && !(a.output && p.call.Failed) {
		p.str("[]")
		return
	}
	shown := min(n, p.elements(), bound)
	want := min(n, shown+1) // an element that is not shown must be readable, too, as strace has it
	b := make([]byte, want*uint64(size))
	var got uint64
	if addr != 0 && !(a.output && p.call.Failed) {
		got = uint64(p.call.Mem.Read(addr, b) / size)
	}
	if got == 0 {
		p.addr(addr)
		return
	}
	p.str("[")
	most := len(p.buf) + p.textLimit()
	for i := range int(min(got, shown)) {
		if i > 0 {
			p.str(", ")
		}
		if len(p.buf) > most {
			p.str("...]")
			return
		}
		element(b[i*size : (i+1)*size])
	}
	switch {
	case got < want:
		p.str(", ... /* ")
		p.hex(addr + got*uint64(size))
		p.str(" */")
	case n > shown:
		p.str(", ...")
	}
	p.str("]")
}

// maxElements is how many elements of an array are shown, as in strace.
const maxElements = 32

// array is list for an array that always has n elements, all of which are readable or none is shown.
func (p *printer) array(addr uint64, n, size int, element func(b []byte)) {
	if p.peek(addr, n*size) == nil {
		p.addr(addr)
		return
	}
	p.list(&argument{}, addr, uint64(n), size, element)
}

func printIntP(p *printer, a *argument, v uint64) bool {
	if b := p.read(a, v, 4); b != nil {
		p.str("[")
		p.dec(int64(int32(u32(b, 0))))
		p.str("]")
	}
	return true
}

func printIDP(p *printer, a *argument, v uint64) bool {
	if b := p.read(a, v, 4); b != nil {
		p.str("[")
		p.idElement(b)
		p.str("]")
	}
	return true
}

func printLongP(p *printer, a *argument, v uint64) bool {
	if b := p.read(a, v, 8); b != nil {
		p.str("[")
		p.dec(int64(u64(b, 0)))
		p.str("]")
	}
	return true
}

func printAddrP(p *printer, a *argument, v uint64) bool {
	if b := p.read(a, v, 8); b != nil {
		p.str("[")
		p.hex(u64(b, 0))
		p.str("]")
	}
	return true
}

func printFdPair(p *printer, a *argument, v uint64) bool {
	p.list(a, v, 2, 4, p.fdElement)
	return true
}

func (p *printer) int32(b []byte) { p.dec(int64(int32(u32(b, 0)))) }

// printIDList prints as many ids as the call returned.
func printIDList(p *printer, a *argument, v uint64) bool {
	if p.call.Failed {
		p.addr(v)
		return true
	}
	p.list(a, v, uint64(p.call.Ret), 4, p.idElement)
	return true
}

func printIDArray(p *printer, a *argument, v uint64) bool {
	const most = 1 << 16 // NGROUPS_MAX
	if n := uint64(uint32(p.call.Args[a.number])); n > most {
		p.addr(v)
	} else {
		p.list(a, v, n, 4, p.idElement)
	}
	return true
}
