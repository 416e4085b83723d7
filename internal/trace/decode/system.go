package decode

import "golang.org/x/sys/unix"

func printIpcKey(p *printer, _ *argument, v uint64) bool {
	if int32(v) == 0 {
		p.str("IPC_PRIVATE")
	} else {
		p.hex(uint64(uint32(v)))
	}
	return true
}

// printIpcFlags prints flags whose lowest nine bits are permissions.
func printIpcFlags(p *printer, a *argument, v uint64) bool {
	v = uint64(uint32(v))
	if flags := v &^ 0o777; flags != 0 {
		p.printSet(a.flags, flags)
		p.str("|")
	}
	p.mode(uint32(v) & 0o777)
	return true
}

// printRebootArg prints the string of the one command that has one.
func printRebootArg(p *printer, a *argument, v uint64) bool {
	if uint32(p.call.Args[2]) != unix.LINUX_REBOOT_CMD_RESTART2 {
		return false
	}
	return printPath(p, a, v)
}

func (p *printer) limit(v uint64) {
	switch {
	case v == unix.RLIM_INFINITY:
		p.str("RLIM64_INFINITY")
	case v > 1024 && v%1024 == 0:
		p.udec(v / 1024)
		p.str("*1024")
	default:
		p.udec(v)
	}
}

func printRlimit(p *printer, a *argument, v uint64) bool {
	if b := p.read(a, v, 16); b != nil {
		p.str("{rlim_cur=")
		p.limit(u64(b, 0))
		p.str(", rlim_max=")
		p.limit(u64(b, 8))
		p.str("}")
	}
	return true
}

func printRusage(p *printer, a *argument, v uint64) bool {
	if p.call.Name == "wait4" && p.call.Ret <= 0 { // no child, no usage
		p.addr(v)
		return true
	}
	if b := p.read(a, v, 32); b != nil {
		p.str("{ru_utime=")
		p.timeval(b)
		p.str(", ru_stime=")
		p.timeval(b[16:])
		p.str(", ...}")
	}
	return true
}

// printUtsname prints struct new_utsname: six strings of 65 bytes.
func printUtsname(p *printer, a *argument, v uint64) bool {
	if b := p.read(a, v, 6*65); b != nil {
		p.str("{sysname=")
		p.cstring(v, 64)
		p.str(", nodename=")
		p.cstring(v+65, 64)
		p.str(", ...}")
	}
	return true
}

// printSysinfo prints struct sysinfo (include/uapi/linux/sysinfo.h).
func printSysinfo(p *printer, a *argument, v uint64) bool {
	b := p.read(a, v, 112)
	if b == nil {
		return true
	}
	member := func(name string, value uint64) {
		p.str(name + "=")
		p.udec(value)
	}
	member("{uptime", u64(b, 0))
	p.str(", loads=[")
	for i := range 3 {
		if i > 0 {
			p.str(", ")
		}
		p.udec(u64(b, 8+8*i))
	}
	p.str("]")
	for i, name := range []string{"totalram", "freeram", "sharedram", "bufferram", "totalswap", "freeswap"} {
		member(", "+name, u64(b, 32+8*i))
	}
	member(", procs", uint64(order.Uint16(b[80:])))
	member(", totalhigh", u64(b, 88))
	member(", freehigh", u64(b, 96))
	member(", mem_unit", uint64(u32(b, 104)))
	p.str("}")
	return true
}
