// Package whose knows which of a guest's commands a request to its file system is from: art-fuse's side of package commands.
package whose

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/fs"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/sqlvfs"
)

// Log is where commands are written down, such as [sqlvfs.Store].
type Log interface {
	AddProcess(p sqlvfs.Process) (id int64)
	EndProcess(id int64, at sqlvfs.Timespec, code *int)
}

const (
	// linger is for how long a thread is taken for what it was after the end of its process, and after it was asked for.
	linger = time.Second
	// patience bounds how long a request waits for art to say whose it is.
	patience = 200 * time.Millisecond
	// maxThreads, and maxFiles, bound what is known of threads that have executed nothing, and of files.
	maxThreads, maxFiles = 50_000, 50_000
)

// Commands are those of a guest. It implements [fs.Authors].
type Commands struct {
	log  Log
	fd   int
	ring *control.Ring

	// mu is not held while the guest's files or its memory are looked at, here or by art.
	mu      sync.Mutex
	threads map[int]author   // GUARDED_BY(mu); by the ids that FUSE knows
	wrote   map[fs.Ino]int64 // GUARDED_BY(mu); who was the last to change a file by a call
	mapped  map[fs.Ino]int64 // GUARDED_BY(mu); who was the last to map it to write to it
	mute    time.Time        // GUARDED_BY(mu); until then art is not asked, as it has not answered
	numbers []numbered       // GUARDED_BY(mu); grow
	asked   int              // GUARDED_BY(mu); the thread that art is asked for and has not answered; or 0
	told    []byte           // GUARDED_BY(mu); a message of the ring's
	said    []byte           // GUARDED_BY(mu); one of the socket's
	over    atomic.Bool      // nothing comes any more
}

// numbered says how much higher than art's number of a command its process in the log is, from that on: more and more where messages
// are lost.
type numbered struct{ from, more int64 }

// author is the command that a thread belongs to.
type author struct {
	process int64     // in the log
	own     bool      // it is the process that has executed it
	doubt   bool      // or it may have failed to
	early   bool      // and that is known: it has not yet become what it is to become
	before  int64     // what it was then, of one in doubt
	until   time.Time // when to ask again; never if it is zero
}

// Begin begins to hear of commands in a ring, and over a socket, which it takes over.
func Begin(sock *os.File, ring *control.Ring, log Log) *Commands {
	c := &Commands{log: log, fd: int(sock.Fd()), ring: ring, told: make([]byte, control.MaxCommand), said: make([]byte, control.MaxCommand),
		threads: map[int]author{}, wrote: map[fs.Ino]int64{}, mapped: map[fs.Ino]int64{}}
	go func() {
		defer sock.Close()
		c.follow()
	}()
	return c
}

// End hears what is there still, when the guest has ended.
func (c *Commands) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drain()
}

// Author implements [fs.Authors].
func (c *Commands) Author(tid uint32, ino fs.Ino) fs.Author {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hear()
	if tid == 0 {
		if by := c.mapped[ino]; by != 0 {
			return fs.Author{Process: by, Mapped: true}
		}
		return fs.Author{Process: c.wrote[ino], Mapped: true}
	}
	by := c.author(int(tid))
	if ino != 0 && by != 0 && c.wrote[ino] != by {
		if len(c.wrote) >= maxFiles {
			clear(c.wrote)
		}
		c.wrote[ino] = by
	}
	return fs.Author{Process: by}
}

// author returns the command of a thread. c.mu is held.
func (c *Commands) author(tid int) int64 {
	a, known := c.threads[tid]
	if known && !a.doubt && (a.until.IsZero() || time.Now().Before(a.until)) {
		return a.process
	}
	if !a.own {
		delete(c.threads, tid)
	}
	if !c.over.Load() && !time.Now().Before(c.mute) && !c.ask(tid) {
		c.mute = time.Now().Add(linger)
	}
	if a = c.threads[tid]; a.doubt && a.early {
		return a.before
	}
	return a.process
}

// of returns the command of a process of which art has just looked whether it has become what is in doubt. c.mu is held.
func (c *Commands) of(pid int, early bool) int64 {
	a := c.threads[pid]
	if a.doubt && early {
		return a.before
	}
	return a.process
}

