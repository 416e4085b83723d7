package trace

import (
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/seccomp"
)

// installObserved loads a filter that asks a listener, and has that sent to the tracer. Any call of this thread may wait
// for an answer from then on, also one that Go's scheduler makes before this function goes on, so another thread, which
// is without the filter, looks for the listener and sends it. The call that executes the command waits in any case, and
// thus for the listener to arrive.
func installObserved(sock int, prog []unix.SockFilter) error {
	// What the two do must not depend on each other: both have a processor of Go's, no garbage is collected, for which
	// both would have to stop.
	runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))
	debug.SetGCPercent(-1)
	free, err := unix.FcntlInt(uintptr(sock), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	unix.Close(free)
	// The listener gets the lowest number that is free then: others may have opened or closed files meanwhile, such as
	// Go's runtime, which looks for limits of the processor.
	const others = 64
	inherited := make([]bool, free+others)
	for fd := range inherited {
		inherited[fd] = isListener(fd)
	}
	var ready atomic.Bool
	go sendListener(sock, inherited, &ready)
	for !ready.Load() {
		runtime.Gosched()
	}
	_, err = seccomp.InstallObserved(prog)
	return err
}

// noCall is the id of no call. As a variable of the package it needs no memory in [sendListener].
var noCall uint64

// isListener tells whether a descriptor is a listener: they alone say ENOENT of a call that does not wait. Go's scheduler does not
// take over where it begins.
//
//go:nosplit
//go:norace
func isListener(fd int) bool {
	_, _, errno := unix.RawSyscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_ID_VALID, uintptr(unsafe.Pointer(&noCall)))
	return errno == unix.ENOENT
}

// sendListener sends the listener once it is there: one of the numbers that were not listeners before. Once it is ready it makes no call
// that can wait for Go's scheduler or memory, or for the race detector, as the other thread may have stopped while it holds them.
// Where no filter can be loaded, the process ends.
//
//go:norace
func sendListener(sock int, inherited []bool, ready *atomic.Bool) {
	runtime.LockOSThread()
	urgent := uint64(1) << (preemption - 1) // Go's scheduler is not to take this thread's turn
	unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_BLOCK, uintptr(unsafe.Pointer(&urgent)), 0, unsafe.Sizeof(urgent), 0, 0)
	report := [5]byte{stageListener}
	rights := unix.UnixRights(0)
	place := (*int32)(unsafe.Pointer(&rights[unix.CmsgLen(0)]))
	iov := unix.Iovec{Base: &report[0]}
	iov.SetLen(len(report))
	message := unix.Msghdr{Iov: &iov, Control: &rights[0]}
	message.SetIovlen(1)
	message.SetControllen(len(rights))
	pause := unix.NsecToTimespec(20_000)
	ready.Store(true)
	for {
		for fd := range inherited {
			if inherited[fd] || !isListener(fd) {
				continue
			}
			*place = int32(fd)
			unix.RawSyscall(unix.SYS_SENDMSG, uintptr(sock), uintptr(unsafe.Pointer(&message)), unix.MSG_NOSIGNAL)
			return
		}
		unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&pause)), 0, 0)
	}
}
