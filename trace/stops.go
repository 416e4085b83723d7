package trace

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/syscalls"
	"github.com/riverlytech/art/trace/decode"
)

// resume lets a thread go on and delivers sig, if not 0. In a call whose exit is
// awaited it stops next at that exit: the entry stop of PTRACE_SYSCALL comes
// before seccomp and has been passed (ptrace(2), PTRACE_EVENT_SECCOMP, since 4.8).
func (t *tracer) resume(tk *task, sig unix.Signal) error {
	request := unix.PTRACE_CONT
	if tk.call != nil || t.everyCall {
		request = unix.PTRACE_SYSCALL
	}
	return ptraceValue(request, tk.pid, uintptr(sig))
}

// syscallStop handles the stop of a thread before or after a call.
func (t *tracer) syscallStop(tk *task) error {
	var info syscallInfo
	switch err := getSyscallInfo(tk.pid, &info); {
	case errors.Is(err, unix.EIO), errors.Is(err, unix.EINVAL):
		return fmt.Errorf("read system call: %w: this needs Linux 5.3 or later", err)
	case err != nil:
		return err
	}
	var err error
	switch {
	case info.Op == unix.PTRACE_SYSCALL_INFO_NONE:
		return nil // it has gone on to another stop: see stop.holds
	case info.Op == unix.PTRACE_SYSCALL_INFO_SECCOMP && t.everyCall: // the same call's second one
	case info.Op == unix.PTRACE_SYSCALL_INFO_SECCOMP, info.Op == unix.PTRACE_SYSCALL_INFO_ENTRY:
		err = t.enter(tk, &info)
	case info.Op == unix.PTRACE_SYSCALL_INFO_EXIT && tk.call != nil:
		err = t.exit(tk, &info)
	}
	if err != nil {
		return err
	}
	if err := t.resume(tk, 0); err != nil {
		return err
	}
	return t.handler.Flush()
}

// enter handles a call that is about to run.
func (t *tracer) enter(tk *task, info *syscallInfo) error {
	c := &tk.current
	tk.process = process(tk.pid)
	c.Reset()
	c.Pid, c.Arch, c.Nr, c.Args, c.SP = tk.pid, info.Arch, info.nr(), info.args(), info.SP
	c.Start, c.Mem, c.Files, c.Resumes = time.Now(), &tk.process, &tk.process, tk.resumes
	if c.Foreign() {
		narrow(c)
	} else {
		c.Name = syscalls.Native.Name(c.Nr)
	}
	tk.args, tk.changed, tk.execed = c.Args, c.Args, false
	exec := !c.Foreign() && (c.Name == "execve" || c.Name == "execveat")
	t.attempted = t.attempted || exec
	if t.began {
		tk.payload = true
	}
	c.First = exec && !t.began
	tk.seen = (c.Foreign() || t.selected(c.Name)) && (t.began || exec)
	if tk.seen || exec && !t.began {
		tk.call = c
	}
	if !tk.seen {
		return nil
	}
	if err := t.handler.Enter(c); err != nil {
		return err
	}
	if c.Injected {
		return skipCall(tk.pid)
	}
	if c.Args == tk.args {
		return nil
	}
	tk.changed = c.Args
	return setArgs(tk.pid, c.Narrow(), &tk.args, &c.Args)
}

// narrow completes a call through the interface of another architecture. The upper halves of
// registers are no part of a 32-bit program's arguments.
func narrow(c *decode.Call) {
	if c.Name = syscalls.Foreign(c.Arch, c.Nr); c.Name == "" {
		c.Name = fmt.Sprintf("syscall_%#x", c.Nr)
	}
	if c.Narrow() {
		for i, v := range c.Args {
			c.Args[i] = uint64(uint32(v))
		}
	}
}

