package decode

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// Memory policies and where pages are (set_mempolicy(2), move_pages(2)).

func printPolicy(p *printer, a *argument, v uint64) bool {
	return printLongPolicy(p, a, uint64(uint32(v)))
}

// printLongPolicy prints a policy, above which flags stand.
func printLongPolicy(p *printer, _ *argument, v uint64) bool {
	modes, flags := rareFlags["mpol"], rareFlags["mpol_flags"]
	set := v & flags.all()
	mode := v &^ set
	switch {
	case mode>>32 == 0 && modes.has(uint32(mode)):
		p.printName(modes, mode)
		if set != 0 {
			p.str("|")
			p.printSet(flags, set)
		}
	case set != 0:
		p.printSet(flags, set)
		p.str("|")
		p.hex(mode)
	default:
		p.printLongName(modes, v)
	}
	return true
}

func printPolicyP(p *printer, a *argument, v uint64) bool {
	if b := p.read(a, v, 4); b != nil {
		p.str("[")
		p.printName(rareFlags["mpol"], uint64(u32(b, 0)))
		p.str("]")
	}
	return true
}

// printNodes prints a mask of nodes, of which the kernel takes a bit fewer than is said.
func printNodes(p *printer, a *argument, v uint64) bool {
	n := p.call.Args[a.number]
	if n == 1 { // none at all
		p.addr(v)
		return true
	}
	if n > 0 {
		n = (n-2)/64 + 1
	}
	p.list(a, v, n, 8, func(b []byte) {
		text := strconv.FormatUint(u64(b, 0), 16)
		for range 16 - len(text) {
			p.str("0")
		}
		p.str(text)
	})
	return true
}

func printAddrList(p *printer, a *argument, v uint64) bool {
	p.list(a, v, p.call.Args[a.number], 8, func(b []byte) { p.addr(u64(b, 0)) })
	return true
}

func printIntList(p *printer, a *argument, v uint64) bool {
	p.list(a, v, p.call.Args[a.number], 4, p.int32)
	return true
}

// printPageStatus prints the node of each page, or why it has none.
func printPageStatus(p *printer, a *argument, v uint64) bool {
	p.list(a, v, p.call.Args[a.number], 4, func(b []byte) {
		status := int32(u32(b, 0))
		if name := errnoName(unix.Errno(-status)); status < 0 && name != "" {
			p.str("-" + name)
		} else {
			p.dec(int64(status))
		}
	})
	return true
}

// printSizeP prints a size that the kernel has stored.
func printSizeP(p *printer, a *argument, v uint64) bool {
	if b := p.read(a, v, 8); b != nil {
		p.str("[")
		p.udec(u64(b, 0))
		p.str("]")
	}
	return true
}
