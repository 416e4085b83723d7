package decode

import "golang.org/x/sys/unix"

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
	if b := p.read(a, v, 144); b != nil {
		p.structure(structures["rusage"], b)
	}
	return true
}

// printUtsname prints struct new_utsname: six strings of 65 bytes.
func printUtsname(p *printer, a *argument, v uint64) bool {
	if b := p.read(a, v, 6*65); b != nil {
		sep := "{"
		for i, name := range []string{"sysname", "nodename", "release", "version", "machine", "domainname"} {
			if i == 2 && !p.call.Whole {
				p.str(", ...")
				break
			}
			p.str(sep + name + "=")
			p.cstring(v+uint64(65*i), 64)
			sep = ", "
		}
		p.str("}")
	}
	return true
}

// printDeviceNumber prints the number of a device.
func printDeviceNumber(p *printer, _ *argument, v uint64) bool {
	p.device(uint64(uint32(v)))
	return true
}

// printSyslog prints the number of an action of syslog(2) with its name.
func printSyslog(p *printer, _ *argument, v uint64) bool {
	p.dec(int64(int32(v)))
	p.str(" /* ")
	p.name(rareFlags["syslog"], uint64(uint32(v)), "SYSLOG_ACTION_???")
	p.str(" */")
	return true
}

// printSyslogArg prints a buffer and its length, which some actions have.
func printSyslogArg(p *printer, a *argument, v uint64) bool {
	const read, readClear, level = 2, 4, 8
	action := uint32(p.call.Args[0])
	switch {
	case action >= read && action <= readClear:
		if a.register == 1 {
			a := *a
			a.output = true
			return printBuf(p, &a, v)
		}
	case action <= 10 && action != level:
		return false
	case a.register == 1:
		p.addr(v)
		return true
	case action == level:
		p.logLevel(int32(v))
		return true
	}
	p.dec(int64(int32(v)))
	return true
}

// timeResult adds the date.
func timeResult(p *printer, v int64) {
	p.dec(v)
	start := len(p.buf)
	if p.date(v, 0); len(p.buf) > start {
		text := string(p.buf[start+len(" /* ") : len(p.buf)-len(" */")])
		p.buf = p.buf[:start]
		p.str(" (" + text + ")")
	}
}
