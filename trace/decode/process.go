package decode

import (
	"cmp"

	"golang.org/x/sys/unix"
)

// pointers reads the NULL-terminated array at addr, at most limit elements; more
// says that there are others. Where the array ends without a NULL because what is behind it is not
// readable, broken says so; ok is false where nothing of it is.
func (p *printer) pointers(addr uint64, limit int) (all []uint64, more, broken, ok bool) {
	var chunk [64 * 8]byte
	for addr != 0 {
		n := p.call.Mem.Read(addr+uint64(8*len(all)), chunk[:]) / 8
		if n == 0 {
			return all, false, true, len(all) > 0
		}
		for i := range n {
			v := u64(chunk[:], 8*i)
			switch {
			case v == 0:
				return all, false, false, true
			case len(all) == limit:
				return all, true, false, true
			}
			all = append(all, v)
		}
	}
	return nil, false, false, false
}

// strings prints the strings of a NULL-terminated array, or addresses in the place of those that are
// not readable.
func (p *printer) strings(v uint64, limit int) {
	all, more, broken, ok := p.pointers(v, limit)
	if !ok {
		p.addr(v)
		return
	}
	p.str("[")
	for i, s := range all {
		if i > 0 {
			p.str(", ")
		}
		p.cstring(s, p.stringLimit())
	}
	switch {
	case more:
		p.str(", ...")
	case broken:
		p.str(", ... /* ")
		p.hex(v + uint64(8*len(all)))
		p.str(" */")
	}
	p.str("]")
}

func printArgv(p *printer, _ *argument, v uint64) bool {
	limit := max(maxElements, min(p.call.Strings, maxEnv))
	if p.call.Strings > 0 && p.call.Strings < maxElements || p.call.Whole {
		limit = int(p.elements())
	}
	p.strings(v, limit)
	return true
}

// maxEnv bounds how many variables of an environment are counted.
const maxEnv = 65536

func printEnvp(p *printer, _ *argument, v uint64) bool {
	if p.call.Whole {
		p.strings(v, maxEnv)
		return true
	}
	p.addr(v)
	if all, _, broken, ok := p.pointers(v, maxEnv); ok {
		p.str(" /* ")
		p.dec(int64(len(all)))
		p.str(" var")
		if len(all) != 1 {
			p.str("s")
		}
		if broken {
			p.str(", unterminated")
		}
		p.str(" */")
	}
	return true
}

// cloneFlags prints clone's flags, whose lowest byte is a signal.
func (p *printer) cloneFlags(v uint64) {
	if flags := v &^ 0xff; flags != 0 {
		p.printSet(processFlags["clone"], flags)
		if v&0xff != 0 {
			p.str("|")
		}
	}
	if v&0xff != 0 {
		p.str(SignalName(int(v & 0xff)))
	} else if v == 0 {
		p.str("0")
	}
}

// printClone prints the first two arguments of clone.
func printClone(p *printer, _ *argument, flags uint64) bool {
	p.str("child_stack=")
	p.addr(p.call.Args[1])
	p.str(", flags=")
	p.cloneFlags(flags)
	return true
}

// cloneIDs are the flags with which clone has more than two arguments.
const cloneIDs = unix.CLONE_PARENT_SETTID | unix.CLONE_PIDFD | unix.CLONE_SETTLS |
	unix.CLONE_CHILD_SETTID | unix.CLONE_CHILD_CLEARTID

// printCloneIDs prints those of clone's other arguments that the flags ask for, by
// name, as their order differs between architectures.
func printCloneIDs(p *printer, a *argument, flags uint64) bool {
	args, before := p.call.Args, len(p.buf)
	name := func(s string) {
		if len(p.buf) > before {
			p.str(", ")
		}
		p.str(s)
	}
	if flags&(unix.CLONE_PARENT_SETTID|unix.CLONE_PIDFD) != 0 {
		name("parent_tid=")
		if b := p.read(a, args[2], 4); b != nil && flags&unix.CLONE_PIDFD != 0 {
			p.str("[")
			p.fdElement(b)
			p.str("]")
		} else if b != nil {
			printIntP(p, a, args[2])
		}
	}
	if flags&unix.CLONE_SETTLS != 0 {
		name("tls=")
		p.hex(args[cloneTLS])
	}
	if flags&(unix.CLONE_CHILD_SETTID|unix.CLONE_CHILD_CLEARTID) != 0 {
		name("child_tidptr=")
		p.addr(args[cloneChildTid])
	}
	return true
}

// cloneArgsSize is the size of struct clone_args (include/uapi/linux/sched.h) as it is known, and leastCloneArgs what it
// was at first.
const (
	cloneArgsSize  = 88
	leastCloneArgs = 64
)

func printCloneArgs(p *printer, _ *argument, v uint64) bool {
	size := p.call.Args[1]
	if size < leastCloneArgs {
		p.addr(v)
		return true
	}
	given := p.read(&argument{}, v, int(min(size, cloneArgsSize)))
	if given == nil {
		return true
	}
	b := make([]byte, cloneArgsSize)
	copy(b, given)
	flags := u64(b, 0)
	p.str("{flags=")
	p.printSet(processFlags["clone3"], flags)
	address := func(name string, at int) {
		p.str(", " + name + "=")
		p.addr(u64(b, at))
	}
	if flags&unix.CLONE_PIDFD != 0 {
		address("pidfd", 8)
	}
	if flags&(unix.CLONE_CHILD_SETTID|unix.CLONE_CHILD_CLEARTID) != 0 {
		address("child_tid", 16)
	}
	if flags&unix.CLONE_PARENT_SETTID != 0 {
		address("parent_tid", 24)
	}
	p.str(", exit_signal=")
	if sig := u64(b, 32); sig == 0 || sig > 64 {
		p.udec(sig)
	} else {
		p.str(SignalName(int(sig)))
	}
	address("stack", 40)
	p.str(", stack_size=")
	p.hex(u64(b, 48))
	if flags&unix.CLONE_SETTLS != 0 {
		address("tls", 56)
	}
	p.setTid(u64(b, 64), u64(b, 72))
	if group := u64(b, 80); size > 80 && (group != 0 || flags&unix.CLONE_INTO_CGROUP != 0) {
		p.str(", cgroup=")
		p.udec(group)
	}
	p.tail(v, cloneArgsSize, size)
	p.str("}")
	if flags&unix.CLONE_PARENT_SETTID != 0 && !p.call.Failed {
		p.str(" => {parent_tid=")
		printIntP(p, &argument{}, u64(b, 24))
		p.str("}")
	}
	return true
}

