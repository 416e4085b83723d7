package commands

import (
	"errors"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// past is a process that has ended.
type past struct {
	pid int
	was *process
	at  time.Time
}

// linger is for how long a process is known that has ended: its other threads may still be asking for something.
const linger = time.Second

// maxKnown bounds how many processes are known.
const maxKnown = 100_000

// errMany says why a command is not learnt where that many processes are known.
var errMany = errors.New("too many processes")

// lockRoom locks l.mu, and says whether there is room for one more process.
func (l *Learner) lockRoom() bool {
	l.mu.Lock()
	now := time.Now()
	l.forgetPast(now)
	if len(l.known) >= l.most && now.Sub(l.swept) > linger {
		l.swept = now
		l.mu.Unlock()
		l.sweep()
		l.mu.Lock()
	}
	return len(l.known) < l.most
}

// sweep forgets processes that have executed nothing and have ended: if they are killed nobody hears of it, as they have no descriptor.
func (l *Learner) sweep() {
	forks := map[int]*process{}
	l.mu.Lock()
	for pid, p := range l.known {
		if p.host == 0 {
			forks[pid] = p
		}
	}
	l.mu.Unlock()
	for pid := range forks {
		if unix.Faccessat(l.guest, strconv.Itoa(pid), unix.F_OK, 0) == nil {
			delete(forks, pid)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for pid, p := range forks {
		if l.known[pid] == p {
			delete(l.known, pid)
		}
	}
}

// forgetPast forgets what has ended some time ago. l.mu is held.
func (l *Learner) forgetPast(now time.Time) {
	for len(l.past) > 0 && now.Sub(l.past[0].at) > linger {
		if p := l.past[0]; l.known[p.pid] == p.was {
			delete(l.known, p.pid)
		}
		l.past = l.past[1:]
	}
}

// watch has the end of a process be learnt, also if it makes no call to end. It takes over the descriptor, which is one of gone and without if
// there is none.
func (l *Learner) watch(s status, pidfd int) {
	switch {
	case pidfd == gone:
		l.end(s.guest, -1)
		return
	case pidfd == without || l.ends.add(pidfd, s.tgid, s.guest) != nil:
		l.poll(s)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.known[s.guest]; p != nil && p.host == s.tgid && !p.ended {
		p.pidfd = pidfd
	} else {
		l.ends.remove(pidfd)
	}
}

const (
	gone    = -1 // for the descriptor of a process that has ended
	without = -2 // for that of one for which there is none to spare
)

// pidfd opens a descriptor of a process.
func (l *Learner) pidfd(host int) int {
	if l.ends.full() {
		return without
	}
	fd, err := unix.PidfdOpen(host, 0)
	switch {
	case errors.Is(err, unix.ESRCH):
		return gone
	case err != nil:
		return without
	}
	return fd
}

// pollTime is how long a process may have ended before that is seen, if nothing tells of it.
const pollTime = time.Second

// poll looks from time to time whether a process has ended, as there is no descriptor to tell of it.
func (l *Learner) poll(s status) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.known[s.guest]; p != nil && p.host == s.tgid && !p.ended {
		if l.unwatched[s.guest] = p; len(l.unwatched) == 1 {
			time.AfterFunc(pollTime, l.polled)
		}
	}
}

// polled looks at all that are polled.
func (l *Learner) polled() {
	list := map[int]*process{}
	l.mu.Lock()
	for pid, p := range l.unwatched {
		if p.ended || l.known[pid] != p {
			delete(l.unwatched, pid)
		} else {
			list[pid] = p
		}
	}
	if len(list) > 0 {
		time.AfterFunc(pollTime, l.polled)
	}
	l.mu.Unlock()
	for pid, p := range list {
		fd, err := unix.PidfdOpen(p.host, 0)
		switch {
		case errors.Is(err, unix.ESRCH):
			l.end(pid, -1)
		case err != nil:
		case ready(fd):
			l.end(pid, exitCode(p.host, fd))
			unix.Close(fd)
		default:
			unix.Close(fd)
		}
	}
}

// ready says that a process has ended.
func ready(pidfd int) bool {
	fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0
}
