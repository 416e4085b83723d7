package decode

import "golang.org/x/sys/unix"

// unlimited says that all of the content is to be printed.
const unlimited = ^uint64(0)

// iovecs prints an array of struct iovec, of the content at most total bytes.
func (p *printer) iovecs(a *argument, addr, n, total uint64) {
	p.list(a, addr, n, 16, func(b []byte) {
		base, size := u64(b, 0), u64(b, 8)
		p.str("{iov_base=")
		shown := min(size, total)
		if total != unlimited {
			total -= shown
		}
		if shown == 0 && size > 0 {
			p.str(`""`)
		} else {
			p.bytes(base, shown)
		}
		p.str(", iov_len=")
		p.udec(size)
		p.str("}")
	})
}

func printIovec(p *printer, a *argument, v uint64) bool {
	p.iovecs(a, v, p.call.Args[a.number], unlimited)
	return true
}

// printIovecOut prints as much of the content as the call returned.
func printIovecOut(p *printer, a *argument, v uint64) bool {
	if p.call.Failed {
		return printIovecRaw(p, &argument{number: a.number}, v)
	}
	p.iovecs(a, v, p.call.Args[a.number], uint64(p.call.Ret))
	return true
}

// printIovecRaw prints addresses instead of content.
func printIovecRaw(p *printer, a *argument, v uint64) bool {
	p.list(a, v, p.call.Args[a.number], 16, func(b []byte) {
		p.str("{iov_base=")
		p.addr(u64(b, 0))
		p.str(", iov_len=")
		p.udec(u64(b, 8))
		p.str("}")
	})
	return true
}

// printFcntlArg prints what a command of fcntl takes, if it takes anything.
func printFcntlArg(p *printer, _ *argument, v uint64) bool {
	switch uint32(p.call.Args[1]) {
	case unix.F_GETFD, unix.F_GETFL, unix.F_GETOWN, unix.F_GETSIG, unix.F_GETLEASE, unix.F_GETPIPE_SZ, unix.F_GET_SEALS:
		return false
	case unix.F_DUPFD, unix.F_DUPFD_CLOEXEC, unix.F_SETOWN, unix.F_SETPIPE_SZ:
		p.dec(int64(int32(v)))
	case unix.F_SETFD:
		p.printSet(fileFlags["fd"], v)
	case unix.F_SETFL:
		p.openFlags(uint64(uint32(v)))
	case unix.F_SETOWN_EX:
		if b := p.read(&argument{}, v, 8); b != nil {
			p.structure(structures["owner"], b)
		}
	case unix.F_ADD_SEALS:
		p.printSet(rareFlags["seals"], v)
	case unix.F_SETLEASE:
		p.printName(fileFlags["locktype"], v)
	case unix.F_NOTIFY:
		p.printSet(rareFlags["dnotify"], v)
	case unix.F_SETSIG:
		p.str(SignalName(int(v)))
	case unix.F_SETLK, unix.F_SETLKW, unix.F_OFD_SETLK, unix.F_OFD_SETLKW:
		p.flock(&argument{}, v)
	default:
		p.hex(v)
	}
	return true
}

func printFlock(p *printer, a *argument, v uint64) bool {
	p.flock(a, v)
	return true
}

// flock prints struct flock (include/uapi/asm-generic/fcntl.h).
func (p *printer) flock(a *argument, v uint64) {
	b := p.read(a, v, 32)
	if b == nil {
		return
	}
	p.str("{l_type=")
	p.printName(fileFlags["locktype"], uint64(order.Uint16(b[0:])))
	p.str(", l_whence=")
	p.printName(fileFlags["seek"], uint64(order.Uint16(b[2:])))
	p.str(", l_start=")
	p.dec(int64(u64(b, 8)))
	p.str(", l_len=")
	p.dec(int64(u64(b, 16)))
	if a.output {
		p.str(", l_pid=")
		p.int32(b[24:])
	}
	p.str("}")
}

func fcntlResult(p *printer, v int64) {
	switch {
	case uint32(p.call.Args[1]) == unix.F_GETFL:
		p.hex(uint64(v))
		p.str(" (flags ")
		p.openFlags(uint64(v))
		p.str(")")
	case uint32(p.call.Args[1]) == unix.F_GETFD && v != 0:
		p.hex(uint64(v))
		p.str(" (flags ")
		p.printSet(fileFlags["fd"], uint64(v))
		p.str(")")
	case uint32(p.call.Args[1]) == unix.F_GETLEASE:
		p.hex(uint64(v))
		p.str(" (")
		p.printName(fileFlags["locktype"], uint64(v))
		p.str(")")
	case uint32(p.call.Args[1]) == unix.F_GETSIG && v != 0:
		p.named(v, SignalName(int(v)))
	case uint32(p.call.Args[1]) == unix.F_DUPFD || uint32(p.call.Args[1]) == unix.F_DUPFD_CLOEXEC:
		p.fd(int32(v))
	default:
		p.dec(v)
	}
}

// events prints the revents or events of poll.
func (p *printer) events(v uint16) { p.printSet(fileFlags["poll"], uint64(v)) }

// pollfdSize is the size of struct pollfd.
const pollfdSize = 8

