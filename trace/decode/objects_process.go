package decode

import "golang.org/x/sys/unix"

// Structs of processes that are more than their members.

// printSigevent prints struct sigevent (include/uapi/asm-generic/siginfo.h), of which
// the way of notification decides what there is.
func printSigevent(p *printer, a *argument, v uint64) bool {
	b := p.read(a, v, 32) // what is behind is padding
	if b == nil {
		return true
	}
	p.str("{")
	if u64(b, 0) != 0 {
		p.str("sigev_value={sival_int=")
		p.int32(b)
		p.str(", sival_ptr=")
		p.addr(u64(b, 0))
		p.str("}, ")
	}
	const none, thread, threadID = 1, 2, 4
	notify := u32(b, 12)
	p.str("sigev_signo=")
	if notify == none {
		p.udec(uint64(u32(b, 8)))
	} else if name := SignalName(int(int32(u32(b, 8)))); name[0] == 'S' {
		p.str(name)
	} else {
		p.udec(uint64(u32(b, 8)))
	}
	p.str(", sigev_notify=")
	p.printName(rareFlags["sigev"], uint64(notify))
	switch notify {
	case threadID:
		p.str(", sigev_notify_thread_id=")
		p.int32(b[16:])
	case thread:
		p.str(", sigev_notify_function=")
		p.addr(u64(b, 16))
		p.str(", sigev_notify_attributes=")
		p.addr(u64(b, 24))
	}
	p.str("}")
	return true
}

// printSchedAttr prints struct sched_attr (include/uapi/linux/sched/types.h), which says
// its own size.
func printSchedAttr(p *printer, a *argument, v uint64) bool {
	head := p.read(a, v, 4)
	if head == nil {
		return true
	}
	size := u32(head, 0)
	if a.output {
		size = min(size, uint32(p.call.Args[2]))
	}
	const least, hinted = 48, 56
	if size != 0 && size < least {
		p.str("{size=")
		p.udec(uint64(size))
		p.str("}")
		return true
	}
	b := p.read(a, v, least)
	if b == nil {
		return true
	}
	p.str("{size=")
	p.udec(uint64(u32(b, 0)))
	const keepPolicy, keepParams = 0x8, 0x10
	flags := u64(b, 8)
	if a.output || int32(u32(b, 4)) < 0 || flags&(keepPolicy|keepParams) == 0 { // what is kept is not read
		p.str(", sched_policy=")
		p.printName(processFlags["sched"], uint64(u32(b, 4)))
	}
	p.str(", sched_flags=")
	p.printSet(rareFlags["sched_flags"], flags)
	if a.output || flags&keepParams == 0 {
		p.str(", sched_nice=")
		p.int32(b[16:])
		p.str(", sched_priority=")
		p.udec(uint64(u32(b, 20)))
		for i, name := range []string{"sched_runtime", "sched_deadline", "sched_period"} {
			p.str(", " + name + "=")
			p.udec(u64(b, 24+8*i))
		}
	}
	if size >= hinted {
		if more := p.read(a, v, hinted); more != nil {
			p.str(", sched_util_min=")
			p.udec(uint64(u32(more, 48)))
			p.str(", sched_util_max=")
			p.udec(uint64(u32(more, 52)))
		}
	}
	if size > hinted {
		p.str(", ...")
	}
	p.str("}")
	return true
}

// capabilities are the names of the capabilities by their numbers (include/uapi/linux/capability.h).
var capabilities = []string{
	"CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP", "LINUX_IMMUTABLE",
	"NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER", "SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT",
	"SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE", "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE",
	"AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP", "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ",
	"PERFMON", "BPF", "CHECKPOINT_RESTORE",
}

// capability prints the number of a capability by its name.
func (p *printer) capability(v uint64) {
	if v < uint64(len(capabilities)) {
		p.str("CAP_" + capabilities[v])
		return
	}
	p.hex(v)
	p.str(" /* CAP_??? */")
}

// capabilitySet prints a mask of capabilities.
func (p *printer) capabilitySet(v uint64) {
	sep := ""
	for i, name := range capabilities {
		if v>>i&1 != 0 {
			p.str(sep + "1<<CAP_" + name)
			sep, v = "|", v&^(1<<i)
		}
	}
	if v != 0 || sep == "" {
		p.str(sep)
		p.hex(v)
		if sep == "" && v != 0 {
			p.str(" /* CAP_??? */")
		}
	}
}

