#include "textflag.h"

// func cloneAndRun(flags uintptr, pidfd *int32, calls *call, n int) (pid int)
//
// The child touches no stack: it has the caller's, which goes on.
TEXT ·cloneAndRun(SB), NOSPLIT, $0-40
	MOVD flags+0(FP), R0
	MOVD $0, R1
	MOVD pidfd+8(FP), R2
	MOVD $0, R3
	MOVD $0, R4
	MOVD calls+16(FP), R9
	MOVD n+24(FP), R10
	MOVD $220, R8 // clone
	SVC
	CBZ R0, next
	MOVD R0, pid+32(FP)
	RET

next:
	CBZ R10, failed
	MOVD 0(R9), R8
	MOVD 8(R9), R0
	MOVD 16(R9), R1
	MOVD 24(R9), R2
	MOVD 32(R9), R3
	MOVD 40(R9), R4
	SVC
	MOVD R0, 56(R9)
	MOVD 48(R9), R11
	CMP R11, R0
	BLT failed
	ADD $64, R9
	SUB $1, R10
	B next

failed:
	MOVD $1, R0
	MOVD $94, R8 // exit_group
	SVC
	B failed
