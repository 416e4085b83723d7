package decode

import (
	"math/bits"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// sigRTMin is the first real-time signal of the kernel.
const sigRTMin = 32

// SignalName returns the name of a signal, or its number in decimal.
func SignalName(sig int) string {
	if name := unix.SignalName(unix.Signal(sig)); name != "" {
		if name == "SIGPOLL" {
			return "SIGIO" // one number, two names
		}
		return name
	}
	switch {
	case sig == sigRTMin:
		return "SIGRTMIN"
	case sig > sigRTMin && sig <= 64:
		return "SIGRT_" + strconv.Itoa(sig-sigRTMin)
	}
	return strconv.Itoa(sig)
}

// SignalNamed returns the signal of a name, with or without SIG, or of a number; 0 is none.
func SignalNamed(name string) int {
	name = strings.ToUpper(name)
	for sig := 1; sig <= 64; sig++ {
		if known := SignalName(sig); name == known || "SIG"+name == known || name == strconv.Itoa(sig) {
			return sig
		}
	}
	return 0
}

func printSignal(p *printer, _ *argument, v uint64) bool {
	p.str(SignalName(int(int32(v))))
	return true
}

// sigset prints a set of signals; one that holds most signals is printed as the
// complement of the others.
func (p *printer) sigset(set uint64) {
	if bits.OnesCount64(set) >= 43 { // two thirds of 64, as in strace
		p.str("~")
		set = ^set
	}
	p.str("[")
	sep := ""
	for sig := 1; sig <= 64; sig++ {
		if set>>(sig-1)&1 != 0 {
			p.str(sep)
			p.str(SignalName(sig)[len(signalPrefix(sig)):])
			sep = " "
		}
	}
	p.str("]")
}

// signalPrefix is what the names in a set go without.
func signalPrefix(sig int) string {
	if name := SignalName(sig); len(name) > 3 && name[:3] == "SIG" {
		return "SIG"
	}
	return ""
}

func printSigset(p *printer, a *argument, v uint64) bool {
	if a.number > 0 && p.call.Args[a.number] != 8 { // the kernel's sigset_t has one size
		p.addr(v)
		return true
	}
	if b := p.read(a, v, 8); b != nil {
		p.sigset(u64(b, 0))
	}
	return true
}

// printSigsetPart prints as much of a set as was asked for.
func printSigsetPart(p *printer, a *argument, v uint64) bool {
	n := p.call.Args[a.number]
	if n == 0 || n > 8 || p.call.Failed {
		p.addr(v)
	} else if b := p.peek(v, int(n)); b == nil {
		p.addr(v)
	} else {
		p.sigset(u64(append(b, make([]byte, 8)...), 0))
	}
	return true
}

// printSigsetPtr prints the sixth argument of pselect6: a set and its size.
func printSigsetPtr(p *printer, a *argument, v uint64) bool {
	b := p.read(a, v, 16)
	if b == nil {
		return true
	}
	p.str("{sigmask=")
	if u64(b, 8) == 8 {
		printSigset(p, &argument{}, u64(b, 0))
	} else {
		p.addr(u64(b, 0))
	}
	p.str(", sigsetsize=")
	p.udec(u64(b, 8))
	p.str("}")
	return true
}

// printSigaction prints the kernel's struct sigaction: handler, flags, restorer,
// mask (include/linux/signal_types.h; both architectures have a restorer).
func printSigaction(p *printer, a *argument, v uint64) bool {
	b := p.read(a, v, 32)
	if b == nil {
		return true
	}
	p.str("{sa_handler=")
	switch handler := u64(b, 0); handler {
	case 0:
		p.str("SIG_DFL")
	case 1:
		p.str("SIG_IGN")
	default:
		p.hex(handler)
	}
	p.str(", sa_mask=")
	p.sigset(u64(b, 24))
	p.str(", sa_flags=")
	flags := u64(b, 8)
	p.printSet(processFlags["sa"], flags)
	if flags&0x4000000 != 0 { // SA_RESTORER
		p.str(", sa_restorer=")
		p.hex(u64(b, 16))
	}
	p.str("}")
	return true
}

func printStack(p *printer, a *argument, v uint64) bool {
	if b := p.read(a, v, 24); b != nil {
		p.str("{ss_sp=")
		p.addr(u64(b, 0))
		p.str(", ss_flags=")
		p.printSet(processFlags["ss"], uint64(u32(b, 8)))
		p.str(", ss_size=")
		p.udec(u64(b, 16))
		p.str("}")
	}
	return true
}

// Siginfo is a siginfo_t, as the kernel fills it in.
type Siginfo [128]byte

// Signal is the signal's number.
func (s *Siginfo) Signal() int { return int(int32(u32(s[:], 0))) }

// Code is why the signal was sent: si_code.
func (s *Siginfo) Code() int { return int(int32(u32(s[:], 8))) }

// Sender is the process that sent the signal by kill(2), or 0.
func (s *Siginfo) Sender() int {
	if s.Code() != 0 { // SI_USER
		return 0
	}
	return int(int32(u32(s[:], 16)))
}

// String prints the members that the signal's cause has, as strace does.
func (s *Siginfo) String() string {
	p := printer{}
	p.siginfo(s[:])
	return string(p.buf)
}

func printSiginfo(p *printer, a *argument, v uint64) bool {
	if b := p.read(a, v, len(Siginfo{})); b != nil {
		p.siginfo(b)
	}
	return true
}

// siginfo prints a siginfo_t: three ints, padding, and a union whose use the
// signal and its code tell (include/uapi/asm-generic/siginfo.h).
func (p *printer) siginfo(b []byte) {
	sig, code := int(int32(u32(b, 0))), int(int32(u32(b, 8)))
	if sig == 0 {
		p.str("{}")
		return
	}
	p.str("{si_signo=" + SignalName(sig))
	p.str(", si_code=" + codeName(sig, code))
	if errno := u32(b, 4); errno != 0 {
		p.str(", si_errno=")
		if name := errnoName(unix.Errno(errno)); name != "" {
			p.str(name)
		} else {
			p.udec(uint64(errno))
		}
	}
	member := func(name string, at int) {
		p.str(", " + name + "=")
		p.int32(b[at:])
	}
	switch {
	case code == siTimer:
		member("si_timerid", 16)
		member("si_overrun", 20)
		p.value(b)
	case code <= 0:
		member("si_pid", 16)
		p.str(", si_uid=")
		p.idElement(b[20:])
		if code == siQueue || code == siMesgq {
			p.value(b)
		}
	case isFault(sig):
		p.str(", si_addr=")
		p.addr(u64(b, 16))
	case code == siKernel:
	case sig == int(unix.SIGCHLD):
		member("si_pid", 16)
		member("si_uid", 20)
		p.str(", si_status=")
		if status := int(int32(u32(b, 24))); code == 1 { // CLD_EXITED
			p.dec(int64(status))
		} else {
			p.str(SignalName(status))
		}
		p.str(", si_utime=")
		p.ticks(u64(b, 32))
		p.str(", si_stime=")
		p.ticks(u64(b, 40))
	case sig == int(unix.SIGSYS):
		p.str(", si_call_addr=")
		p.addr(u64(b, 16))
		member("si_syscall", 24)
	case sig == int(unix.SIGIO):
		p.str(", si_band=")
		p.dec(int64(u64(b, 16)))
		member("si_fd", 24)
	default:
		member("si_pid", 16)
		p.str(", si_uid=")
		p.idElement(b[20:])
		p.value(b)
	}
	p.str("}")
}

func (p *printer) value(b []byte) {
	p.str(", si_int=")
	p.int32(b[24:])
	p.str(", si_ptr=")
	p.addr(u64(b, 24))
}

func isFault(sig int) bool {
	switch unix.Signal(sig) {
	case unix.SIGSEGV, unix.SIGBUS, unix.SIGILL, unix.SIGFPE, unix.SIGTRAP:
		return true
	}
	return false
}

const (
	siKernel = 0x80
	siQueue  = -1
	siTimer  = -2
	siMesgq  = -3
)

// sentCodes are the codes of signals that were sent, by -code; causeCodes those
// of what the kernel noticed, by signal and by code-1.
var (
	sentCodes  = []string{"SI_USER", "SI_QUEUE", "SI_TIMER", "SI_MESGQ", "SI_ASYNCIO", "SI_SIGIO", "SI_TKILL"}
	causeCodes = map[unix.Signal][]string{
		unix.SIGCHLD: {"CLD_EXITED", "CLD_KILLED", "CLD_DUMPED", "CLD_TRAPPED", "CLD_STOPPED", "CLD_CONTINUED"},
		unix.SIGSEGV: {"SEGV_MAPERR", "SEGV_ACCERR", "SEGV_BNDERR", "SEGV_PKUERR"},
		unix.SIGBUS:  {"BUS_ADRALN", "BUS_ADRERR", "BUS_OBJERR", "BUS_MCEERR_AR", "BUS_MCEERR_AO"},
		unix.SIGILL:  {"ILL_ILLOPC", "ILL_ILLOPN", "ILL_ILLADR", "ILL_ILLTRP", "ILL_PRVOPC", "ILL_PRVREG", "ILL_COPROC", "ILL_BADSTK"},
		unix.SIGFPE:  {"FPE_INTDIV", "FPE_INTOVF", "FPE_FLTDIV", "FPE_FLTOVF", "FPE_FLTUND", "FPE_FLTRES", "FPE_FLTINV", "FPE_FLTSUB"},
		unix.SIGTRAP: {"TRAP_BRKPT", "TRAP_TRACE", "TRAP_BRANCH", "TRAP_HWBKPT", "TRAP_UNK", "TRAP_PERF"},
		unix.SIGIO:   {"POLL_IN", "POLL_OUT", "POLL_MSG", "POLL_ERR", "POLL_PRI", "POLL_HUP"},
		unix.SIGSYS:  {"SYS_SECCOMP", "SYS_USER_DISPATCH"},
	}
)

func codeName(sig, code int) string {
	causes := causeCodes[unix.Signal(sig)]
	switch {
	case code <= 0 && -code < len(sentCodes):
		return sentCodes[-code]
	case code == siKernel:
		return "SI_KERNEL"
	case code > 0 && code <= len(causes):
		return causes[code-1]
	}
	return "0x" + strconv.FormatUint(uint64(uint32(code)), 16)
}
