package commands

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// ends tells of processes that end without having said so.
type ends struct {
	epoll int
	most  int // descriptors

	mu    sync.Mutex
	pids  map[int]watched // GUARDED_BY(mu); by their descriptors
	count int32           // GUARDED_BY(mu); of those that there have been
}

// watched is a process, by its id here and that which FUSE knows. An event tells the descriptor and the count: its descriptor may have
// been closed, and be another's, since the kernel has told of it.
type watched struct {
	host, pid int
	count     int32
}

func newEnds() (*ends, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("watch processes: %w", err)
	}
	return &ends{epoll: fd, most: spare(), pids: map[int]watched{}}, nil
}

// keep is how many descriptors are left for others of this process's needs, if it may have twice as many.
const keep = 128

// spare returns how many descriptors there may be of processes.
func spare() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return keep
	}
	n := int(min(limit.Cur, 1<<30))
	return n - min(keep, n/2)
}

// full says that there are as many descriptors as there may be.
func (e *ends) full() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.pids) >= e.most
}

// add watches a process by its descriptor, which it takes over.
func (e *ends) add(fd, host, pid int) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.count++
	if err := unix.EpollCtl(e.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd), Pad: e.count}); err != nil {
		unix.Close(fd)
		return err
	}
	e.pids[fd] = watched{host, pid, e.count}
	return nil
}

// remove ends the watch of a process.
func (e *ends) remove(fd int) {
	if fd < 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.pids, fd)
	unix.Close(fd)
}

// watch calls died for each process that has ended, which is to remove it.
func (e *ends) watch(died func(pid, code int)) {
	var events [64]unix.EpollEvent
	for {
		n, err := unix.EpollWait(e.epoll, events[:], -1)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return
		}
		for _, event := range events[:max(n, 0)] {
			if pid, code, ok := e.ended(event); ok {
				died(pid, code)
			}
		}
	}
}

// ended returns which process an event is of, and its exit code; false if that is not watched any more.
func (e *ends) ended(event unix.EpollEvent) (pid, code int, ok bool) {
	e.mu.Lock() // so that the descriptor stays its own: of a process that has ended nothing is looked at that could be the guest's
	defer e.mu.Unlock()
	p, ok := e.pids[int(event.Fd)]
	if !ok || p.count != event.Pad {
		return 0, 0, false
	}
	return p.pid, exitCode(p.host, int(event.Fd)), true
}

// exitCode returns what a shell would call the exit code of a process that has ended, or -1 where that is not known: a process that is
// waited for before it is looked at here tells it since 6.15 (PIDFD_INFO_EXIT).
func exitCode(host, pidfd int) int {
	var buf [1024]byte
	stat := read(unix.AT_FDCWD, fmt.Sprintf("/proc/%d/stat", host), buf[:])
	// Behind the name, which may have anything in it, there are the state and 49 more (proc_pid_stat(5)).
	f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(f) >= 50 && string(f[0]) == "Z" {
		if status, err := strconv.Atoi(string(f[49])); err == nil {
			return shellCode(status)
		}
	}
	if info, ok := pidfdInfo(pidfd, unix.PIDFD_INFO_EXIT); ok && info.Mask&unix.PIDFD_INFO_EXIT != 0 {
		return shellCode(int(info.Exit_code))
	}
	return -1
}

// shellCode is for a status of wait(2).
func shellCode(status int) int {
	w := unix.WaitStatus(status)
	if w.Signaled() {
		return 128 + int(w.Signal())
	}
	return w.ExitStatus()
}
