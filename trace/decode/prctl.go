package decode

import (
	"bytes"

	"golang.org/x/sys/unix"
)

// word prints one argument of an operation of prctl.
type word = func(p *printer, v uint64)

// prctlArgs are what the operations of prctl take behind their number, word by word; a missing word is
// not an argument of the operation. What is not in it takes four numbers.
var prctlArgs = map[uint64][]word{
	unix.PR_SET_NAME:                  {prctlComm},
	unix.PR_GET_NAME:                  {prctlName},
	unix.PR_SET_PDEATHSIG:             {prctlSignal},
	unix.PR_GET_PDEATHSIG:             {prctlInt(func(p *printer, v uint64) { p.str(SignalName(int(int32(v)))) })},
	unix.PR_SET_KEEPCAPS:              {prctlUint},
	unix.PR_GET_KEEPCAPS:              {},
	unix.PR_SET_DUMPABLE:              {prctlEnum("dumpable")},
	unix.PR_GET_DUMPABLE:              {},
	unix.PR_SET_CHILD_SUBREAPER:       {prctlUint},
	unix.PR_GET_CHILD_SUBREAPER:       {prctlInt(prctlUint)},
	unix.PR_SET_ENDIAN:                {prctlUint},
	unix.PR_GET_ENDIAN:                {prctlInt(prctlUint)},
	unix.PR_SET_FPEMU:                 {prctlUint},
	unix.PR_GET_FPEMU:                 {prctlInt(prctlUint)},
	unix.PR_SET_FPEXC:                 {prctlUint},
	unix.PR_GET_FPEXC:                 {prctlInt(prctlUint)},
	unix.PR_SET_TIMING:                {prctlUint},
	unix.PR_GET_TIMING:                {},
	unix.PR_CAPBSET_READ:              {(*printer).capability},
	unix.PR_CAPBSET_DROP:              {(*printer).capability},
	unix.PR_SET_SECUREBITS:            {prctlFlag("securebits")},
	unix.PR_GET_SECUREBITS:            {},
	unix.PR_SET_TIMERSLACK:            {func(p *printer, v uint64) { p.dec(int64(v)) }},
	unix.PR_GET_TIMERSLACK:            {},
	unix.PR_TASK_PERF_EVENTS_ENABLE:   {},
	unix.PR_TASK_PERF_EVENTS_DISABLE:  {},
	unix.PR_GET_SECCOMP:               {},
	unix.PR_GET_TID_ADDRESS:           {prctlAddress},
	unix.PR_GET_TSC:                   {prctlInt(prctlEnum("pr_tsc"))},
	unix.PR_SET_TSC:                   {narrow(prctlEnum("pr_tsc"))},
	unix.PR_GET_UNALIGN:               {prctlInt(prctlFlag("pr_unalign"))},
	unix.PR_SET_UNALIGN:               {narrow(prctlFlag("pr_unalign"))},
	unix.PR_GET_FP_MODE:               {},
	unix.PR_SET_FP_MODE:               {narrow(prctlFlag("pr_fp_mode"))},
	unix.PR_SVE_SET_VL:                {prctlVector("pr_sve")},
	unix.PR_SVE_GET_VL:                {},
	unix.PR_SME_SET_VL:                {prctlVector("pr_sme")},
	unix.PR_SME_GET_VL:                {},
	unix.PR_SET_NO_NEW_PRIVS:          {prctlUint, prctlHex, prctlHex, prctlHex},
	unix.PR_SET_THP_DISABLE:           {prctlUint, prctlHex, prctlHex, prctlHex},
	unix.PR_SET_IO_FLUSHER:            {prctlUint, prctlHex, prctlHex, prctlHex},
	unix.PR_CAP_AMBIENT:               {prctlEnum("ambient"), prctlAmbient, prctlHex, prctlHex},
	unix.PR_SET_MM:                    {narrow(prctlEnum("pr_mm")), prctlHex, prctlHex, prctlHex},
	unix.PR_SET_VMA:                   {prctlEnum("pr_vma"), forVMA(prctlAddr), forVMA(prctlUint), forVMA(prctlText)},
	unix.PR_SET_PTRACER:               {prctlPid},
	unix.PR_MCE_KILL:                  {prctlEnum("pr_mce"), prctlIf(unix.PR_MCE_KILL_SET, prctlEnum("pr_mce_policy")), prctlHex, prctlHex},
	unix.PR_GET_SPECULATION_CTRL:      {prctlEnum("pr_spec")},
	unix.PR_SET_SPECULATION_CTRL:      {prctlEnum("pr_spec"), prctlSpeculation},
	unix.PR_PAC_RESET_KEYS:            {prctlFlag("pr_pac_all"), prctlHex, prctlHex, prctlHex},
	unix.PR_PAC_SET_ENABLED_KEYS:      {prctlFlag("pr_pac"), prctlFlag("pr_pac"), prctlHex, prctlHex},
	unix.PR_SET_TAGGED_ADDR_CTRL:      {(*printer).taggedAddr, prctlHex, prctlHex, prctlHex},
	unix.PR_SET_SYSCALL_USER_DISPATCH: {prctlEnum("pr_dispatch"), prctlHex, prctlHex, prctlAddr},
	unix.PR_SCHED_CORE:                {narrow(prctlEnum("pr_sched_core")), prctlProcess, prctlPidType, prctlCookie},
}

