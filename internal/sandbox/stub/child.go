package stub

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/sandbox/scope"
	"github.com/riverlytech/art/internal/seccomp"
)

// child is what becomes the command: a copy of this process that has this one thread only, and in which Go's
// runtime therefore does not work. What it does is made of system calls, prepared in memory before the fork: it
// allocates nothing, grows no stack and changes no pointer of the collector's.
type child struct {
	link, report, tty, ruleset uintptr
	joins                      bool            // a guest that is there already, and must not trace it
	background                 bool            // it does not take the terminal
	memory                     *unix.Rlimit    // or nil
	filter                     *unix.SockFprog // or nil
	paths                      []uintptr       // of the command, with a NUL at the end of each
	named                      bool            // the command is a path
	argv, env                  uintptr
	shell                      uintptr   // the path of the shell that takes a script without an interpreter line
	script                     []uintptr // its arguments, of which the second is the path
	message                    []byte
	kept                       []any // what the addresses above are of

	outcomes *os.File // where the child reports
	step     step
	answer   [2]uint32 // step, errno
}

// step is what the child was doing when it failed.
type step uint32

const (
	stepGroup step = iota
	stepArt
	stepScope
	stepFilter
	stepMemory
	stepExec
)

var stepNames = [...]string{
	stepGroup: "start the command as a job of its terminal", stepArt: "wait for art", stepScope: "scope the guest",
	stepFilter: "load the trace's filter", stepMemory: "limit the memory", stepExec: "execute the command",
}

// noDescriptor is -1.
const noDescriptor = ^uintptr(0)

func (p *Payload) newChild(link *os.File, set scope.Ruleset) (c *child, err error) {
	c = &child{link: link.Fd(), tty: uintptr(p.terminalStream()), ruleset: uintptr(set), joins: p.Joined, background: p.Background,
		message: control.Marshal(&control.Message{Kind: control.Running})}
	if c.memory, err = p.memoryLimit(); err != nil {
		return nil, fmt.Errorf("limit the memory: %w", err)
	}
	if p.Filter != nil {
		program, err := seccomp.Unmarshal(p.Filter)
		if err != nil {
			return nil, err
		}
		c.filter = &unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	}
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return nil, fmt.Errorf("start the command: %w", err)
	}
	c.outcomes, c.report = os.NewFile(uintptr(pipe[0]), "report"), uintptr(pipe[1])
	return c, c.prepareExec(p)
}

// prepareExec lays out the arguments of execve.
func (c *child) prepareExec(p *Payload) error {
	name := p.Command[0]
	candidates := p.candidates(name)
	script := append([]string{"sh", ""}, p.Command[1:]...)
	var err error
	addresses := func(list []string) []uintptr {
		pointers, e := syscall.SlicePtrFromStrings(list)
		err = errors.Join(err, e)
		c.kept = append(c.kept, pointers)
		all := make([]uintptr, len(pointers))
		for i, p := range pointers {
			all[i] = uintptr(unsafe.Pointer(p))
		}
		return all
	}
	argv, env := addresses(p.Command), addresses(p.Env)
	c.argv, c.env = uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&env[0]))
	c.kept = append(c.kept, argv, env)
	paths := addresses(candidates)
	c.paths, c.named = paths[:len(candidates)], strings.Contains(name, "/")
	c.shell, c.script = addresses([]string{"/bin/sh"})[0], addresses(script)
	if err != nil {
		return fmt.Errorf("start the command: %w", err) // a NUL in it
	}
	return nil
}

// run forks the child, and returns its process id.
func (c *child) run() (int, error) {
	// No signal's handler may run in the child: it is of Go's runtime.
	all, old := ^uint64(0), uint64(0)
	unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&all)), uintptr(unsafe.Pointer(&old)), signalSetSize, 0, 0)
	pid, errno := c.fork()
	unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&old)), 0, signalSetSize, 0, 0)
	runtime.KeepAlive(c)
	unix.Close(int(c.report))
	if errno != 0 {
		return 0, errno
	}
	return int(pid), nil
}

