package decode

import "strconv"

// The futex operations (include/uapi/linux/futex.h), and what is added to one.
const (
	futexRequeue       = 3
	futexCmpRequeue    = 4
	futexWakeOp        = 5
	futexLockPI        = 6
	futexWaitBitset    = 9
	futexWakeBitset    = 10
	futexWaitRequeuePI = 11
	futexCmpRequeuePI  = 12
	futexLockPI2       = 13
	futexOperations    = 14

	futexPrivate       = 128
	futexClockRealtime = 256

	futexMatchAny = 0xffffffff
)

// futexWords are what each operation takes from the third argument on, a letter for an argument: a value, a time-out, a
// second value in its place, the second address, the third value, a bitset, or an operation of FUTEX_WAKE_OP.
var futexWords = [futexOperations]string{
	0: "vt", 1: "v", 2: "v", futexRequeue: "v2a", futexCmpRequeue: "v2a3", futexWakeOp: "v2ao", futexLockPI: "-t", 7: "", 8: "",
	futexWaitBitset: "vt-b", futexWakeBitset: "v--b", futexWaitRequeuePI: "vta", futexCmpRequeuePI: "v2a3", futexLockPI2: "-t",
}

// realtime are the operations whose clock may be said.
const realtime = 1<<0 | 1<<futexWaitBitset | 1<<futexWaitRequeuePI

func printFutexOp(p *printer, _ *argument, v uint64) bool {
	v = uint64(uint32(v))
	operation := v &^ (futexPrivate | futexClockRealtime)
	if operation >= futexOperations || v&futexClockRealtime != 0 && realtime>>operation&1 == 0 {
		p.hex(v)
		p.str(" /* FUTEX_??? */")
		return true
	}
	p.name(processFlags["futex"], operation, "")
	if v&futexPrivate != 0 {
		if operation == 2 { // FUTEX_FD has no name of its own with it
			p.str("|FUTEX_PRIVATE_FLAG")
		} else {
			p.str("_PRIVATE")
		}
	}
	if v&futexClockRealtime != 0 {
		p.str("|FUTEX_CLOCK_REALTIME")
	}
	return true
}

// printFutexArg prints an argument of futex from the third on, which depends on the operation.
func printFutexArg(p *printer, a *argument, v uint64) bool {
	words := "vaax"
	if operation := p.call.Args[1] & 127; operation < futexOperations { // as strace has it
		words = futexWords[operation]
	}
	i := a.register - 2
	if i >= len(words) {
		return false
	}
	switch words[i] {
	case 'v', '2', '3':
		return printUint(p, a, v)
	case 't':
		return printTimespec(p, &argument{}, v)
	case 'a':
		return printAddr(p, a, v)
	case 'x':
		return printHex32(p, a, v)
	case 'o':
		p.futexWake(uint32(v))
	case 'b':
		if uint32(v) == futexMatchAny {
			p.str("FUTEX_BITSET_MATCH_ANY")
		} else {
			p.hex(uint64(uint32(v)))
		}
	default:
		return false
	}
	return true
}

// futexWake prints what FUTEX_WAKE_OP does, and when it wakes: four numbers in one (FUTEX_OP in linux/futex.h).
func (p *printer) futexWake(v uint32) {
	operations := []string{"SET", "ADD", "OR", "ANDN", "XOR"}
	comparisons := []string{"CMP_EQ", "CMP_NE", "CMP_LT", "CMP_LE", "CMP_GT", "CMP_GE"}
	named := func(names []string, i uint32, shift, unknown string) {
		if int(i) < len(names) {
			p.str("FUTEX_OP_" + names[i] + "<<" + shift)
		} else {
			p.str("0x" + strconv.FormatUint(uint64(i), 16) + "<<" + shift + " /* FUTEX_OP_" + unknown + " */")
		}
	}
	if v>>28&8 != 0 {
		p.str("FUTEX_OP_OPARG_SHIFT<<28|")
	}
	named(operations, v>>28&7, "28", "???")
	p.str("|")
	p.hex(uint64(v >> 12 & 0xfff))
	p.str("<<12|")
	named(comparisons, v>>24&0xf, "24", "CMP_???")
	p.str("|")
	p.hex(uint64(v & 0xfff))
}

// printFutexWaiters prints the futexes of futex_waitv: struct futex_waitv, of which there are at most FUTEX_WAITV_MAX.
func printFutexWaiters(p *printer, a *argument, v uint64) bool {
	p.listUpTo(a, v, uint64(uint32(p.call.Args[a.number])), 128, 24, func(b []byte) {
		p.str("{val=")
		p.hex(u64(b, 0))
		p.str(", uaddr=")
		p.addr(u64(b, 8))
		p.str(", flags=")
		p.printSet(rareFlags["futex_waiter"], uint64(u32(b, 16)))
		if reserved := u32(b, 20); reserved != 0 {
			p.str(", __reserved=")
			p.hex(uint64(reserved))
		}
		p.str("}")
	})
	return true
}
