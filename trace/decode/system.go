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
