package trace

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// regset reads or writes a set of registers (ptrace(2), PTRACE_GETREGSET).
func regset(request, pid int, set uintptr, data unsafe.Pointer, size uint64) error {
	vec := unix.Iovec{Base: (*byte)(data), Len: size}
	return ptrace(request, pid, set, unsafe.Pointer(&vec))
}

// skipCall makes the kernel do nothing for the call that the thread is about to
// make: it has no call of number -1. The number is a set of registers of its own
// (NT_ARM_SYSCALL in include/uapi/linux/elf.h).
func skipCall(pid int) error {
	nr := int32(-1)
	return regset(unix.PTRACE_SETREGSET, pid, unix.NT_ARM_SYSTEM_CALL, unsafe.Pointer(&nr), uint64(unsafe.Sizeof(nr)))
}

// setArgs changes those arguments of the call in which now differs from was. They are in
// the same registers for 32-bit programs.
func setArgs(pid int, _ bool, was, now *[6]uint64) error {
	return changeRegs(pid, func(x *[31]uint64) {
		for i := range now {
			if now[i] != was[i] {
				x[i] = now[i]
			}
		}
	})
}

// setResult changes what the call that has just ended returns: a value, or minus
// an errno.
func setResult(pid int, v int64) error {
	return changeRegs(pid, func(x *[31]uint64) { x[0] = uint64(v) })
}

// changeRegs changes the general registers, x0 to x30, of which the first six
// hold a call's arguments and the very first its result.
func changeRegs(pid int, change func(x *[31]uint64)) error {
	var regs unix.PtraceRegsArm64
	if err := regset(unix.PTRACE_GETREGSET, pid, unix.NT_PRSTATUS, unsafe.Pointer(&regs), uint64(unsafe.Sizeof(regs))); err != nil {
		return err
	}
	change(&regs.Regs)
	return regset(unix.PTRACE_SETREGSET, pid, unix.NT_PRSTATUS, unsafe.Pointer(&regs), uint64(unsafe.Sizeof(regs)))
}

// resultInFirst: the result of a call is in the register of its first argument.
const resultInFirst = true
