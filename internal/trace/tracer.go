package trace

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/trace/decode"
	"github.com/riverlytech/art/internal/trace/sysnum"
)

// task is one thread that is traced.
type task struct {
	pid int
	// call is the call whose exit is awaited; nil between calls and during
	// calls whose exit nobody wants.
	call *decode.Call
	// seen: the Observer has been told of call.
	seen bool
	// resumes is the name of the call that the next restart_syscall goes on with.
	resumes string
	// payload: the thread belongs to the command, not to what sets it up, so
	// its signals and its end are reported.
	payload bool
	// preempted: a signal by which the launcher's Go runtime preempts itself is
	// on its way and outlived execve (signal(7)); it is none of the command's.
	preempted bool
}

type tracer struct {
	cmd      *Command
	observer Observer
	tasks    map[int]*task
	root     int
	// began: a process with the filter has executed a program. Before that,
	// only its attempts to do so are reported.
	began bool
	// attempted: such a process has called execve.
	attempted bool
	job       job
	end       unix.WaitStatus // of root
}

// ErrNoFilter says that nothing could be reported, because none of the processes
// that were to load the filter did.
var ErrNoFilter = errors.New("trace: the command has ended and no process of it loaded the filter")

// Run executes cmd, tells the observer what it does, and returns how its first
// process ended once all processes have. An error that wraps ErrNotExecuted
// says that nothing was run.
//
// Run must be called from the main goroutine, locked to its thread: ptrace
// requests must come from the thread that attached (ptrace(2)).
func Run(cmd *Command, observer Observer) (unix.WaitStatus, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := defaultSIGCHLD(); err != nil {
		return 0, fmt.Errorf("trace: %w", err)
	}
	root, report, err := launch(cmd)
	if err != nil {
		return 0, err
	}
	defer unix.Close(report)
	t := &tracer{
		cmd: cmd, observer: observer, root: root,
		tasks: map[int]*task{root: {pid: root}},
	}
	if err := t.job.start(root); err != nil {
		t.kill()
		return 0, err
	}
	defer t.job.stop()
	if err := t.loop(); err != nil {
		t.kill()
		return 0, err
	}
	if err := launchError(report); err != nil {
		return t.end, err
	}
	if !t.attempted {
		return t.end, ErrNoFilter
	}
	return t.end, nil
}

// loop handles one stop or end after the other until no tracee is left.
func (t *tracer) loop() error {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WALL, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ECHILD):
			return nil
		case err != nil:
			return fmt.Errorf("wait for tracee: %w", err)
		}
		tk := t.tasks[pid]
		if tk == nil { // a new thread may be heard of before its creator's event
			tk = &task{pid: pid}
			t.tasks[pid] = tk
		}
		if err := t.handle(tk, status); err != nil && !errors.Is(err, unix.ESRCH) {
			// ESRCH: killed meanwhile; its end will be reported.
			return err
		}
	}
}

// kill ends all tracees and waits for them.
func (t *tracer) kill() {
	for pid := range t.tasks {
		unix.Kill(pid, unix.SIGKILL)
	}
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WALL, nil)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		if err == nil && status.Stopped() { // started meanwhile
			unix.Kill(pid, unix.SIGKILL)
		}
	}
}

func (t *tracer) handle(tk *task, status unix.WaitStatus) error {
	if !status.Stopped() {
		return t.ended(tk, status)
	}
	sig := status.StopSignal()
	switch event := int(status) >> 16; event {
	case unix.PTRACE_EVENT_SECCOMP:
		return t.enter(tk)
	case unix.PTRACE_EVENT_FORK, unix.PTRACE_EVENT_VFORK, unix.PTRACE_EVENT_CLONE:
		return t.forked(tk)
	case unix.PTRACE_EVENT_EXEC:
		return t.execed(tk)
	case eventStop:
		return t.groupStop(tk, sig)
	case 0:
		if sig == unix.SIGTRAP|0x80 { // PTRACE_O_TRACESYSGOOD
			return t.exit(tk)
		}
		return t.signal(tk, sig)
	default:
		return fmt.Errorf("trace thread %d: unexpected ptrace event %d", tk.pid, event)
	}
}