// setTid prints the ids that a new process gets in its PID namespaces.
func (p *printer) setTid(at, n uint64) {
	const most = 32 // MAX_PID_NS_LEVEL
	if at == 0 && n == 0 {
		return
	}
	p.str(", set_tid=")
	if at == 0 || n == 0 || n > most {
		p.addr(at)
	} else {
		p.list(&argument{}, at, n, 4, p.int32)
	}
	p.str(", set_tid_size=")
	p.udec(n)
}

// printWaitStatus prints the status of a child that a wait has returned.
func printWaitStatus(p *printer, a *argument, v uint64) bool {
	if p.call.Failed || p.call.Ret == 0 {
		p.addr(v)
		return true
	}
	b := p.read(a, v, 4)
	if b == nil {
		return true
	}
	p.str("[{")
	switch status := unix.WaitStatus(u32(b, 0)); {
	case status.Exited():
		p.str("WIFEXITED(s) && WEXITSTATUS(s) == ")
		p.dec(int64(status.ExitStatus()))
	case status.Signaled():
		p.str("WIFSIGNALED(s) && WTERMSIG(s) == " + SignalName(int(status.Signal())))
		if status.CoreDump() {
			p.str(" && WCOREDUMP(s)")
		}
	case status.Continued():
		p.str("WIFCONTINUED(s)")
	case status.Stopped():
		p.str("WIFSTOPPED(s) && WSTOPSIG(s) == " + SignalName(int(status.StopSignal())))
	default:
		p.hex(uint64(status))
	}
	p.str("}]")
	return true
}

// printMmapFlags prints mmap's flags: a number for the type and bits.
func printMmapFlags(p *printer, _ *argument, v uint64) bool {
	v = uint64(uint32(v))
	p.printName(processFlags["maptype"], v&unix.MAP_TYPE)
	p.hugeFlags(processFlags["map"], v&^unix.MAP_TYPE, "|", "MAP_HUGE_SHIFT")
	return true
}

// hugeFlags prints flags behind sep, of which the highest six bits are the binary logarithm of the size of a
// page (MAP_HUGE_SHIFT in include/uapi/asm-generic/hugetlb_encode.h).
func (p *printer) hugeFlags(set *flagSet, v uint64, sep, shift string) {
	const at, mask = 26, 63
	size := v >> at & mask
	if v &^= mask << at; v != 0 || size == 0 && sep == "" {
		p.str(sep)
		if size != 0 && v&^set.all() == v {
			p.hex(v)
		} else {
			p.printSet(set, v)
		}
		sep = "|"
	}
	if size != 0 {
		p.str(sep)
		p.udec(size)
		p.str("<<" + shift)
	}
}

func printMemfdFlags(p *printer, _ *argument, v uint64) bool {
	p.hugeFlags(fileFlags["memfd"], uint64(uint32(v)), "", "MFD_HUGE_SHIFT")
	return true
}

// printMremapTo prints the new address, which is an argument only of some calls.
func printMremapTo(p *printer, a *argument, v uint64) bool {
	if p.call.Args[3]&(unix.MREMAP_FIXED|unix.MREMAP_DONTUNMAP) == 0 {
		return false
	}
	return printAddr(p, a, v)
}

// printKcmpArg prints what kcmp compares: descriptors, or nothing.
func printKcmpArg(p *printer, a *argument, v uint64) bool {
	const file, epoll = 0, 7
	switch p.call.Args[2] {
	case file:
		p.fd(int32(v))
	case epoll:
		if a.register == 3 {
			p.fd(int32(v))
		} else if b := p.read(a, v, 12); b != nil { // struct kcmp_epoll_slot
			p.structure(structures["epoll_slot"], b)
		}
	default:
		if p.call.Args[2] > epoll {
			p.hex(v)
			return true
		}
		return false
	}
	return true
}

// cpus prints the numbers of the processors in a mask.
func (p *printer) cpus(b []byte) {
	p.str("[")
	sep := ""
	for i := range len(b) * 8 {
		if b[i/8]>>(i%8)&1 != 0 {
			p.str(sep)
			p.dec(int64(i))
			sep = " "
		}
	}
	p.str("]")
}

// maxCpuset is the size in bytes of the largest mask of processors that is shown.
const maxCpuset = 1024

func printCpuset(p *printer, a *argument, v uint64) bool {
	if b := p.read(a, v, int(min(p.call.Args[a.number], maxCpuset))); b != nil {
		p.cpus(b)
	}
	return true
}

// printCpusetOut prints as many bytes of the mask as the call returned.
func printCpusetOut(p *printer, a *argument, v uint64) bool {
	if b := p.read(a, v, int(min(max(p.call.Ret, 0), maxCpuset))); b != nil {
		p.cpus(b)
	}
	return true
}

func printRestart(p *printer, _ *argument, _ uint64) bool {
	p.str("<... resuming interrupted " + cmp.Or(p.call.Resumes, "system call") + " ...>")
	return true
}
