package decode

import (
	"slices"

	"golang.org/x/sys/unix"
)

// prctlArgs are what the operations of prctl take behind their number, word by word; a missing word is
// not an argument of the operation. What is not in it takes four numbers.
var prctlArgs = map[uint64][]func(p *printer, v uint64){
	unix.PR_SET_NAME:             {prctlName},
	unix.PR_GET_NAME:             {prctlAddr},
	unix.PR_SET_PDEATHSIG:        {prctlSignal},
	unix.PR_GET_PDEATHSIG:        {prctlAddr},
	unix.PR_SET_KEEPCAPS:         {prctlUint},
	unix.PR_GET_KEEPCAPS:         {},
	unix.PR_SET_DUMPABLE:         {prctlEnum("dumpable")},
	unix.PR_GET_DUMPABLE:         {},
	unix.PR_SET_CHILD_SUBREAPER:  {prctlUint},
	unix.PR_GET_CHILD_SUBREAPER:  {prctlAddr},
	unix.PR_CAPBSET_READ:         {(*printer).capability},
	unix.PR_CAPBSET_DROP:         {(*printer).capability},
	unix.PR_SET_SECUREBITS:       {prctlFlags("securebits")},
	unix.PR_GET_SECUREBITS:       {},
	unix.PR_SET_TIMERSLACK:       {prctlUint},
	unix.PR_GET_TIMERSLACK:       {},
	unix.PR_GET_SECCOMP:          {},
	unix.PR_GET_TID_ADDRESS:      {prctlAddr},
	unix.PR_SET_NO_NEW_PRIVS:     {prctlUint, prctlHex, prctlHex, prctlHex},
	unix.PR_SET_SECCOMP:          {prctlEnum("seccomp_mode"), prctlProgram},
	unix.PR_CAP_AMBIENT:          {prctlEnum("ambient"), (*printer).capability, prctlHex, prctlHex},
	unix.PR_SET_MM:               {prctlEnum("pr_mm"), prctlHex, prctlHex, prctlHex},
	unix.PR_SET_VMA:              {prctlEnum("pr_vma"), prctlAddr, prctlUint, prctlText},
	unix.PR_SET_PTRACER:          {prctlPid},
	unix.PR_MCE_KILL:             {prctlHex, prctlHex, prctlHex, prctlHex},
	unix.PR_SET_THP_DISABLE:      {prctlHex, prctlHex, prctlHex, prctlHex},
	unix.PR_GET_SPECULATION_CTRL: {prctlHex, prctlHex, prctlHex, prctlHex},
}

func prctlUint(p *printer, v uint64) { p.udec(v) }
func prctlHex(p *printer, v uint64)  { p.hex(v) }
func prctlAddr(p *printer, v uint64) { p.addr(v) }

func prctlName(p *printer, v uint64)   { p.cstring(v, 15) } // TASK_COMM_LEN less the NUL
func prctlText(p *printer, v uint64)   { p.cstring(v, p.stringLimit()) }
func prctlSignal(p *printer, v uint64) { p.str(SignalName(int(int32(v)))) }

// prctlPid prints who may trace a process.
func prctlPid(p *printer, v uint64) {
	if int64(v) == -1 {
		p.str("PR_SET_PTRACER_ANY")
	} else {
		p.dec(int64(int32(v)))
	}
}

func prctlProgram(p *printer, v uint64) {
	if p.call.Args[1] == unix.SECCOMP_MODE_FILTER {
		p.program(v)
	} else {
		p.hex(v)
	}
}

func prctlEnum(set string) func(p *printer, v uint64) {
	return func(p *printer, v uint64) { p.printName(rareFlags[set], v) }
}

func prctlFlags(set string) func(p *printer, v uint64) {
	return func(p *printer, v uint64) { p.printSet(rareFlags[set], v) }
}

// printPrctl prints the argument of prctl in the register.
func printPrctl(p *printer, a *argument, v uint64) bool {
	i := a.register - 1
	words, known := prctlArgs[uint64(uint32(p.call.Args[0]))]
	switch {
	case !known:
		p.hex(v)
	case i >= len(words):
		return false
	default:
		words[i](p, v)
	}
	return true
}

// program prints struct sock_fprog (include/uapi/linux/filter.h): the length of a program of a socket's or of
// seccomp's filter, and its instructions if structures are to be whole.
func (p *printer) program(v uint64) {
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
		p.list(&argument{}, u64(b, 8), min(n, unix.BPF_MAXINSNS), 8, p.instruction)
	} else {
		p.addr(u64(b, 8))
	}
	p.str("}")
}

// instruction prints struct sock_filter in numbers.
func (p *printer) instruction(b []byte) {
	p.str("{code=")
	p.hex(uint64(order.Uint16(b)))
	p.str(", jt=")
	p.udec(uint64(b[2]))
	p.str(", jf=")
	p.udec(uint64(b[3]))
	p.str(", k=")
	p.hex(uint64(u32(b, 4)))
	p.str("}")
}

// printSeccompFlags and printSeccompArg print what seccomp(2) takes behind its operation.
func printSeccompFlags(p *printer, _ *argument, v uint64) bool {
	if uint32(p.call.Args[0]) == unix.SECCOMP_SET_MODE_FILTER {
		p.printSet(rareFlags["seccomp_filter"], uint64(uint32(v)))
	} else {
		p.hex(uint64(uint32(v)))
	}
	return true
}

func printSeccompArg(p *printer, _ *argument, v uint64) bool {
	switch uint32(p.call.Args[0]) {
	case unix.SECCOMP_SET_MODE_FILTER:
		p.program(v)
		return true
	case unix.SECCOMP_GET_ACTION_AVAIL:
		if b := p.peek(v, 4); b != nil {
			p.str("[")
			p.printName(rareFlags["seccomp_action"], uint64(u32(b, 0)))
			p.str("]")
			return true
		}
	case unix.SECCOMP_GET_NOTIF_SIZES:
		if b := p.peek(v, 6); b != nil && !p.call.Failed {
			p.str("{seccomp_notif=")
			p.udec(uint64(order.Uint16(b)))
			p.str(", seccomp_notif_resp=")
			p.udec(uint64(order.Uint16(b[2:])))
			p.str(", seccomp_data=")
			p.udec(uint64(order.Uint16(b[4:])))
			p.str("}")
			return true
		}
	}
	p.addr(v)
	return true
}

// prctlResult names what some operations return.
func prctlResult(p *printer, v int64) {
	set := ""
	switch uint32(p.call.Args[0]) {
	case unix.PR_GET_DUMPABLE:
		set = "dumpable"
	case unix.PR_GET_SECCOMP:
		set = "seccomp_mode"
	case unix.PR_GET_SECUREBITS:
		if v != 0 {
			p.hex(uint64(v))
			p.str(" (")
			p.printSet(rareFlags["securebits"], uint64(v))
			p.str(")")
			return
		}
	}
	p.dec(v)
	if set != "" && slices.ContainsFunc(rareFlags[set].flags, func(f flag) bool { return f.value == v }) {
		p.str(" (")
		p.printName(rareFlags[set], uint64(v))
		p.str(")")
	}
}