// resume lets a thread go on and delivers sig, if not 0. In a call whose exit is
// awaited it stops next at that exit: the entry stop of PTRACE_SYSCALL comes
// before seccomp and has been passed (ptrace(2), PTRACE_EVENT_SECCOMP, since 4.8).
func (t *tracer) resume(tk *task, sig unix.Signal) error {
	request := unix.PTRACE_CONT
	if tk.call != nil {
		request = unix.PTRACE_SYSCALL
	}
	return ptraceValue(request, tk.pid, uintptr(sig))
}

// enter handles a call that the filter selected.
func (t *tracer) enter(tk *task) error {
	var info syscallInfo
	if err := getSyscallInfo(tk.pid, &info); err != nil {
		return syscallInfoError(err)
	}
	c := &decode.Call{
		Pid: tk.pid, Arch: info.Arch, Nr: info.nr(), Args: info.args(), SP: info.SP,
		Start: time.Now(), Mem: memory(tk.pid), Resumes: tk.resumes,
	}
	c.Name = sysnum.Native.Name(c.Nr)
	if c.Foreign() {
		c.Name = fmt.Sprintf("syscall_%#x", c.Nr)
	}
	exec := !c.Foreign() && (c.Name == "execve" || c.Name == "execveat")
	tk.seen = (c.Foreign() || t.cmd.Selected(c.Name)) && (t.began || exec)
	if tk.seen {
		tk.call = c
		if err := t.observer.Enter(c); err != nil {
			return err
		}
	} else if exec && !t.began {
		tk.call = c
	}
	t.attempted = t.attempted || exec
	if t.began {
		tk.payload = true
	}
	return t.resume(tk, 0)
}

// exit handles the return of a call that enter has seen.
func (t *tracer) exit(tk *task) error {
	var info syscallInfo
	if err := getSyscallInfo(tk.pid, &info); err != nil {
		return syscallInfoError(err)
	}
	c := tk.call
	if c == nil || info.Op != unix.PTRACE_SYSCALL_INFO_EXIT {
		return t.resume(tk, 0)
	}
	tk.call = nil
	if c.Name != "restart_syscall" {
		tk.resumes = c.Name
	}
	if tk.seen {
		c.Ret, c.Failed, c.Duration = info.result(), info.failed(), time.Since(c.Start)
		if err := t.observer.Exit(c); err != nil {
			return err
		}
	}
	return t.resume(tk, 0)
}

func syscallInfoError(err error) error {
	if errors.Is(err, unix.EIO) || errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("read system call: %w: this needs Linux 5.3 or later", err)
	}
	return err
}

// forked handles the birth of a thread or process.
func (t *tracer) forked(tk *task) error {
	child, err := unix.PtraceGetEventMsg(tk.pid)
	if err != nil {
		return err
	}
	born := t.tasks[int(child)]
	if born == nil {
		born = &task{pid: int(child)}
		t.tasks[born.pid] = born
	}
	born.payload = born.payload || tk.payload
	return t.resume(tk, 0)
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
		caller.pid = tk.pid
		if caller.call != nil {
			caller.call.Pid, caller.call.Mem = tk.pid, memory(tk.pid)
		}
		tk = caller
		if tk.payload {
			if err := t.observer.Superseded(tk.pid, int(former)); err != nil {
				return err
			}
		}
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
		if err := t.observer.Signal(tk.pid, &info); err != nil {
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
		if err := t.observer.Stopped(tk.pid, sig); err != nil {
			return err
		}
	}
	if err := listen(tk.pid); err != nil {
		return err
	}
	if tk.pid == t.root {
		return t.job.stopped(sig)
	}
	return nil
}

func (t *tracer) ended(tk *task, status unix.WaitStatus) error {
	delete(t.tasks, tk.pid)
	if tk.pid == t.root {
		t.end = status
	}
	if !tk.payload {
		return nil
	}
	during := tk.call
	if !tk.seen {
		during = nil
	}
	return t.observer.Ended(tk.pid, status, during)
}
