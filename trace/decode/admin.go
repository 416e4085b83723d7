package decode

// Calls that administer a system.

// printPersonality prints an execution domain: a number, and flags above it. All ones ask for the present one.
func printPersonality(p *printer, _ *argument, v uint64) bool {
	if uint32(v) == ^uint32(0) {
		p.hex(uint64(uint32(v)))
	} else {
		p.personality(uint64(uint32(v)))
	}
	return true
}

func (p *printer) personality(v uint64) {
	const domain = 0xff // PER_MASK
	p.printName(rareFlags["personality"], v&domain)
	flags := rareFlags["personality_flags"]
	if rest := v &^ domain; rest&flags.all() != 0 {
		p.str("|")
		p.printSet(flags, rest)
	} else if rest != 0 {
		p.str("|")
		p.hex(rest)
	}
}

func personalityResult(p *printer, v int64) {
	p.hex(uint64(v))
	p.str(" (")
	p.personality(uint64(v))
	p.str(")")
}

// printSwapFlags prints flags, and the priority below them.
func printSwapFlags(p *printer, _ *argument, v uint64) bool {
	const priority = 0x7fff // SWAP_FLAG_PRIO_MASK
	v = uint64(uint32(v))
	if flags := v &^ priority; flags != 0 {
		p.printSet(rareFlags["swap"], flags)
		p.str("|")
	}
	p.udec(v & priority)
	return true
}

// printRebootArg prints the command of LINUX_REBOOT_CMD_RESTART2.
func printRebootArg(p *printer, _ *argument, v uint64) bool {
	const restart = 0xa1b2c3d4
	if uint32(p.call.Args[2]) != restart {
		return false
	}
	p.field(v, 255)
	return true
}

// logLevel adds the name of a level of the kernel's messages to its number.
func (p *printer) logLevel(v int32) {
	p.dec(int64(v))
	p.str(" /* ")
	p.name(rareFlags["loglevel"], uint64(uint32(v)), "LOGLEVEL_???")
	p.str(" */")
}

// printQuota and printQuotaArg print a command of quotactl(2) and a type of quota, which are one number, and what the
// command has behind it: not all have an id and an address.
func printQuota(p *printer, _ *argument, v uint64) bool {
	p.str("QCMD(")
	p.printName(rareFlags["quota"], uint64(uint32(v)>>8))
	p.str(", ")
	p.printName(rareFlags["quota_type"], v&0xff)
	p.str(")")
	return true
}

// The commands that have no id, and those that have no address either.
const (
	quotaSync, quotaOn, quotaOff, quotaFormat, quotaGetInfo, quotaSetInfo = 0x800001, 0x800002, 0x800003, 0x800004, 0x800005, 0x800006

	quotaXSync, quotaXOn, quotaXOff, quotaXState, quotaXStates = 0x5807, 0x5801, 0x5802, 0x5805, 0x5808
)

// printQuotaArg prints the third or fourth argument; a.number is where the command is.
func printQuotaArg(p *printer, a *argument, v uint64) bool {
	command := uint32(p.call.Args[a.number]) >> 8
	id := a.register == 2
	switch command {
	case quotaSync, quotaOff, quotaXSync:
		return false
	case quotaFormat, quotaGetInfo, quotaSetInfo, quotaXOn, quotaXOff, quotaXState, quotaXStates:
		if id {
			return false
		}
	case quotaOn:
		if id {
			p.printName(rareFlags["quota_format"], v)
			return true
		}
		return printPath(p, a, v)
	}
	if id {
		p.id(uint32(v))
		return true
	}
	return printAddr(p, a, v)
}

// printSignalFrame prints the mask of signals that the thread gets back: it is on the stack, in the struct ucontext that
// the handler got (include/uapi/asm-generic/ucontext.h and arch/*/kernel/signal*.c).
func printSignalFrame(p *printer, _ *argument, _ uint64) bool {
	b := p.peek(p.call.SP+signalMaskAt, 8)
	if b == nil {
		return false
	}
	p.str("{mask=")
	p.sigset(u64(b, 0))
	p.str("}")
	return true
}