// prctlGets tells the operations whose second argument the kernel fills in.
func prctlGets(operation uint64) bool {
	switch uint32(operation) {
	case unix.PR_GET_NAME, unix.PR_GET_PDEATHSIG, unix.PR_GET_CHILD_SUBREAPER, unix.PR_GET_ENDIAN, unix.PR_GET_FPEMU, unix.PR_GET_FPEXC,
		unix.PR_GET_TID_ADDRESS, unix.PR_GET_TSC, unix.PR_GET_UNALIGN:
		return true
	}
	return false
}

func prctlUint(p *printer, v uint64) { p.udec(v) }
func prctlHex(p *printer, v uint64)  { p.hex(v) }
func prctlAddr(p *printer, v uint64) { p.addr(v) }
func prctlText(p *printer, v uint64) { p.cstring(v, p.stringLimit()) }

const commLength = 16 // TASK_COMM_LEN

// prctlComm prints the name that a thread gets, of which the kernel reads no more.
func prctlComm(p *printer, v uint64) { p.field(v, commLength-1) }

// prctlName prints the name that a thread has.
func prctlName(p *printer, v uint64) {
	if b := p.read(&argument{output: true}, v, commLength); b != nil {
		name, _, _ := bytes.Cut(b, []byte{0})
		p.quote(name)
	}
}

func prctlSignal(p *printer, v uint64) {
	if v > 128 {
		p.udec(v)
	} else {
		p.str(SignalName(int(v)))
	}
}

// prctlInt prints what the kernel has put where an argument points to.
func prctlInt(show word) word {
	return func(p *printer, v uint64) {
		if b := p.read(&argument{output: true}, v, 4); b != nil {
			p.str("[")
			show(p, uint64(u32(b, 0)))
			p.str("]")
		}
	}
}

func prctlAddress(p *printer, v uint64) { printAddrP(p, &argument{output: true}, v) }

// narrow is for an argument of which the kernel takes 32 bits.
func narrow(show word) word { return func(p *printer, v uint64) { show(p, uint64(uint32(v))) } }

// prctlIf is for an argument that one second argument alone has.
func prctlIf(second uint64, show word) word {
	return func(p *printer, v uint64) {
		if p.call.Args[1] == second {
			show(p, v)
		} else {
			p.hex(v)
		}
	}
}

func forVMA(show word) word { return prctlIf(unix.PR_SET_VMA_ANON_NAME, show) }

func prctlAmbient(p *printer, v uint64) {
	switch p.call.Args[1] {
	case unix.PR_CAP_AMBIENT_IS_SET, unix.PR_CAP_AMBIENT_RAISE, unix.PR_CAP_AMBIENT_LOWER:
		p.capability(v)
	default:
		p.hex(v)
	}
}

func prctlSpeculation(p *printer, v uint64) {
	if p.call.Args[1] <= unix.PR_SPEC_L1D_FLUSH {
		p.printLongName(prctlFlags["pr_spec_set"], v)
	} else {
		p.hex(v)
	}
}

// prctlVector prints the length of vector registers, which flags stand above.
func prctlVector(set string) word {
	return func(p *printer, v uint64) { p.vector(prctlFlags[set], v) }
}

func (p *printer) vector(set *flagSet, v uint64) {
	const length = unix.PR_SVE_VL_LEN_MASK // and PR_SME_VL_LEN_MASK
	if flags := v &^ length; flags&set.all() != 0 {
		p.printSet(set, flags)
		p.str("|")
	} else if flags != 0 {
		p.hex(flags)
		p.str("|")
	}
	p.hex(v & length)
}

