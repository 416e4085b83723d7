package spawn

import (
	"errors"
	"fmt"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Process is a child of this process.
type Process struct {
	Pid int

	mu sync.Mutex
	fd int // a pidfd. GUARDED_BY(mu); -1 once the process was waited for
}

// Kill kills the process, if it has not ended.
func (p *Process) Kill() { p.Signal(unix.SIGKILL) }

// Signal sends a signal to the process, if it has not ended.
func (p *Process) Signal(sig unix.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fd >= 0 {
		_ = unix.PidfdSendSignal(p.fd, sig, nil, 0) // it has ended
	}
}

// Wait waits for the end of the process. It is to be called once.
func (p *Process) Wait() (status syscall.WaitStatus, err error) {
	for {
		if _, err = syscall.Wait4(p.Pid, &status, 0, nil); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	unix.Close(p.fd)
	p.fd = -1
	return status, err
}

// Check returns how a process ended as an error, unless it did with exit code 0.
func Check(status syscall.WaitStatus, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("wait for a process: %w", err)
	case status.Signaled():
		return fmt.Errorf("signal: %s", status.Signal())
	case status.ExitStatus() != 0:
		return fmt.Errorf("exit status %d", status.ExitStatus())
	}
	return nil
}
