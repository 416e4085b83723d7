package join

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/sandbox/stage"
)

// namespace is one to enter.
type namespace struct{ fd, kind uintptr }

// child is what joins: a copy of this process with one thread, as a process that enters a user namespace must be
// (setns(2)), and in which Go's runtime therefore does not work. What it does is made of system calls, prepared in memory
// before the fork: it allocates nothing, grows no stack and changes no pointer of the collector's. Its own child, which is
// this process's as well, becomes the stub.
type child struct {
	namespaces []namespace
	drop       bool
	uid, gid   uintptr
	filter     *unix.SockFprog
	argv, env  uintptr
	empty      uintptr // the empty path
	header     unix.CapUserHeader
	all, one   [2]unix.CapUserData
	kept       []any // what the addresses above are of

	outcomes *os.File // where both report
	report   uintptr
	answer   [2]uint32 // step and errno, or the stub's process id
}

// shield is the capability by which the stub is safe from the guest. The kernel asks for it in the host's user namespace
// alone (alarmtimer_create in kernel/time/alarmtimer.c, timerfd_create in fs/timerfd.c).
const shield = unix.CAP_WAKE_ALARM

// step is what the child was doing when it failed.
type step uint32

const (
	stepParent step = iota
	stepGroups
	stepNamespace
	stepIDs
	stepRights
	stepFilter
	stepFork
	stepExec
	stepForked // is no failure
)

var stepNames = [...]string{
	stepParent: "end with art", stepGroups: "give up groups", stepNamespace: "enter the session's namespaces",
	stepIDs: "become the guest's user", stepRights: "give up rights", stepFilter: "load the filter of system calls", stepFork: "enter the process namespace", stepExec: "start the stub",
}

func newChild(p *Plan) (*child, error) {
	c := &child{drop: p.Drop, uid: uintptr(p.UID), gid: uintptr(p.GID), header: unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}}
	c.one[shield/32] = unix.CapUserData{Permitted: 1 << (shield % 32), Inheritable: 1 << (shield % 32)}
	for i := range c.all {
		c.all[i] = unix.CapUserData{Effective: ^uint32(0), Permitted: ^uint32(0), Inheritable: c.one[i].Inheritable}
	}
	var err error
	if c.namespaces, err = p.namespaces(); err != nil {
		return nil, err
	}
	if c.filter, err = filter(); err != nil {
		return nil, err
	}
	// With no environment, as bubblewrap has none. What the program is to have is in memory (stage.PayloadFD).
	argv, err := syscall.SlicePtrFromStrings([]string{stage.Stub})
	if err != nil {
		return nil, err
	}
	env, empty := []*byte{nil}, new(byte)
	c.argv, c.env, c.empty = uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&env[0])), uintptr(unsafe.Pointer(empty))
	c.kept = []any{argv, env, empty}
	for _, fd := range []int{stage.PlanFD, stage.StatusFD, stage.FilterFD} {
		unix.CloseOnExec(fd)
	}
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return nil, fmt.Errorf("join the session: %w", err)
	}
	c.outcomes, c.report = os.NewFile(uintptr(pipe[0]), "report"), uintptr(pipe[1])
	return c, nil
}

func readAll(fd int) ([]byte, error) {
	return io.ReadAll(os.NewFile(uintptr(fd), "memory"))
}

// run forks the child, and returns the process id of the stub.
func (c *child) run() (int, error) {
	// No signal's handler may run in the child: it is of Go's runtime.
	all, old := ^uint64(0), uint64(0)
	unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&all)), uintptr(unsafe.Pointer(&old)), signalSetSize, 0, 0)
	pid, errno := c.fork()
	unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&old)), 0, signalSetSize, 0, 0)
	runtime.KeepAlive(c)
	unix.Close(int(c.report))
	if errno != 0 {
		return 0, fmt.Errorf("join the session: %w", errno)
	}
	stub, err := c.outcome()
	for {
		if _, e := unix.Wait4(int(pid), nil, 0, nil); e != unix.EINTR {
			break
		}
	}
	return stub, err
}

// outcome waits until the stub begins, and returns its process id, or why there is none.
func (c *child) outcome() (stub int, err error) {
	defer c.outcomes.Close()
	for {
		answer := unsafe.Slice((*byte)(unsafe.Pointer(&c.answer)), unsafe.Sizeof(c.answer))
		n, err := c.outcomes.Read(answer)
		switch {
		case n == len(answer) && step(c.answer[0]) == stepForked:
			stub = int(c.answer[1])
		case n == len(answer):
			return 0, fmt.Errorf("join the session: %s: %w", stepNames[c.answer[0]], unix.Errno(c.answer[1]))
		case stub == 0: // both have been killed
			return 0, fmt.Errorf("join the session: start the stub: %w", err)
		default:
			return stub, nil
		}
	}
}