// printCapData prints the sets of capget and capset: one struct of three words, or two in the versions
// that have more than 32 capabilities, where the second has the upper halves.
func printCapData(p *printer, a *argument, v uint64) bool {
	version := uint64(unix.LINUX_CAPABILITY_VERSION_1)
	if b := p.peek(p.call.Args[0], 4); b != nil {
		version = uint64(u32(b, 0))
	}
	size := 12
	if version == unix.LINUX_CAPABILITY_VERSION_2 || version == unix.LINUX_CAPABILITY_VERSION_3 {
		size = 24
	}
	b := p.read(a, v, size)
	if b == nil {
		return true
	}
	for i, name := range []string{"{effective=", ", permitted=", ", inheritable="} {
		p.str(name)
		set := uint64(u32(b, 4*i))
		if size == 24 {
			set |= uint64(u32(b, 12+4*i)) << 32
		}
		p.capabilitySet(set)
	}
	p.str("}")
	return true
}

// printRing prints struct io_uring_params (include/uapi/linux/io_uring.h): what the program asks for, and
// what the kernel has answered.
func printRing(p *printer, a *argument, v uint64) bool {
	b := p.read(&argument{}, v, 120)
	if b == nil {
		return true
	}
	const setupAttach = 1 << 5
	flags := u32(b, 8)
	p.str("{flags=")
	p.printSet(rareFlags["ring_setup"], uint64(flags))
	p.str(", sq_thread_cpu=")
	p.hex(uint64(u32(b, 12)))
	p.str(", sq_thread_idle=")
	p.udec(uint64(u32(b, 16)))
	if !p.call.Failed {
		p.str(", sq_entries=")
		p.udec(uint64(u32(b, 0)))
		p.str(", cq_entries=")
		p.udec(uint64(u32(b, 4)))
		p.str(", features=")
		p.printSet(rareFlags["ring_features"], uint64(u32(b, 20)))
	}
	if flags&setupAttach != 0 {
		p.str(", wq_fd=")
		p.fdElement(b[24:])
	}
	if u32(b, 28)|u32(b, 32)|u32(b, 36) != 0 {
		p.str(", resv=[")
		for i := range 3 {
			if i > 0 {
				p.str(", ")
			}
			p.hex(uint64(u32(b, 28+4*i)))
		}
		p.str("]")
	}
	if !p.call.Failed {
		p.str(", sq_off=")
		p.structure(structures["sq_off"], b[40:])
		p.str(", cq_off=")
		p.structure(structures["cq_off"], b[80:])
	}
	p.str("}")
	return true
}

// printMqAttr prints the attributes of a queue that mq_open makes.
func printMqAttr(p *printer, a *argument, v uint64) bool {
	if p.call.Args[1]&unix.O_CREAT == 0 {
		return false
	}
	if b := p.read(a, v, structures["mq_attr"].size); b != nil {
		p.structure(structures["mq_attr"], b)
	}
	return true
}

// printKeyring prints the number of a keyring, or the name that stands for one.
func printKeyring(p *printer, _ *argument, v uint64) bool {
	if v := int32(v); v < 0 && v >= -8 {
		p.printName(rareFlags["keyring"], uint64(v))
	} else {
		p.dec(int64(v))
	}
	return true
}

// printSembuf prints the operations of semop.
func printSembuf(p *printer, a *argument, v uint64) bool {
	p.list(a, v, uint64(uint32(p.call.Args[a.number])), 6, func(b []byte) {
		p.str("{sem_num=")
		p.udec(uint64(order.Uint16(b)))
		p.str(", sem_op=")
		p.dec(int64(int16(order.Uint16(b[2:]))))
		p.str(", sem_flg=")
		p.printSet(rareFlags["sem"], uint64(order.Uint16(b[4:])))
		p.str("}")
	})
	return true
}

// printResidency prints which pages mincore has found in memory.
func printResidency(p *printer, a *argument, v uint64) bool {
	const page = 4096
	p.list(a, v, (p.call.Args[1]+page-1)/page, 1, func(b []byte) { p.udec(uint64(b[0] & 1)) })
	return true
}