// exit handles the return of a call that enter has seen.
func (t *tracer) exit(tk *task, info *syscallInfo) error {
	c := tk.call
	tk.call = nil
	if c.Name != "restart_syscall" {
		tk.resumes = c.Name
	}
	if !tk.seen {
		return nil
	}
	c.Duration = time.Since(c.Start)
	if !c.Injected {
		c.Ret, c.Failed = info.result(), info.failed()
	}
	if err := t.handler.Exit(c); err != nil {
		return err
	}
	if !tk.execed {
		if err := t.restore(tk); err != nil {
			return err
		}
	}
	if c.Injected {
		return setResult(tk.pid, c.Ret)
	}
	return nil
}

// restore puts back what a handler has changed of a call's arguments: programs count
// on the kernel to leave these registers alone. A program that was executed has its own.
func (t *tracer) restore(tk *task) error {
	tk.current.Restore()
	was, now := tk.changed, tk.args
	if was == now {
		return nil
	}
	if resultInFirst {
		was[0] = now[0]
	}
	return setArgs(tk.pid, tk.current.Narrow(), &was, &now)
}

// execed handles a successful execve, before it returns. When a thread other
// than the first of its process made the call, it has just taken over the first
// one's id, and the first one has vanished without an end of its own.
func (t *tracer) execed(tk *task) error {
	former, err := unix.PtraceGetEventMsg(tk.pid)
	if err != nil {
		return err
	}
	if caller := t.tasks[int(former)]; caller != nil && caller != tk {
		delete(t.tasks, caller.pid)
		t.tasks[tk.pid] = caller
		caller.pid, caller.process, caller.current.Pid = tk.pid, process(tk.pid), tk.pid
		caller.born = true // who has started it has ended by now
		tk = caller
		if tk.payload {
			if err := t.handler.Superseded(tk.pid, int(former)); err != nil {
				return err
			}
		}
	}
	tk.execed = true
	if t.streams != nil && tk.pid == t.root && !isLauncher(tk.pid) {
		t.streams.begin()
		t.streams = nil
	}
	if t.filtered && !t.began && !t.attempted && !isLauncher(tk.pid) { // whose own start may be seen, too
		// The call did not stop: a filter around the tracer asks its listener about it, which the kernel does instead
		// (seccomp(2), the order of the actions). It may ask about others, too.
		t.everyCall, t.attempted, t.began, tk.payload = true, true, true, true
	}
	if tk.call != nil {
		if !tk.payload {
			if tk.preempted, err = pending(tk.pid, preemption); err != nil {
				return err
			}
		}
		t.began, tk.payload = true, true
	}
	return t.resume(tk, 0)
}

// signal handles a signal on its way to the thread: it is reported and delivered.
func (t *tracer) signal(tk *task, sig unix.Signal) error {
	if tk.preempted && sig == preemption {
		tk.preempted = false
		return t.resume(tk, 0)
	}
	if tk.payload {
		var info decode.Siginfo
		if err := getSiginfo(tk.pid, &info); err != nil {
			return err
		}
		if t.job != nil && t.job.echo(tk.pid, &info) {
			return t.resume(tk, 0)
		}
		if err := t.handler.Signal(tk.pid, &info); err != nil {
			return err
		}
	}
	return t.resume(tk, sig)
}

// groupStop handles PTRACE_EVENT_STOP: a stopped process stays so until SIGCONT;
// a new thread, or one that SIGCONT has woken, goes on.
func (t *tracer) groupStop(tk *task, sig unix.Signal) error {
	switch sig {
	case unix.SIGSTOP, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU:
	default:
		return t.resume(tk, 0)
	}
	if tk.payload {
		if err := t.handler.Stopped(tk.pid, sig); err != nil {
			return err
		}
	}
	if err := listen(tk.pid); err != nil {
		return err
	}
	if tk.pid == t.root && t.job != nil {
		return t.job.stopped(sig)
	}
	return nil
}

// during returns the call that the thread is in, if the handler knows of it.
func (tk *task) during() *decode.Call {
	if !tk.seen {
		return nil
	}
	return tk.call
}
