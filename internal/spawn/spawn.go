// Package spawn starts processes as os/exec does, without two things that take time when a session starts.
//
// Package syscall copies the address space for a child in a user namespace of its own, since the parent has to go on to
// write which ids there are, and then each page that either of them writes to (forkAndExecInChild1 in syscall/exec_linux.go).
// Here the child has the memory of its parent, and both go on: it is no more than a list of system calls, which it makes
// without a stack. And package os makes a process first to find out whether the kernel has pidfds.
package spawn

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Command is a program to be started.
type Command struct {
	Path string
	Args []string // with the zeroth
	Env  []string
	// Files are its descriptors from 0 on. What else is open has to be closed by exec.
	Files []*os.File
	// Closed has all others closed by exec: those, too, that this process's own caller has left open.
	Closed bool
	// Setsid begins a session.
	Setsid bool
	// Deathsig kills it when the thread ends that has started it.
	Deathsig bool
	// TimerSlack is by how much its timers may be late (PR_SET_TIMERSLACK(2const)); 0: as those of the thread that starts it.
	TimerSlack time.Duration
	// Flags are those of the namespaces that it begins: CLONE_NEW….
	Flags uintptr
	// IDs are those of a new user namespace.
	IDs *IDs
	// Enter are namespaces that it enters, in this order, which the caller has rights over.
	Enter []*os.File
	// Capabilities are those in it that the program has, whoever runs it (capabilities(7), ambient).
	Capabilities []uintptr
}

// Start starts the program, and returns when it has begun.
func (c *Command) Start() (*Process, error) {
	p, err := c.start()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	return p, nil
}

func (c *Command) start() (*Process, error) {
	begun, err := newPipe()
	if err != nil {
		return nil, err
	}
	defer begun.close()
	l := &calls{}
	if c.Deathsig {
		l.add(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL))
	}
	if c.TimerSlack > 0 {
		l.add(unix.SYS_PRCTL, unix.PR_SET_TIMERSLACK, uintptr(c.TimerSlack.Nanoseconds()))
	}
	var ids *pipe
	if c.IDs != nil {
		if ids, err = newPipe(); err != nil {
			return nil, err
		}
		defer ids.close()
		l.await(ids)
		l.raise(c.Capabilities)
	}
	for _, namespace := range c.Enter {
		l.add(unix.SYS_SETNS, namespace.Fd(), 0)
	}
	files, err := inherit(c.Files)
	defer func() {
		for _, fd := range files {
			unix.Close(fd)
		}
	}()
	if err != nil {
		return nil, err
	}
	if c.Setsid {
		l.add(unix.SYS_SETSID)
	}
	for target, fd := range files {
		l.add(unix.SYS_DUP3, uintptr(fd), uintptr(target), 0)
	}
	if c.Closed {
		l.add(unix.SYS_CLOSE_RANGE, uintptr(len(files)), uintptr(^uint32(0)), unix.CLOSE_RANGE_CLOEXEC)
	}
	l.unblock()
	if err := l.execve(c); err != nil {
		return nil, err
	}
	p, err := l.start(c.Flags)
	if err != nil {
		return nil, err
	}
	if c.IDs != nil {
		if err = c.IDs.give(p.Pid); err == nil {
			err = ids.put()
		}
		ids.close()
	}
	begun.closeWriter()
	begun.drain()
	// The child has memory of its own now, or none.
	if failed := l.failure(); err == nil {
		err = failed
	}
	if err != nil {
		p.Kill()
		_, _ = p.Wait()
		return nil, err
	}
	return p, nil
}

// inherit duplicates files, to descriptors that none of them is to have in the child.
func inherit(files []*os.File) (fds []int, err error) {
	for _, f := range files {
		fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, len(files))
		if err != nil {
			return fds, err
		}
		fds = append(fds, fd)
	}
	return fds, nil
}

func (c *calls) execve(program *Command) error {
	path, err := syscall.BytePtrFromString(program.Path)
	if err != nil {
		return err
	}
	args, err := syscall.SlicePtrFromStrings(program.Args)
	if err != nil {
		return err
	}
	env, err := syscall.SlicePtrFromStrings(program.Env)
	if err != nil {
		return err
	}
	c.kept = append(c.kept, args, env)
	c.add(unix.SYS_EXECVE, address(c, path), uintptr(unsafe.Pointer(&args[0])), uintptr(unsafe.Pointer(&env[0])))
	return nil
}

// pipe is one that every program closes.
type pipe struct{ r, w int }

func newPipe() (*pipe, error) {
	var fds [2]int
	err := unix.Pipe2(fds[:], unix.O_CLOEXEC)
	return &pipe{fds[0], fds[1]}, err
}

func (p *pipe) closeWriter() {
	if p.w >= 0 {
		unix.Close(p.w)
		p.w = -1
	}
}

func (p *pipe) close() {
	p.closeWriter()
	if p.r >= 0 {
		unix.Close(p.r)
		p.r = -1
	}
}

func (p *pipe) put() error {
	_, err := unix.Write(p.w, []byte{0})
	return err
}

// drain waits until the last process has closed the other end.
func (p *pipe) drain() {
	var b [1]byte
	for {
		if _, err := unix.Read(p.r, b[:]); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
