package trace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Attach tells the handler what the running process pid does, and what it starts
// from now on, until all of that has ended, ctx ends, or the handler fails. What still
// runs then goes on untraced, as it does when this process is killed; of a call that it is in, the arguments are the program's again.
// That ctx ends is no error, unlike with Run: nothing is lost by it. The calls are
// selected as by Command.Calls, and the handler's methods called as by Run.
func Attach(ctx context.Context, pid int, calls []string, handler Handler) error {
	return AttachAll(ctx, []int{pid}, calls, handler)
}

// AttachAll is Attach for several processes. If it cannot attach to one of them, it does to none.
func AttachAll(ctx context.Context, pids []int, calls []string, handler Handler) error {
	set, err := (&Command{Calls: calls}).selected(handler)
	if err != nil {
		return fmt.Errorf("attach: %w", err)
	}
	t := newTracer(handler, set.Has)
	t.everyCall, t.began = true, true
	return onThread(t.detach, func() error { return t.attach(ctx, pids) })
}

// attach is AttachAll on the tracer's thread.
func (t *tracer) attach(ctx context.Context, pids []int) error {
	restore, err := quietSIGCHLD()
	if err != nil {
		return fmt.Errorf("attach: %w", err)
	}
	defer restore()
	defer t.watch(ctx)()
	for _, pid := range pids {
		if err := t.seizeAll(pid); err != nil {
			t.detach()
			return err
		}
	}
	if err = t.loop(); err == nil {
		for _, tk := range t.tasks {
			err = errors.Join(err, t.handler.Detached(tk.pid, tk.during()))
		}
	}
	t.detach()
	return err
}

// seizeAll attaches to all threads of process pid. Threads that they start are
// attached to by the kernel, so it is enough to look until none is new.
func (t *tracer) seizeAll(pid int) error {
	for found := true; found; {
		found = false
		threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if errors.Is(err, fs.ErrNotExist) {
			err = unix.ESRCH
		}
		if err != nil {
			return fmt.Errorf("attach to process %d: %w", pid, err)
		}
		for _, thread := range threads {
			id, err := strconv.Atoi(thread.Name())
			if err != nil || t.tasks[id] != nil {
				continue
			}
			switch err := ptraceValue(unix.PTRACE_SEIZE, id, attachOptions); {
			case errors.Is(err, unix.ESRCH) && id != pid: // it has ended
				continue
			case errors.Is(err, unix.EPERM) && tracedBy(id) == os.Getpid():
				continue // the kernel was faster; its first stop is to come
			case err != nil:
				return attachError(id, err)
			}
			t.tasks[id] = &task{pid: id, payload: true, born: true}
			found = true
			// Only a thread that has stopped can be told to stop at calls.
			if err := interrupt(id); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("attach to process %d: %w", id, err)
			}
		}
	}
	return nil
}

// detach lets all tracees go on without a tracer. A signal that one of them has
// stopped for is delivered, and a group stop stays.
func (t *tracer) detach() {
	for pid := range t.tasks {
		_ = interrupt(pid) // fails for one that has ended
	}
	for {
		if len(t.stops) == 0 {
			err := t.wait(0)
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if err != nil {
				return // none is left
			}
		}
		s := t.stops[0]
		t.stops = t.stops[1:]
		if tk := t.tasks[s.pid]; tk != nil && s.status.Stopped() {
			_ = t.undo(tk, s) // fails for one that has ended
		}
		sig := s.status.StopSignal()
		if !s.status.Stopped() || int(s.status)>>16 != 0 || sig == unix.SIGTRAP|0x80 {
			sig = 0
		}
		// Fails for one that has ended.
		_ = ptraceValue(unix.PTRACE_DETACH, s.pid, uintptr(sig))
	}
}

// undo puts back what a handler has changed of the call that a thread is in, which the kernel may make again. If it has just ended, its result
// is what the handler has said.
func (t *tracer) undo(tk *task, s stop) error {
	if tk.during() == nil || tk.execed || int(s.status)>>16 == unix.PTRACE_EVENT_EXEC {
		return nil
	}
	if err := t.restore(tk); err != nil {
		return err
	}
	var info syscallInfo
	if err := getSyscallInfo(tk.pid, &info); err != nil {
		return err
	}
	if tk.current.Injected && info.Op == unix.PTRACE_SYSCALL_INFO_EXIT {
		return setResult(tk.pid, tk.current.Ret)
	}
	return nil
}
