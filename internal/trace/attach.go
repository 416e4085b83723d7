package trace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Attach tells the handler what the running process pid does, and what it starts
// from now on, until all of that has ended or this process gets SIGINT, SIGTERM
// or SIGHUP, or the handler fails. What still runs then goes on untraced, as it
// does when this process is killed.
//
// Like Run, it must be called from the main goroutine, locked to its thread.
func Attach(pid int, selected func(name string) bool, handler Handler) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := defaultSIGCHLD(); err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	t := &tracer{
		handler: handler, selected: selected, root: pid, tasks: map[int]*task{},
		everyCall: true, began: true, quit: new(atomic.Bool),
	}
	done, err := quitOnSignal(t.quit)
	if err != nil {
		return fmt.Errorf("attach: %w", err)
	}
	defer done()
	if err := t.seizeAll(pid); err != nil {
		t.detach()
		return err
	}
	if err = t.loop(); err == nil {
		for _, tk := range t.tasks {
			err = errors.Join(err, handler.Detached(tk.pid, tk.during()))
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
			t.tasks[id] = &task{pid: id, payload: true}
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
		sig := s.status.StopSignal()
		if !s.status.Stopped() || int(s.status)>>16 != 0 || sig == unix.SIGTRAP|0x80 {
			sig = 0
		}
		// Fails for one that has ended.
		_ = ptraceValue(unix.PTRACE_DETACH, s.pid, uintptr(sig))
	}
}

// quitOnSignal sets quit when a signal asks this process to end, and then makes
// the calling thread's wait4 return. The returned function undoes that.
func quitOnSignal(quit *atomic.Bool) (done func(), err error) {
	wanted := []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP}
	signals, ended := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, wanted...)
	for _, sig := range wanted {
		if err := interruptCalls(sig.(unix.Signal)); err != nil {
			return nil, err
		}
	}
	pid, thread := os.Getpid(), unix.Gettid()
	go func() {
		select {
		case <-signals:
		case <-ended:
			return
		}
		quit.Store(true)
		// The thread may be just about to wait when the signal comes.
		for {
			unix.Tgkill(pid, thread, unix.SIGINT)
			select {
			case <-time.After(20 * time.Millisecond):
			case <-ended:
				return
			}
		}
	}()
	return func() { close(ended); signal.Stop(signals) }, nil
}

// interruptCalls makes sig interrupt system calls: the Go runtime installs its
// handlers with SA_RESTART.
func interruptCalls(sig unix.Signal) error {
	const saRestart = 0x10000000
	var action sigactionArg
	if err := sigaction(sig, nil, &action); err != nil {
		return err
	}
	action[1] &^= saRestart
	return sigaction(sig, &action, nil)
}
