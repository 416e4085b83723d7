package trace

import (
	"encoding/binary"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/seccomp"
)

// installObserved loads a filter that asks a listener, and has that sent to the tracer. Any call of this thread may wait
// for an answer from then on, so another one, which is without the filter, sends it. The call that executes the command
// waits in any case, and thus for the listener to arrive.
func installObserved(sock int, prog []unix.SockFilter) error {
	// What the two do must not depend on each other: both have a processor of Go's, no garbage is collected, for which
	// both would have to stop, and the other one allocates nothing.
	runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))
	debug.SetGCPercent(-1)
	var ready atomic.Bool
	var listener atomic.Int64
	go func() {
		runtime.LockOSThread()
		report := [5]byte{stageListener}
		rights := unix.UnixRights(0)
		iov := unix.Iovec{Base: &report[0]}
		iov.SetLen(len(report))
		message := unix.Msghdr{Iov: &iov, Control: &rights[0]}
		message.SetIovlen(1)
		message.SetControllen(len(rights))
		place := rights[unix.CmsgLen(0):]
		pause := unix.NsecToTimespec(20_000)
		ready.Store(true)
		for listener.Load() == 0 {
			unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&pause)), 0, 0)
		}
		if fd := listener.Load(); fd > 0 {
			binary.NativeEndian.PutUint32(place, uint32(fd))
			unix.RawSyscall(unix.SYS_SENDMSG, uintptr(sock), uintptr(unsafe.Pointer(&message)), unix.MSG_NOSIGNAL)
		}
	}()
	for !ready.Load() {
		runtime.Gosched()
	}
	fd, err := seccomp.InstallObserved(prog)
	listener.Store(int64(fd)) // -1 where it failed
	return err
}
