package trace

import (
	"errors"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// kept is the keeper as the tracer knows it.
type kept struct {
	pid   int
	ended chan struct{}    // closed when it has ended
	start sync.Once        // of what kill does
	await func() (ok bool) // waits for the end: not ok is that it was killed

	mu      sync.Mutex
	control int  // the socket to it
	reaped  bool // GUARDED_BY(mu); pid may be another's
	closed  bool // GUARDED_BY(mu); control may be another's
}

// started is for a keeper that has been started.
func (k *kept) started(pid, control int) {
	k.pid, k.control, k.ended, k.await = pid, control, make(chan struct{}), sync.OnceValue(k.reap)
}

// reap waits for the keeper's end.
func (k *kept) reap() (ok bool) {
	for { // its id stays its own meanwhile
		if err := unix.Waitid(unix.P_PID, k.pid, nil, unix.WEXITED|unix.WNOWAIT, nil); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	var status unix.WaitStatus
	_, err := unix.Wait4(k.pid, &status, unix.WNOHANG, nil)
	k.reaped = true
	close(k.ended)
	return err == nil && status == 0
}

// kill has the keeper kill all that runs, and does not wait for that. One that somebody has stopped by SIGSTOP is continued, as often as it
// takes.
func (k *kept) kill() {
	k.start.Do(func() {
		k.end()
		go func() {
			for {
				select {
				case <-k.ended:
					return
				case <-time.After(100 * time.Millisecond):
				}
				k.mu.Lock()
				if !k.reaped {
					_ = unix.Kill(k.pid, unix.SIGCONT)
				}
				k.mu.Unlock()
			}
		}()
	})
}

// end tells the keeper that the trace ends.
func (k *kept) end() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.closed {
		_ = unix.Shutdown(k.control, unix.SHUT_WR)
	}
}

// close closes the socket.
func (k *kept) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	unix.Close(k.control)
}