// outcome waits until the child has become the command, or has failed.
func (c *child) outcome() (failed bool, errno unix.Errno, err error) {
	defer c.outcomes.Close()
	answer := unsafe.Slice((*byte)(unsafe.Pointer(&c.answer)), unsafe.Sizeof(c.answer))
	n, err := c.outcomes.Read(answer)
	if n != len(answer) {
		return false, 0, nil // its end, by execve or by a signal, which is waited for
	}
	c.step = step(c.answer[0])
	return true, unix.Errno(c.answer[1]), nil
}

//go:nosplit
//go:norace
//go:noinline
func (c *child) fork() (pid uintptr, errno unix.Errno) {
	pid, _, errno = unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if pid != 0 || errno != 0 {
		return pid, errno
	}
	s, errno := c.become()
	c.answer[0], c.answer[1] = uint32(s), uint32(errno)
	unix.RawSyscall(unix.SYS_WRITE, c.report, uintptr(unsafe.Pointer(&c.answer)), unsafe.Sizeof(c.answer))
	for {
		unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
}

// become makes the child the command. It returns what went wrong.
//
//go:nosplit
//go:norace
//go:noinline
func (c *child) become() (step, unix.Errno) {
	// SIGTTOU is blocked, with which the kernel would answer from the background.
	pid, _, errno := unix.RawSyscall(unix.SYS_GETPID, 0, 0, 0)
	group := int32(pid)
	if errno == 0 {
		_, _, errno = unix.RawSyscall(unix.SYS_SETPGID, 0, 0, 0)
	}
	if errno == 0 && !c.background {
		_, _, errno = unix.RawSyscall(unix.SYS_IOCTL, c.tty, unix.TIOCSPGRP, uintptr(unsafe.Pointer(&group)))
	}
	if errno != 0 {
		return stepGroup, errno
	}
	if errno := c.awaitArt(); errno != 0 {
		return stepArt, errno
	}
	if c.ruleset != noDescriptor {
		if _, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, c.ruleset, 0, 0); errno != 0 {
			return stepScope, errno
		}
	}
	if c.memory != nil {
		if _, _, errno := unix.RawSyscall6(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_DATA, uintptr(unsafe.Pointer(c.memory)), 0, 0, 0); errno != 0 {
			return stepMemory, errno
		}
	}
	if c.filter != nil {
		if _, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW, uintptr(unsafe.Pointer(c.filter))); errno != 0 {
			return stepFilter, errno
		}
	}
	resetSignals()
	return stepExec, c.exec()
}

// awaitArt tells art of the process, and waits until art lets it go.
//
//go:nosplit
//go:norace
//go:noinline
func (c *child) awaitArt() unix.Errno {
	if !c.joins {
		// What traces it, which the guest is not there to do yet, reads the path and the arguments.
		unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 1, 0)
	}
	if _, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, c.link, uintptr(unsafe.Pointer(&c.message[0])), uintptr(len(c.message)), unix.MSG_NOSIGNAL, 0, 0); errno != 0 {
		return errno
	}
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, c.link, uintptr(unsafe.Pointer(&c.answer)), unsafe.Sizeof(c.answer), 0, 0, 0)
	if errno == 0 && n == 0 {
		return unix.ECONNRESET // art has ended
	}
	return errno
}

// exec is Payload.search.
//
//go:nosplit
//go:norace
//go:noinline
func (c *child) exec() unix.Errno {
	result := unix.ENOENT
	for _, path := range c.paths {
		_, _, errno := unix.RawSyscall(unix.SYS_EXECVE, path, c.argv, c.env)
		if errno == unix.ENOEXEC {
			c.script[1] = path
			_, _, errno = unix.RawSyscall(unix.SYS_EXECVE, c.shell, uintptr(unsafe.Pointer(&c.script[0])), c.env)
		}
		switch errno {
		case unix.ENOENT, unix.ENOTDIR:
			if c.named {
				return errno
			}
		case unix.EACCES:
			result = errno // a later directory may hold one that can be run
		default:
			return errno
		}
	}
	return result
}