// taggedAddr prints how addresses may be tagged.
func (p *printer) taggedAddr(v uint64) {
	if v&unix.PR_TAGGED_ADDR_ENABLE == 0 {
		p.str("!")
	}
	p.str("PR_TAGGED_ADDR_ENABLE|")
	p.printName(prctlFlags["pr_mte_tcf"], v&unix.PR_MTE_TCF_MASK)
	if tag := v & unix.PR_MTE_TAG_MASK; tag != 0 {
		p.str("|")
		p.hex(tag >> unix.PR_MTE_TAG_SHIFT)
		p.str("<<PR_MTE_TAG_SHIFT")
	}
	if rest := v &^ (unix.PR_TAGGED_ADDR_ENABLE | unix.PR_MTE_TCF_MASK | unix.PR_MTE_TAG_MASK); rest != 0 {
		p.str("|")
		p.hex(rest)
	}
}

func prctlProcess(p *printer, v uint64) { p.dec(int64(int32(v))) }

// prctlPidType prints a number with its name beside it.
func prctlPidType(p *printer, v uint64) {
	p.hex(uint64(uint32(v)))
	p.str(" /* ")
	p.name(prctlFlags["pid_type"], uint64(uint32(v)), "PIDTYPE_???")
	p.str(" */")
}

// prctlCookie prints the cookie of a group of core scheduling, which one operation gets.
func prctlCookie(p *printer, v uint64) {
	if uint32(p.call.Args[1]) == unix.PR_SCHED_CORE_GET {
		printAddrP(p, &argument{output: true}, v)
	} else {
		p.addr(v)
	}
}

// prctlPid prints who may trace a process.
func prctlPid(p *printer, v uint64) {
	if int32(v) == -1 {
		p.str("PR_SET_PTRACER_ANY")
	} else {
		p.dec(int64(int32(v)))
	}
}

func prctlEnum(set string) word {
	return func(p *printer, v uint64) { p.printLongName(flagSets()[set], v) }
}

func prctlFlag(set string) word {
	return func(p *printer, v uint64) { p.printSet(prctlFlags[set], v) }
}

// seccompArgs are what PR_SET_SECCOMP takes, by the mode.
func seccompArgs(mode uint64) []word {
	switch mode {
	case unix.SECCOMP_MODE_STRICT:
		return []word{prctlEnum("seccomp_mode")}
	case unix.SECCOMP_MODE_FILTER:
		return []word{prctlEnum("seccomp_mode"), (*printer).seccompProgram}
	}
	return []word{prctlEnum("seccomp_mode"), prctlHex, prctlHex, prctlHex}
}

// printPrctl prints the argument of prctl in the register.
func printPrctl(p *printer, a *argument, v uint64) bool {
	i := a.register - 1
	words, known := prctlArgs[uint64(uint32(p.call.Args[0]))]
	if uint32(p.call.Args[0]) == unix.PR_SET_SECCOMP {
		words, known = seccompArgs(p.call.Args[1]), true
	}
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
		p.seccompProgram(v)
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

// prctlResults name what some operations return.
var prctlResults = map[uint32]word{
	unix.PR_GET_SECUREBITS: prctlFlag("securebits"), unix.PR_GET_FP_MODE: prctlFlag("pr_fp_mode"),
	unix.PR_SVE_GET_VL: prctlVector("pr_sve"), unix.PR_SVE_SET_VL: prctlVector("pr_sve"),
	unix.PR_SME_GET_VL: prctlVector("pr_sme"), unix.PR_SME_SET_VL: prctlVector("pr_sme"),
	unix.PR_GET_SPECULATION_CTRL: prctlFlag("pr_spec_control"), unix.PR_GET_TAGGED_ADDR_CTRL: (*printer).taggedAddr,
	unix.PR_PAC_GET_ENABLED_KEYS: prctlFlag("pr_pac"),
}

func prctlResult(p *printer, v int64) {
	operation := uint32(p.call.Args[0])
	set := map[uint32]string{unix.PR_GET_DUMPABLE: "dumpable", unix.PR_MCE_KILL_GET: "pr_mce_policy"}[operation]
	if name := prctlFlags[set]; name != nil && name.has(uint32(v)) {
		p.dec(v)
		p.str(" (")
		p.printName(name, uint64(v))
		p.str(")")
		return
	}
	show := prctlResults[operation]
	if show == nil || v == 0 && operation != unix.PR_GET_TAGGED_ADDR_CTRL && operation != unix.PR_GET_SPECULATION_CTRL {
		p.dec(v)
		return
	}
	p.hex(uint64(v))
	p.str(" (")
	show(p, uint64(v))
	p.str(")")
}
