package main

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// dieOf ends art-trace by the signal that has ended the command. A shell that runs a loop goes on
// with it when Ctrl-C ends a command and art-trace only says so by its exit code. It
// returns if the signal ends nobody.
func dieOf(sig unix.Signal) {
	// One core dump, the command's, is enough.
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	// Past the Go runtime, which has handlers of its own for most signals.
	var action [4]uint64 // struct sigaction of the kernel: SIG_DFL, no flags, no mask
	const sigsetSize = 8
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&action)), 0, sigsetSize, 0, 0)
	_ = unix.Kill(os.Getpid(), sig)
}