//go:nosplit
//go:norace
//go:noinline
func (c *child) fork() (pid uintptr, errno unix.Errno) {
	pid, _, errno = unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if pid != 0 || errno != 0 {
		return pid, errno
	}
	s, errno := c.join()
	c.tell(s, uint32(errno))
	return 0, 0 // never
}

// tell reports, and ends the process.
//
//go:nosplit
//go:norace
//go:noinline
func (c *child) tell(s step, n uint32) {
	c.answer[0], c.answer[1] = uint32(s), n
	unix.RawSyscall(unix.SYS_WRITE, c.report, uintptr(unsafe.Pointer(&c.answer)), unsafe.Sizeof(c.answer))
	for {
		unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
}

// join enters the guest and forks the stub. It returns what went wrong.
//
//go:nosplit
//go:norace
//go:noinline
func (c *child) join() (step, unix.Errno) {
	// With the caller's rights: once it is in a user namespace where groups were denied to be set, as bubblewrap denies
	// them, nobody sets any (user_namespaces(7), /proc/PID/setgroups).
	if c.drop {
		if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); errno != 0 {
			return stepGroups, errno
		}
	}
	// The mount namespace brings its own root and working directory (mntns_install in fs/namespace.c); the user
	// namespace all rights over the guest (create_user_ns and userns_install in kernel/user_namespace.c).
	for i := range c.namespaces {
		n := &c.namespaces[i]
		if _, _, errno := unix.RawSyscall(unix.SYS_SETNS, n.fd, n.kind, 0); errno != 0 {
			return stepNamespace, errno
		}
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESGID, c.gid, c.gid, c.gid); errno != 0 {
		return stepIDs, errno
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, c.uid, c.uid, c.uid); errno != 0 {
		return stepIDs, errno
	}
	if errno := c.giveUp(); errno != 0 {
		return stepRights, errno
	}
	// Its child would have them until its execve.
	for i := range c.namespaces {
		unix.RawSyscall(unix.SYS_CLOSE, c.namespaces[i].fd, 0, 0)
	}
	// As bubblewrap does. From here on nothing is left of what the guest has not, but the one capability.
	if _, _, errno := unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(c.filter))); errno != 0 {
		return stepFilter, errno
	}
	pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, unix.CLONE_PARENT|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		return stepFork, errno
	}
	if pid != 0 {
		return stepForked, unix.Errno(pid)
	}
	// In the guest. Should the parent have gone already, then nobody lets the stub go on.
	if _, _, errno := unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0); errno != 0 {
		return stepParent, errno
	}
	c.resetSignals()
	_, _, errno = unix.RawSyscall6(unix.SYS_EXECVEAT, stage.SelfFD, c.empty, c.argv, c.env, unix.AT_EMPTY_PATH, 0)
	return stepExec, errno
}

// giveUp gives up all capabilities but one, which execve keeps as it is ambient, and any way to get others: by no_new_privs
// no execve brings any, and out of an empty bounding set neither (capabilities(7)).
//
//go:nosplit
//go:norace
//go:noinline
func (c *child) giveUp() unix.Errno {
	if _, _, errno := unix.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); errno != 0 {
		return errno
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&c.header)), uintptr(unsafe.Pointer(&c.all)), 0); errno != 0 {
		return errno
	}
	if _, _, errno := unix.RawSyscall6(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, shield, 0, 0, 0); errno != 0 {
		return errno
	}
	for capability := uintptr(0); ; capability++ {
		_, _, errno := unix.RawSyscall6(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, capability, 0, 0, 0, 0)
		if errno == unix.EINVAL && capability > unix.CAP_AUDIT_READ {
			break // behind the last that the kernel has
		}
		if errno != 0 {
			return errno
		}
	}
	_, _, errno := unix.RawSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&c.header)), uintptr(unsafe.Pointer(&c.one)), 0)
	return errno
}

// resetSignals lets the stub begin as any program does: execve(2) keeps which signals are blocked.
//
//go:nosplit
//go:norace
//go:noinline
func (c *child) resetSignals() {
	var action [4]uintptr // struct sigaction of the kernel: SIG_DFL, no flags, no mask
	for sig := uintptr(1); sig <= maxSignal; sig++ {
		// Fails for SIGKILL and SIGSTOP.
		unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&action)), 0, signalSetSize, 0, 0)
	}
	var none uint64
	unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&none)), 0, signalSetSize, 0, 0)
}

// Signals of the kernel, and the size of a set of them in bytes.
const maxSignal, signalSetSize = 64, 8
