#include "textflag.h"

// func cloneAndRun(flags uintptr, pidfd *int32, calls *call, n int) (pid int)
//
// The child touches no stack: it has the caller's, which goes on.
TEXT ·cloneAndRun(SB), NOSPLIT, $0-40
	MOVQ flags+0(FP), DI
	MOVQ $0, SI
	MOVQ pidfd+8(FP), DX
	MOVQ $0, R10
	MOVQ $0, R8
	MOVQ calls+16(FP), R12
	MOVQ n+24(FP), R13
	MOVQ $56, AX // clone
	SYSCALL
	TESTQ AX, AX
	JEQ next
	MOVQ AX, pid+32(FP)
	RET

next:
	TESTQ R13, R13
	JEQ failed
	MOVQ 0(R12), AX
	MOVQ 8(R12), DI
	MOVQ 16(R12), SI
	MOVQ 24(R12), DX
	MOVQ 32(R12), R10
	MOVQ 40(R12), R8
	SYSCALL
	MOVQ AX, 56(R12)
	CMPQ AX, 48(R12)
	JLT failed
	ADDQ $64, R12
	SUBQ $1, R13
	JMP next

failed:
	MOVQ $1, DI
	MOVQ $231, AX // exit_group
	SYSCALL
	JMP failed
