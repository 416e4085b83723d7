package decode

import "golang.org/x/sys/unix"

// The parts of an instruction of a filter (include/uapi/linux/bpf_common.h and filter.h), by their values.
var (
	filterClasses   = []string{"LD", "LDX", "ST", "STX", "ALU", "JMP", "RET", "MISC"}
	filterSizes     = []string{"W", "H", "B"}
	filterModes     = []string{"IMM", "ABS", "IND", "MEM", "LEN", "MSH"}
	filterSources   = []string{"K", "X", "A"}
	filterALU       = []string{"ADD", "SUB", "MUL", "DIV", "OR", "AND", "LSH", "RSH", "NEG", "MOD", "XOR"}
	filterJumps     = []string{"JA", "JEQ", "JGT", "JGE", "JSET"}
	filterMoves     = []string{"TAX", "TXA"}
	filterAncillary = []string{
		"PROTOCOL", "PKTTYPE", "IFINDEX", "NLATTR", "NLATTR_NEST", "MARK", "QUEUE", "HATYPE", "RXHASH", "CPU", "ALU_XOR_X", "VLAN_TAG",
		"VLAN_TAG_PRESENT", "PAY_OFFSET", "RANDOM", "VLAN_TPID",
	}
)

// program prints struct sock_fprog (include/uapi/linux/filter.h): the length of the program of a socket's filter, and
// its instructions if structures are to be whole.
func (p *printer) program(v uint64) { p.filter(v, (*printer).packetOffset) }

// seccompProgram is program for one of seccomp's.
func (p *printer) seccompProgram(v uint64) { p.filter(v, (*printer).seccompResult) }

// filter prints a program. Where special knows better what the number of an instruction is, it prints it and returns true.
func (p *printer) filter(v uint64, special func(p *printer, class, mode uint16, k uint32) bool) {
	b := p.peek(v, 16)
	if b == nil {
		p.addr(v)
		return
	}
	n := uint64(order.Uint16(b))
	p.str("{len=")
	p.udec(n)
	p.str(", filter=")
	if p.call.Whole {
		p.listUpTo(&argument{}, u64(b, 8), n, unix.BPF_MAXINSNS, 8, func(b []byte) { p.instruction(b, special) })
	} else {
		p.addr(u64(b, 8))
	}
	p.str("}")
}

// instruction prints struct sock_filter by the macro that makes it: BPF_JUMP of one that may jump, and BPF_STMT.
func (p *printer) instruction(b []byte, special func(p *printer, class, mode uint16, k uint32) bool) {
	code, jt, jf, k := order.Uint16(b), uint64(b[2]), uint64(b[3]), u32(b, 4)
	if jt|jf != 0 {
		p.str("BPF_JUMP(")
		p.filterCode(code)
		for _, v := range []uint64{uint64(k), jt, jf} {
			p.str(", ")
			p.hex(v)
		}
	} else {
		p.str("BPF_STMT(")
		p.filterCode(code)
		p.str(", ")
		if !special(p, code&7, code&0xe0, k) {
			p.hex(uint64(k))
		}
	}
	p.str(")")
}

// filterCode prints what an instruction does.
func (p *printer) filterCode(code uint16) {
	class, rest := code&7, code&^7
	p.str("BPF_" + filterClasses[class])
	part := func(names []string, mask uint16, step int) {
		i := int(code&mask) / step
		p.str("|")
		if i < len(names) {
			p.str("BPF_" + names[i])
		} else {
			p.hex(uint64(code & mask))
			p.str(" /* BPF_??? */")
		}
		rest &^= mask
	}
	switch class {
	case unix.BPF_LD, unix.BPF_LDX:
		part(filterSizes, 0x18, 8)
		part(filterModes, 0xe0, 0x20)
		return
	case unix.BPF_ALU:
		part(filterSources, 8, 8)
		part(filterALU, 0xf0, 0x10)
		return
	case unix.BPF_JMP:
		part(filterSources, 8, 8)
		part(filterJumps, 0xf0, 0x10)
		return
	case unix.BPF_RET:
		part(filterSources, 0x18, 8)
	case unix.BPF_MISC:
		part(filterMoves, 0xf8, 0x80)
	}
	if rest != 0 {
		p.str("|")
		p.hex(uint64(rest))
		p.str(" /* BPF_??? */")
	}
}

// seccompResult prints what seccomp does as the result of a program.
func (p *printer) seccompResult(class, _ uint16, k uint32) bool {
	const action = 0xffff0000 // SECCOMP_RET_ACTION_FULL
	if class != unix.BPF_RET {
		return false
	}
	p.printName(rareFlags["seccomp_action"], uint64(k&action))
	if data := k &^ action; data != 0 {
		p.str("|")
		p.hex(uint64(data))
	}
	return true
}

// packetOffset prints an offset in a packet that is high, and stands for something else than its content.
func (p *printer) packetOffset(class, mode uint16, k uint32) bool {
	const ancillary, network, link = 0xfffff000, 0xfff00000, 0xffe00000 // SKF_AD_OFF, SKF_NET_OFF and SKF_LL_OFF
	if class != unix.BPF_LD || mode != unix.BPF_ABS || k < link {
		return false
	}
	switch {
	case k >= ancillary && k%4 == 0 && int(k-ancillary)/4 < len(filterAncillary):
		p.str("SKF_AD_OFF+SKF_AD_" + filterAncillary[(k-ancillary)/4])
	case k >= ancillary:
		p.str("SKF_AD_OFF+")
		p.hex(uint64(k - ancillary))
		p.str(" /* SKF_AD_??? */")
	case k >= network:
		p.str("SKF_NET_OFF+")
		p.udec(uint64(k - network))
	default:
		p.str("SKF_LL_OFF+")
		p.udec(uint64(k - link))
	}
	return true
}
