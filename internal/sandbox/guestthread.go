package sandbox

import (
	"runtime"

	"github.com/riverlytech/art/internal/sandbox/scope"
)

// guestThread starts all processes that become the guest's. The kernel kills them when the thread ends that started them
// (prctl(2), PR_SET_PDEATHSIG), so this one stays as long as the session; and it keeps them in a domain of their own, which
// only what it starts inherits (package scope).
type guestThread struct {
	calls  chan func()
	scoped bool // the thread is in the domain; the thread's alone
}

func newGuestThread() *guestThread {
	t := &guestThread{calls: make(chan func())}
	go func() {
		runtime.LockOSThread() // for good: no other goroutine may find itself in that domain
		for call := range t.calls {
			call()
		}
	}()
	return t
}

// start has the thread start a process. The first call makes the domain.
func (t *guestThread) start(begin func() error) error {
	result := make(chan error)
	t.calls <- func() {
		var err error
		if !t.scoped {
			err = scope.Thread()
		}
		if t.scoped = err == nil; t.scoped {
			err = begin()
		}
		result <- err
	}
	return <-result
}

// endThread lets the thread end, and with it all that it has started.
func (s *session) endThread() {
	if s.thread != nil {
		close(s.thread.calls)
	}
}
