package commands

import (
	"errors"
	"hash/maphash"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/control"
)

// attempt is from where a process has called execve, and with which arguments and environment. One that calls it from there with these
// again has not become another program, but tries another path for the same one. A program that is always at the same address, and so are its
// arguments, can have become itself; then they say something else.
type attempt struct {
	ip, argv, env uint64
	args          uint64 // a hash of what argv leads to
}

var seed = maphash.MakeSeed()

// executes learns of a command.
func (l *Learner) executes(tid int, waits func() bool, a attempt, dir int, path uint64, flags int) {
	c := control.Command{Kind: control.Executed, At: time.Now()}
	name, args, cut, err := memory{tid}.exec(path, a.argv)
	if err != nil {
		if errors.Is(err, unix.EPERM) { // nobody may look at the memory of others (kernel.yama.ptrace_scope=3)
			l.fails(err)
		}
		return // as the call will
	}
	cwd := sync.OnceValue(func() string { return l.link(tid, "cwd") })
	may, file, err := l.executable(tid, dir, name, cwd, flags)
	if err != nil {
		l.fails(err)
	}
	if !may {
		return
	}
	s, ok := l.status(tid)
	if !ok {
		return
	}
	if len(args) == 0 {
		args = append([]byte(name), 0)
	}
	a.args = maphash.Bytes(seed, args)
	proven := !cut && l.proven(file)
	fresh, again := l.tries(s, tid, a)
	if again {
		l.repeats(s.guest, tid, file, proven)
		return
	}
	l.settle(s.guest, tid, 0) // what it has tried before this
	pidfd := gone
	if fresh {
		if pidfd = l.pidfd(s.tgid); pidfd >= 0 && s.parent == 0 {
			s.parent = parentOf(pidfd)
		}
	}
	c.Argv, c.Cut, c.Dir, c.PID = args, cut, cwd(), s.guest
	if c.Parent = s.guest; !l.knows(s.guest) { // else it was a command before, or belonged to one
		c.Parent = l.parent(s)
		l.settle(c.Parent, 0, 0)
	}
	var d *doubt
	if !proven {
		d = l.doubts(s, tid, a, file, &c)
		c.Doubtful = d != nil
	}
	if fresh {
		c.Starter = l.of(c.Parent).number
	}
	there := waits()
	if !there || fresh && !l.add(s, tid, a) {
		if unix.Close(pidfd); there {
			l.fails(errMany)
		}
		return
	}
	l.mu.Lock()
	if p := l.known[s.guest]; p != nil {
		p.doubt = d
	}
	l.mu.Unlock()
	l.tell(&c)
	if fresh { // only now, as it may have been killed by now, and is to end after it has begun
		l.watch(s, pidfd)
	}
}

// tries says of a process that executes something whether it is fresh, having executed nothing before, or tries the same again.
func (l *Learner) tries(s status, tid int, a attempt) (fresh, again bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.known[s.guest]
	if p == nil || p.host != s.tgid || p.ended {
		return true, false
	}
	again = p.last == a
	p.last, p.by, p.code = a, tid, -1
	return false, again
}

// add notes that a process executes something for the first time, and returns false if there is no room.
func (l *Learner) add(s status, tid int, a attempt) bool {
	room := l.lockRoom()
	defer l.mu.Unlock()
	if room {
		l.known[s.guest], l.host[s.tgid] = &process{host: s.tgid, pidfd: -1, last: a, by: tid, code: -1, of: command{pid: s.guest}}, s.guest
	}
	return room
}
