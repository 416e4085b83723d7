package trace

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/trace/decode"
)

// seizeOptions say what a tracee and everything it starts report.
const seizeOptions = unix.PTRACE_O_TRACESYSGOOD | // a system-call stop is told from SIGTRAP
	unix.PTRACE_O_TRACESECCOMP | // SECCOMP_RET_TRACE stops here
	unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_TRACECLONE | // follow
	unix.PTRACE_O_TRACEEXEC | // an exec by a second thread changes its id
	unix.PTRACE_O_EXITKILL // our death, also by SIGKILL, ends every tracee

// attachOptions are those for processes that run already: they survive the
// tracer, and a seccomp filter of theirs is not the tracer's.
const attachOptions = seizeOptions &^ (unix.PTRACE_O_TRACESECCOMP | unix.PTRACE_O_EXITKILL)

// eventStop is PTRACE_EVENT_STOP (include/uapi/linux/ptrace.h): a group stop,
// or the first stop of a new tracee.
const eventStop = 128

// seize attaches to pid without stopping it. Unlike PTRACE_ATTACH and
// PTRACE_TRACEME, PTRACE_SEIZE lets group stops be told from signals and be
// waited out with PTRACE_LISTEN (ptrace(2), "Group-stop").
func seize(pid int) error {
	return ptraceValue(unix.PTRACE_SEIZE, pid, seizeOptions)
}

// listen leaves a tracee in its group stop until SIGCONT.
func listen(pid int) error {
	return ptraceValue(unix.PTRACE_LISTEN, pid, 0)
}

// interrupt stops a thread, which then reports eventStop.
func interrupt(pid int) error {
	return ptraceValue(unix.PTRACE_INTERRUPT, pid, 0)
}

// syscallInfo mirrors struct ptrace_syscall_info (include/uapi/linux/ptrace.h),
// which is the same on every architecture.
type syscallInfo struct {
	Op    uint8
	_     [3]byte
	Arch  uint32
	IP    uint64
	SP    uint64
	Union [8]uint64
}

func (s *syscallInfo) nr() uint64      { return s.Union[0] }
func (s *syscallInfo) args() [6]uint64 { return [6]uint64(s.Union[1:7]) }
func (s *syscallInfo) result() int64   { return int64(s.Union[0]) }

// failed reports the byte is_error, which follows the result at an exit stop.
func (s *syscallInfo) failed() bool { return *(*uint8)(unsafe.Pointer(&s.Union[1])) != 0 }

func getSyscallInfo(pid int, s *syscallInfo) error {
	return ptrace(unix.PTRACE_GET_SYSCALL_INFO, pid, unsafe.Sizeof(*s), unsafe.Pointer(s))
}

func getSiginfo(pid int, info *decode.Siginfo) error {
	return ptrace(unix.PTRACE_GETSIGINFO, pid, 0, unsafe.Pointer(info))
}

// preemption is the signal that the Go runtime interrupts its own threads with
// (sigPreempt in runtime/signal_unix.go).
const preemption = unix.SIGURG

// pending says whether sig waits for the thread pid itself, not for its process.
func pending(pid int, sig unix.Signal) (bool, error) {
	mask, err := strconv.ParseUint(statusField(pid, "SigPnd"), 16, 64)
	if err != nil {
		return false, fmt.Errorf("read pending signals: %w", err)
	}
	return mask&(1<<(sig-1)) != 0, nil
}

// ptrace is the system call for requests that read or write memory of ours. It
// does not tell the Go scheduler: a ptrace request never blocks.
func ptrace(request, pid int, addr uintptr, data unsafe.Pointer) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_PTRACE, uintptr(request), uintptr(pid), addr, uintptr(data), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// ptraceValue is ptrace for requests that take a number.
func ptraceValue(request, pid int, data uintptr) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_PTRACE, uintptr(request), uintptr(pid), 0, data, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// sigactionArg is the kernel's struct sigaction on both architectures: handler,
// flags, restorer and mask. Zero, it is SIG_DFL without flags.
type sigactionArg [4]uint64

// sigaction sets and gets what a signal does, past the Go runtime.
func sigaction(sig unix.Signal, set, old *sigactionArg) error {
	const sigsetSize = 8
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig),
		uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(old)), sigsetSize, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// tracedBy returns the id of the process that traces the thread, or 0. The kernel
// names the thread that does.
func tracedBy(pid int) int {
	tracer, err := strconv.Atoi(statusField(pid, "TracerPid"))
	if err != nil || tracer == 0 {
		return 0
	}
	if group, err := strconv.Atoi(statusField(tracer, "Tgid")); err == nil {
		return group
	}
	return tracer
}

// statusField returns a field of /proc/PID/status, or nothing.
func statusField(pid int, name string) string {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(status), "\n"+name+":\t")
	value, _, _ := strings.Cut(rest, "\n")
	return value
}
