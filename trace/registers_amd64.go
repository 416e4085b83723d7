package trace

import "golang.org/x/sys/unix"

// Offsets into struct user (arch/x86/include/asm/user_64.h), which begins with
// the general registers: of the call's number, its result and its arguments.
const (
	offNr     = 8 * 15 // orig_rax
	offResult = 8 * 10 // rax
)

var offArgs = [6]uintptr{8 * 14, 8 * 13, 8 * 12, 8 * 7, 8 * 9, 8 * 8} // rdi rsi rdx r10 r8 r9

var offArgs32 = [6]uintptr{8 * 5, 8 * 11, 8 * 12, 8 * 13, 8 * 14, 8 * 4} // ebx ecx edx esi edi ebp

func poke(pid int, offset, value uintptr) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_POKEUSR, uintptr(pid), offset, value, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// skipCall makes the kernel do nothing for the call that the thread is about to
// make: it has no call of number -1.
func skipCall(pid int) error { return poke(pid, offNr, ^uintptr(0)) }

// setArgs changes those arguments of the call in which now differs from was; narrow says
// that a 32-bit program makes it.
func setArgs(pid int, narrow bool, was, now *[6]uint64) error {
	at := &offArgs
	if narrow {
		at = &offArgs32
	}
	for i := range now {
		if now[i] == was[i] {
			continue
		}
		if err := poke(pid, at[i], uintptr(now[i])); err != nil {
			return err
		}
	}
	return nil
}

// setResult changes what the call that has just ended returns: a value, or minus
// an errno.
func setResult(pid int, v int64) error { return poke(pid, offResult, uintptr(v)) }

// resultInFirst: the result of a call is in the register of its first argument.
const resultInFirst = false