func printPollfd(p *printer, a *argument, v uint64) bool {
	p.list(a, v, uint64(uint32(p.call.Args[a.number])), pollfdSize, func(b []byte) {
		p.str("{fd=")
		p.fdElement(b)
		if int32(u32(b, 0)) >= 0 {
			p.str(", events=")
			p.events(order.Uint16(b[4:]))
		}
		p.str("}")
	})
	return true
}

// pollResult lists the descriptors that are ready and, for ppoll, the time that is
// left.
func pollResult(p *printer, v int64) {
	p.dec(v)
	if v == 0 {
		p.str(" (Timeout)")
		return
	}
	n := min(uint64(uint32(p.call.Args[1])), 1<<16)
	b := make([]byte, n*pollfdSize)
	if p.call.Mem.Read(p.call.Args[0], b) < len(b) {
		return
	}
	p.str(" ([")
	shown := 0
	for ; len(b) > 0; b = b[pollfdSize:] {
		revents := order.Uint16(b[6:])
		if revents == 0 {
			continue
		}
		if uint64(shown) == p.elements() {
			p.str(", ...")
			break
		}
		if shown++; shown > 1 {
			p.str(", ")
		}
		p.str("{fd=")
		p.int32(b)
		p.str(", revents=")
		p.events(revents)
		p.str("}")
	}
	p.str("]")
	if timeout := p.call.Args[2]; p.call.Name == "ppoll" && timeout != 0 {
		p.str(", left ")
		printTimespec(p, &argument{}, timeout)
	}
	p.str(")")
}

// fdSet returns the members of the set at addr, of descriptors below n.
func (p *printer) fdSet(addr, n uint64) ([]int64, bool) {
	if int32(n) < 0 {
		return nil, false
	}
	n = min(n, 1<<16)
	b := make([]byte, (n+63)/64*8)
	if addr == 0 || p.call.Mem.Read(addr, b) < len(b) {
		return nil, false
	}
	var fds []int64
	for i := range int64(n) {
		if b[i/8]>>(i%8)&1 != 0 {
			fds = append(fds, i)
		}
	}
	return fds, true
}

// fds prints a set of descriptors with the given function.
func (p *printer) fds(fds []int64, one func(fd int64)) {
	p.str("[")
	for i, fd := range fds {
		if uint64(i) == p.elements() {
			p.str(" ...")
			break
		}
		if i > 0 {
			p.str(" ")
		}
		one(fd)
	}
	p.str("]")
}

func printFdSet(p *printer, a *argument, v uint64) bool {
	if fds, ok := p.fdSet(v, uint64(uint32(p.call.Args[a.number]))); ok {
		p.fds(fds, func(fd int64) { p.fd(int32(fd)) })
	} else {
		p.addr(v)
	}
	return true
}

// selectResult lists the descriptors that are ready and, for select, the time
// that is left.
func selectResult(p *printer, v int64) {
	p.dec(v)
	if v == 0 {
		p.str(" (Timeout)")
		return
	}
	p.str(" (")
	sep := ""
	for i, name := range []string{"in ", "out ", "except "} {
		if fds, ok := p.fdSet(p.call.Args[1+i], uint64(uint32(p.call.Args[0]))); ok && len(fds) > 0 {
			p.str(sep + name)
			p.fds(fds, p.dec)
			sep = ", "
		}
	}
	if timeout := p.call.Args[4]; timeout != 0 {
		p.str(sep + "left ")
		if p.call.Name == "select" {
			printTimeval(p, &argument{}, timeout)
		} else {
			printTimespec(p, &argument{}, timeout)
		}
	}
	p.str(")")
}

// epollEvent prints struct epoll_event.
func (p *printer) epollEvent(b []byte) {
	p.str("{events=")
	p.printSet(fileFlags["epoll"], uint64(u32(b, 0)))
	p.str(", data={u32=")
	p.udec(uint64(u32(b, epollData)))
	p.str(", u64=")
	p.udec(u64(b, epollData))
	p.str("}}")
}

func printEpollEvent(p *printer, a *argument, v uint64) bool {
	if uint32(p.call.Args[1]) == unix.EPOLL_CTL_DEL {
		p.addr(v)
	} else if b := p.read(a, v, epollEventSize); b != nil {
		p.epollEvent(b)
	}
	return true
}

func printEpollEvents(p *printer, a *argument, v uint64) bool {
	if p.call.Failed {
		p.addr(v)
	} else {
		p.list(a, v, uint64(p.call.Ret), epollEventSize, p.epollEvent)
	}
	return true
}

// printIOEvents prints what asynchronous operations have ended with: struct io_event (include/uapi/linux/aio_abi.h).
func printIOEvents(p *printer, a *argument, v uint64) bool {
	if p.call.Failed {
		p.addr(v)
		return true
	}
	p.list(a, v, uint64(p.call.Ret), 32, func(b []byte) {
		p.str("{data=")
		p.hex(u64(b, 0))
		p.str(", obj=")
		p.hex(u64(b, 8))
		p.str(", res=")
		p.dec(int64(u64(b, 16)))
		p.str(", res2=")
		p.dec(int64(u64(b, 24)))
		p.str("}")
	})
	return true
}
