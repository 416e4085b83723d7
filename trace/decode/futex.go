package decode

// The futex operations (include/uapi/linux/futex.h) by the arguments that they
// take, and what is added to an operation.
const (
	futexRequeue       = 3
	futexCmpRequeue    = 4
	futexWakeOp        = 5
	futexWaitBitset    = 9
	futexWakeBitset    = 10
	futexWaitRequeuePI = 11
	futexCmpRequeuePI  = 12
	futexOperations    = 14

	futexPrivate       = 128
	futexClockRealtime = 256
	futexOperation     = ^uint64(futexPrivate | futexClockRealtime)

	futexMatchAny = 0xffffffff
)

// Sets of operations, as bits. WAIT is 0, LOCK_PI 6, LOCK_PI2 13.
const (
	futexTakesTimeout  = 1<<0 | 1<<6 | 1<<futexWaitBitset | 1<<futexWaitRequeuePI | 1<<13
	futexTakesValue2   = 1<<futexRequeue | 1<<futexCmpRequeue | 1<<futexWakeOp | 1<<futexCmpRequeuePI
	futexTakesAddress2 = futexTakesValue2 | 1<<futexWaitRequeuePI
	futexTakesValue3   = 1<<futexCmpRequeue | 1<<futexCmpRequeuePI
	futexTakesBitset   = 1<<futexWaitBitset | 1<<futexWakeBitset
)

func printFutexOp(p *printer, _ *argument, v uint64) bool {
	v = uint64(uint32(v))
	set := processFlags["futex"]
	if v&futexOperation >= futexOperations {
		p.printName(set, v)
		return true
	}
	p.name(set, v&futexOperation, "")
	if v&futexPrivate != 0 {
		p.str("_PRIVATE")
	}
	if v&futexClockRealtime != 0 {
		p.str("|FUTEX_CLOCK_REALTIME")
	}
	return true
}

// printFutexArg prints the arguments of futex from the fourth on, which depend
// on the operation.
func printFutexArg(p *printer, a *argument, v uint64) bool {
	operation := p.call.Args[1] & 127 // as strace has it
	if operation >= futexOperations {
		if a.number == 5 {
			p.hex(uint64(uint32(v)))
		} else {
			p.hex(v)
		}
		return true
	}
	op := uint64(1) << operation
	switch a.number {
	case 3:
		switch {
		case op&futexTakesTimeout != 0:
			return printTimespec(p, &argument{}, v)
		case op&futexTakesValue2 != 0:
			return printUint(p, a, v)
		case op == 1<<futexWakeBitset:
			return printAddr(p, a, v)
		}
	case 4:
		if op&futexTakesAddress2 != 0 || op&futexTakesBitset != 0 {
			return printAddr(p, a, v)
		}
	case 5:
		switch {
		case op&futexTakesBitset != 0 && uint32(v) == futexMatchAny:
			p.str("FUTEX_BITSET_MATCH_ANY")
			return true
		case op&futexTakesBitset != 0, op == 1<<futexWakeOp:
			return printHex(p, a, uint64(uint32(v)))
		case op&futexTakesValue3 != 0:
			return printUint(p, a, v)
		}
	}
	return false
}
