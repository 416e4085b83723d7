package spawn

import (
	"math"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// call is a system call of the child's: its number, arguments, the least result with which the child goes on, and the result.
// cloneAndRun knows where these are.
type call struct {
	number, a, b, c, d, e uintptr
	least, result         int
}

// notMade is the result of a call that was not made, or that has not returned.
const notMade = math.MinInt

// calls are what the child does, one after the other, until one fails. Then it ends.
type calls struct {
	list []call
	kept []any // what the arguments are addresses of
}

func (c *calls) add(number uintptr, args ...uintptr) {
	var a [5]uintptr
	copy(a[:], args)
	c.list = append(c.list, call{number, a[0], a[1], a[2], a[3], a[4], 0, notMade})
}

// address keeps what p points to, and returns where it is.
func address[T any](c *calls, p *T) uintptr {
	c.kept = append(c.kept, p)
	return uintptr(unsafe.Pointer(p))
}

// failure returns why the child did not become the program, once it has ended or is the program.
func (c *calls) failure() error {
	for i := range c.list {
		switch result := c.list[i].result; {
		case result == notMade:
			return nil // the last, or it was killed
		case result >= c.list[i].least:
		case result < 0:
			return syscall.Errno(-result)
		default:
			return unix.EPIPE // a read whose other side has gone
		}
	}
	return nil
}

// cloneAndRun makes a process that shares all memory with this one, and makes the calls. It returns its process id, or an
// error's number below 0.
func cloneAndRun(flags uintptr, pidfd *int32, calls *call, n int) (pid int)

// start starts the child. A handler of Go's must not run there: all signals are blocked from before its beginning on. What
// the child uses of this process's memory has to stay until it has other memory, or has ended.
func (c *calls) start(flags uintptr) (*Process, error) {
	fd := new(int32)
	// No other thread may begin to open what is to be closed by exec, and have another program inherit it.
	syscall.ForkLock.Lock()
	defer syscall.ForkLock.Unlock()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	all, own := ^uint64(0), uint64(0)
	setMask(&all, &own)
	pid := cloneAndRun(flags|unix.CLONE_VM|unix.CLONE_PIDFD|uintptr(unix.SIGCHLD), fd, &c.list[0], len(c.list))
	setMask(&own, nil)
	if pid < 0 {
		return nil, syscall.Errno(-pid)
	}
	return &Process{Pid: pid, fd: int(*fd)}, nil
}

// maskSize is that of the kernel's sigset_t.
const maskSize = 8

func setMask(mask, before *uint64) {
	// Cannot fail.
	unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(mask)), uintptr(unsafe.Pointer(before)), maskSize, 0, 0)
}

// sigaction is the kernel's struct of that name. Its zero is the default.
type sigaction struct {
	handler, flags, restorer uintptr
	mask                     uint64
}

const (
	ignored    = 1 // SIG_IGN
	lastSignal = 64
)

// unblock has the child get signals again, as the program does that it becomes: what this process handles ends it.
func (c *calls) unblock() {
	standard := address(c, &sigaction{})
	for sig := uintptr(1); sig <= lastSignal; sig++ {
		var a sigaction
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, 0, uintptr(unsafe.Pointer(&a)), maskSize, 0, 0)
		if errno == 0 && a.handler > ignored {
			c.add(unix.SYS_RT_SIGACTION, sig, standard, 0, maskSize)
		}
	}
	c.add(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, address(c, new(uint64)), 0, maskSize)
}
