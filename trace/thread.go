package trace

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// errGoexit says that a handler has left its goroutine, as (*testing.T).FailNow does.
var errGoexit = errors.New("trace: the handler has ended the tracer's goroutine")

// onThread calls f on a thread of its own, and abandon there if f does not return.
// Ptrace requests must come from the thread that attached (ptrace(2)), and only what
// a thread has started itself is waited for by it. It is one that has no children yet,
// since goroutines have started others' where they happened to run, and not the process's
// first: the kernel makes that one the parent of what other threads have started when
// these end (forget_original_parent in kernel/exit.c).
func onThread(abandon func(), f func() error) error {
	err := errGoexit
	done := make(chan struct{})
	var begin func()
	begin = func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if thread := unix.Gettid(); thread == os.Getpid() || hasChildren(thread) {
			go begin()
			<-done // and keeps that thread meanwhile
			return
		}
		defer close(done)
		returned := false
		defer func() {
			if !returned {
				abandon()
			}
		}()
		err = f()
		returned = true
	}
	go begin()
	<-done
	return err
}

// hasChildren reports whether a thread of this process has started processes that
// have not been waited for.
func hasChildren(thread int) bool {
	children, err := os.ReadFile("/proc/self/task/" + strconv.Itoa(thread) + "/children")
	return err == nil && len(children) > 0
}

// wake is the signal that gets the tracer's thread out of wait4(2). The Go runtime
// handles it, and does nothing if it has not sent it (doSigPreempt in
// runtime/signal_unix.go).
const wake = unix.SIGURG

// watch sets quit when ctx ends, and then makes the calling thread's wait4 return.
// The returned function ends the watch.
func (t *tracer) watch(ctx context.Context) (done func()) {
	if ctx.Done() == nil {
		return func() {}
	}
	pid, thread := os.Getpid(), unix.Gettid()
	ended, left := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(left)
		select {
		case <-ctx.Done():
		case <-ended:
			return
		}
		t.quit.Store(true)
		restore, err := interrupting.change(wake, func(a *sigactionArg) { a[1] &^= saRestart })
		if err == nil {
			defer restore()
		}
		// The thread may be just about to wait when the signal comes.
		for {
			_ = unix.Tgkill(pid, thread, wake)
			select {
			case <-time.After(20 * time.Millisecond):
			case <-ended:
				return
			}
		}
	}()
	return func() { close(ended); <-left }
}

// Flags of sigaction(2).
const (
	saNocldstop = 1
	saRestart   = 0x10000000
)

// shared is a change of what a signal does, for as long as somebody needs it.
type shared struct {
	mu    sync.Mutex
	users int
	was   sigactionArg
}

var quiet, interrupting shared

// change changes what sig does, and returns what undoes that.
func (s *shared) change(sig unix.Signal, how func(*sigactionArg)) (restore func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == 0 {
		if err := sigaction(sig, nil, &s.was); err != nil {
			return nil, err
		}
		now := s.was
		how(&now)
		if err := sigaction(sig, &now, nil); err != nil {
			return nil, err
		}
	}
	s.users++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.users--; s.users == 0 {
			_ = sigaction(sig, &s.was, nil)
		}
	}, nil
}

// quietSIGCHLD keeps the stops of tracees, each of which sends SIGCHLD otherwise
// (ptrace(2)), from the Go runtime's handler: to enter and leave it costs a tenth of
// what a traced call costs. It returns what undoes that.
func quietSIGCHLD() (restore func(), err error) {
	return quiet.change(unix.SIGCHLD, func(a *sigactionArg) { a[1] |= saNocldstop })
}
