package decode

import (
	"encoding/binary"
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

// list prints the elements, of the given size, of an array of n at addr, at most
// maxElements of them.
func (p *printer) list(a *argument, addr uint64, n uint64, size int, element func(b []byte)) {
	if n == 0 && addr != 0 && !(a.output && p.call.Failed) {
		p.str("[]")
		return
	}
	shown := min(n, maxElements)
	b := p.read(a, addr, int(shown)*size)
	if b == nil {
		return
	}
	p.str("[")
	for i := range int(shown) {
		if i > 0 {
			p.str(", ")
		}
		element(b[i*size : (i+1)*size])
	}
	if n > shown {
		p.str(", ...")
	}
	p.str("]")
}

// maxElements is how many elements of an array are shown, as in strace.
const maxElements = 32

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

func printFdPair(p *printer, a *argument, v uint64) bool {
	p.list(a, v, 2, 4, p.fdElement)
	return true
}

func (p *printer) int32(b []byte) { p.dec(int64(int32(u32(b, 0)))) }

// printIDList prints as many ids as the call returned.
func printIDList(p *printer, a *argument, v uint64) bool {
	if p.call.Failed || p.call.Args[0] == 0 {
		p.addr(v)
		return true
	}
	p.list(a, v, uint64(p.call.Ret), 4, p.idElement)
	return true
}

func printIDArray(p *printer, a *argument, v uint64) bool {
	p.list(a, v, p.call.Args[a.number], 4, p.idElement)
	return true
}