// ask has art say whose a thread is. c.mu is held.
func (c *Commands) ask(tid int) bool {
	c.asked = tid
	defer func() { c.asked = 0 }()
	if err := unix.Send(c.fd, control.Marshal(&control.Command{Kind: control.Who, PID: tid}), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL); err != nil {
		return false
	}
	for end := time.Now().Add(patience); ; {
		if c.asked == 0 {
			return true
		}
		left := time.Until(end)
		if left <= 0 || c.over.Load() {
			return false
		}
		ready := []unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLIN}}
		_, _ = unix.Poll(ready, int(left/time.Millisecond)+1)
		c.drain()
	}
}

// follow hears what comes while there are no requests.
func (c *Commands) follow() {
	for !c.over.Load() {
		ready := []unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLIN}}
		if _, err := unix.Poll(ready, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		c.mu.Lock()
		c.drain()
		c.mu.Unlock()
	}
}

// hear takes all messages that are in the ring. c.mu is held.
func (c *Commands) hear() {
	for {
		n, ok := c.ring.Take(c.told)
		if !ok {
			return
		}
		c.read(c.told[:n])
	}
}

// read takes a message. c.mu is held.
func (c *Commands) read(message []byte) {
	m := &control.Command{}
	if control.Unmarshal(message, m) == nil {
		c.take(m)
	}
}

// drain takes all messages that are there. c.mu is held.
func (c *Commands) drain() {
	for {
		n, _, err := unix.Recvfrom(c.fd, c.said, unix.MSG_DONTWAIT)
		c.hear() // what an answer builds on is there before it
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			return
		case err != nil || n == 0:
			c.over.Store(true)
			return
		default:
			c.read(c.said[:n])
		}
	}
}

// take takes one message. c.mu is held.
func (c *Commands) take(m *control.Command) {
	at := sqlvfs.Timespec{Sec: m.At.Unix(), Nsec: int32(m.At.Nanosecond())}
	old := c.threads[m.PID]
	switch m.Kind {
	case control.Executed:
		if len(c.threads) >= maxThreads {
			c.sweep()
		}
		if old.own { // it goes on as another command
			c.log.EndProcess(old.process, at, nil)
		}
		before := old.process
		if m.Parent != m.PID {
			before = c.threads[m.Parent].process
		}
		id := c.log.AddProcess(sqlvfs.Process{
			Parent: before, PID: m.PID, Argv: split(m.Argv), Cut: m.Cut, Dir: m.Dir, Started: at,
		})
		c.threads[m.PID] = author{process: id, own: true, doubt: m.Doubtful, before: before}
		if n := len(c.numbers); id != 0 && (n == 0 || c.numbers[n-1].more != id-m.Number) {
			c.numbers = append(c.numbers, numbered{id, id - m.Number})
		}
	case control.Exited:
		var code *int
		if m.Code >= 0 {
			code = &m.Code
		}
		if old.own {
			c.log.EndProcess(old.process, at, code)
		}
		old.own, old.until = false, time.Now().Add(linger)
		c.threads[m.PID] = old
	case control.Mapped:
		if by := c.of(m.Parent, m.Doubtful); by != 0 {
			if len(c.mapped) >= maxFiles {
				clear(c.mapped)
			}
			c.mapped[fs.Ino(m.Inode)] = by
		}
	case control.Known:
		if len(c.threads) >= maxThreads {
			c.sweep()
		}
		if m.PID == c.asked {
			c.asked = 0
		}
		if old.own && m.Parent == m.PID {
			old.doubt, old.early = m.Doubtful, m.Doubtful
			c.threads[m.PID] = old
			return
		}
		a := author{process: c.of(m.Parent, m.Doubtful)}
		if m.Thread || m.Parent == 0 {
			a.until = time.Now().Add(linger)
		}
		c.threads[m.PID] = a
	}
}

// Number returns art's number of a command that the log has as a process; 0: there is none.
func (c *Commands) Number(process int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range slices.Backward(c.numbers) {
		if process >= n.from {
			return process - n.more
		}
	}
	return 0
}

// sweep forgets what has ended or can be asked for again, and if that is not enough, whose processes are that have executed nothing.
// c.mu is held.
func (c *Commands) sweep() {
	now := time.Now()
	maps.DeleteFunc(c.threads, func(_ int, a author) bool { return !a.until.IsZero() && now.After(a.until) })
	if len(c.threads) >= maxThreads {
		maps.DeleteFunc(c.threads, func(_ int, a author) bool { return !a.own })
	}
}

// split returns the arguments, each of which is ended by NUL but for the last one, if it was cut.
func split(argv []byte) []string {
	text := strings.TrimSuffix(string(argv), "\x00")
	if len(argv) == 0 {
		return nil
	}
	return strings.Split(text, "\x00")
}
