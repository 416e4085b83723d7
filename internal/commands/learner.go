package commands

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/seccomp"
	"github.com/riverlytech/art/internal/syscalls"
)

// Learner learns of a guest's commands.
type Learner struct {
	out   sender
	told  func(*control.Command) // nil: nobody else is
	last  atomic.Int64           // the number of the last command
	proc  int                    // /proc
	guest int                    // the guest's /proc, of the namespace that FUSE knows
	level int                    // how many namespaces below that of /proc the one is that FUSE knows
	root  int                    // the guest's root directory, which is that of all its processes (seccomp.Program)
	ids   ids
	ends  *ends

	mounts map[[2]uint32]bool // the devices of art-fuse's mounts

	mu        sync.Mutex
	known     map[int]*process // GUARDED_BY(mu); by the ids that FUSE knows
	host      map[int]int      // GUARDED_BY(mu); the ids that FUSE knows, by those here, of those that have executed something
	past      []past           // GUARDED_BY(mu); what has ended just now, oldest first
	programs  map[program]bool // GUARDED_BY(mu); what has been executed
	most      int              // how many are known at most
	swept     time.Time        // GUARDED_BY(mu); when it was last looked which of them have ended
	unwatched map[int]*process // GUARDED_BY(mu); of known, those without a descriptor. While there are some, they are polled
	unlearnt  int64            // GUARDED_BY(mu); commands
	why       error            // GUARDED_BY(mu); was the first of them not learnt
}

// process is one of which art-fuse knows the command that it belongs to.
type process struct {
	host  int // its id here, if it has executed something; or 0
	pidfd int // -1 without
	ended bool
	last  attempt // to execute something
	by    int     // the thread that has made it
	code  int     // with which a thread has wanted to end all, while another may have executed something; -1: none has
	doubt *doubt  // GUARDED_BY(Learner.mu); nil: it has become what was told last
	of    command // GUARDED_BY(Learner.mu)
}

// command is what a process belongs to.
type command struct {
	number int64 // see [control.Command]; 0: unknown
	pid    int   // the process that has executed it, by the id that FUSE knows
}

// Begin begins to learn. sock is the socket to art-fuse, which is taken over, and ring what art-fuse takes from. told, unless it is nil, is called
// with each beginning and end of a command, from any goroutine, and must not wait. pid is a process of the guest that runs art's own code;
// fuse is one in the namespace whose ids FUSE knows, which is this process's or one of those below.
func Begin(sock *os.File, ring *control.Ring, told func(*control.Command), pid, fuse int) (*Learner, error) {
	l := &Learner{root: -1, told: told, out: sender{sock: sock, ring: ring}, known: map[int]*process{}, host: map[int]int{},
		programs: map[program]bool{}, most: maxKnown, unwatched: map[int]*process{}}
	if err := l.open(pid, fuse); err != nil {
		l.End()
		sock.Close()
		return nil, fmt.Errorf("learn of commands: %w", err)
	}
	go l.ends.watch(l.died)
	go l.answer()
	return l, nil
}

func (l *Learner) open(pid, fuse int) (err error) {
	const path = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC
	if l.proc, err = unix.Open("/proc", path, 0); err != nil {
		return err
	}
	own, theirs := namespaces(l.proc, os.Getpid()), namespaces(l.proc, fuse)
	if own == 0 || theirs < own {
		return fmt.Errorf("process %d is in no namespace of this one", fuse)
	}
	if l.level, l.guest = own-1, l.proc; theirs > own {
		l.level = theirs - 1
		if l.guest, err = unix.Open(fmt.Sprintf("/proc/%d/root/proc", pid), path, 0); err != nil {
			return err
		}
	}
	if l.root, err = unix.Open(fmt.Sprintf("/proc/%d/root", pid), path, 0); err != nil {
		return err
	}
	if l.mounts, err = fuseMounts(pid); err != nil {
		return err
	}
	l.ids = newIDs(fuse)
	l.ends, err = newEnds()
	return err
}

// End is called when there will be no calls any more: while the guest's root is open, what is mounted below stays (disconnect_mount in
// fs/namespace.c).
func (l *Learner) End() { unix.Close(l.root) }

// fuseMounts returns the devices of art-fuse's mounts that a process sees.
func fuseMounts(pid int) (map[[2]uint32]bool, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid))
	if err != nil {
		return nil, err
	}
	mounts := map[[2]uint32]bool{}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		i := slices.Index(f, "-") // behind fields of which there may be more or fewer (proc_pid_mountinfo(5))
		var dev [2]uint32
		if i < 3 || i+1 >= len(f) || !strings.HasPrefix(f[i+1], "fuse") {
			continue
		}
		if _, err := fmt.Sscanf(f[2], "%d:%d", &dev[0], &dev[1]); err == nil {
			mounts[dev] = true
		}
	}
	return mounts, nil
}

// namespaces returns how many process namespaces a process has an id in, from that of /proc on.
func namespaces(proc, pid int) int {
	var buf [2048]byte
	return len(fields(readAll(proc, fmt.Sprintf("%d/status", pid), buf[:]), "\nNStgid:"))
}

// Lost is how much art-fuse could not be told.
func (l *Learner) Lost() int64 { return l.out.lost.Load() }

// Unlearnt is how many commands could not be learnt of, and why the first of them could not.
func (l *Learner) Unlearnt() (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unlearnt, l.why
}

// fails notes that a command cannot be learnt of.
func (l *Learner) fails(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unlearnt++; l.why == nil {
		l.why = why
	}
}

var (
	execve    = number("execve")
	execveat  = number("execveat")
	exitGroup = number("exit_group")
	mmap      = number("mmap")
)

func number(call string) int32 {
	n, _ := syscalls.Native.Number(call)
	return int32(n)
}

// Learns says whether a call is one that commands are learnt by. It is then to go on, after Take.
func Learns(n *seccomp.Notification) bool {
	return n.Nr == execve || n.Nr == execveat || n.Nr == exitGroup || n.Nr == mmap
}

// Take learns from a call that waits, as long as waits says so.
func (l *Learner) Take(n *seccomp.Notification, waits func() bool) {
	tid := int(n.TID)
	switch n.Nr {
	case execve:
		l.executes(tid, waits, attempt{ip: n.IP, argv: n.Args[1], env: n.Args[2]}, unix.AT_FDCWD, n.Args[0], 0)
	case execveat:
		l.executes(tid, waits, attempt{ip: n.IP, argv: n.Args[2], env: n.Args[3]}, int(int32(n.Args[0])), n.Args[1], int(int32(n.Args[4])))
	case exitGroup:
		l.exits(tid, int(n.Args[0]&0xff))
	case mmap:
		l.maps(tid, int(int32(n.Args[4])))
	}
}

// tell tells of the beginning or the end of a command.
func (l *Learner) tell(c *control.Command) {
	l.mu.Lock()
	l.number(c)
	l.mu.Unlock()
	l.pass(c)
}

// number gives a command that begins its number. LOCKS_REQUIRED(mu)
func (l *Learner) number(c *control.Command) {
	if c.Kind != control.Executed {
		return
	}
	c.Number = l.last.Add(1)
	if p := l.known[c.PID]; p != nil {
		c.Replaces, p.of.number = p.of.number, c.Number
	}
}

// pass is tell of one that has its number. It waits for nobody.
func (l *Learner) pass(c *control.Command) {
	l.out.tell(c)
	if l.told != nil {
		l.told(c)
	}
}

// status is that of a thread, by its id here, perhaps without the parent.
func (l *Learner) status(tid int) (status, bool) {
	s, ok := l.ids.leader(tid)
	if !ok {
		s, ok = readStatus(l.proc, tid, l.level)
	}
	return s, ok && s.guest != 0
}

// link returns what a link of a process in /proc says.
func (l *Learner) link(tid int, name string) string {
	var buf [unix.PathMax]byte
	n, err := unix.Readlinkat(l.proc, fmt.Sprintf("%d/%s", tid, name), buf[:])
	if err != nil {
		return ""
	}
	return string(buf[:n])
}

// knows says whether art-fuse knows which command a process belongs to.
func (l *Learner) knows(pid int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known[pid] != nil
}

// of returns the command that a process belongs to, by the id that FUSE knows, as far as that is known.
func (l *Learner) of(pid int) (c command) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.known[pid]; p != nil {
		c = p.of
	}
	return c
}

// Command returns which command a process belongs to, by its id here: its number, and the process that has executed it, by the id that FUSE
// knows; 0 where that is not known.
func (l *Learner) Command(host int) (number int64, pid int) {
	l.mu.Lock()
	guest := l.host[host]
	l.mu.Unlock()
	if guest == 0 {
		s, ok := readStatus(l.proc, host, l.level)
		if !ok || s.guest == 0 {
			return 0, 0
		}
		if guest = s.guest; !l.knows(guest) {
			guest = l.parent(s)
		}
	}
	c := l.of(guest)
	return c.number, c.pid
}

// exits learns that a process ends by itself.
func (l *Learner) exits(tid, code int) {
	l.mu.Lock()
	pid, leads := l.host[tid]
	l.mu.Unlock()
	leader := tid
	if !leads {
		s, ok := l.status(tid)
		if !ok {
			return
		}
		pid, leader = s.guest, s.tgid
	}
	l.settle(pid, tid, 0)
	if !l.ids.childless(leader) {
		l.adopt(leader, pid)
	}
	if !l.outrun(pid, tid, code) {
		l.end(pid, code)
	}
}

// outrun says that another thread may execute something before one that wants to end all gets to it, and so ends that one. What becomes of
// the process is then known by its descriptor.
func (l *Learner) outrun(pid, tid, code int) bool {
	l.mu.Lock()
	p := l.known[pid]
	by := tid
	if p != nil && p.pidfd >= 0 {
		by = p.by
	}
	l.mu.Unlock()
	if by == tid || !l.executing(by) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p.code = code
	return p.pidfd >= 0 && !p.ended
}

// adopt tells whose the processes are that a process leaves behind which ends, as long as that is known.
func (l *Learner) adopt(host, pid int) {
	list := children(l.proc, host)
	if len(list) > 0 && !l.knows(pid) {
		if pid = l.ancestor(l.proc, l.level, host); pid == 0 {
			return
		}
	}
	early := len(list) > 0 && !l.settle(pid, 0, 0)
	for _, child := range list {
		l.mu.Lock()
		_, known := l.host[child]
		l.mu.Unlock()
		if known {
			continue
		}
		if s, ok := l.status(child); ok && l.belongs(s.guest, pid) {
			l.out.tell(&control.Command{Kind: control.Known, PID: s.guest, Parent: pid, Doubtful: early})
		}
	}
}

// belongs notes that art-fuse hears of a process that has executed nothing and belongs to what another one does, and says whether that is new.
func (l *Learner) belongs(pid, to int) bool {
	room := l.lockRoom()
	defer l.mu.Unlock()
	if p := l.known[pid]; p != nil && !p.ended || !room {
		return false
	}
	p := &process{pidfd: -1, code: -1}
	if other := l.known[to]; other != nil {
		p.of = other.of
	}
	l.known[pid] = p
	return true
}

// died learns that a process has ended that has made no call to end, or one that another thread may have outrun.
func (l *Learner) died(pid, code int) {
	l.mu.Lock()
	if p := l.known[pid]; p != nil && code < 0 {
		code = p.code
	}
	l.mu.Unlock()
	l.end(pid, code)
}

// end notes the end of a process.
func (l *Learner) end(pid, code int) {
	now := time.Now()
	l.mu.Lock()
	p := l.known[pid]
	if p == nil || p.ended {
		l.mu.Unlock()
		return
	}
	p.ended = true
	c := control.Command{Kind: control.Exited, PID: pid, At: now, Code: code}
	if p.host != 0 {
		c.Number = p.of.number
	}
	l.ends.remove(p.pidfd)
	if p.host != 0 {
		delete(l.host, p.host)
	}
	l.past = append(l.past, past{pid, p, now})
	l.forgetPast(now)
	l.mu.Unlock()
	l.tell(&c)
}

// maps learns that a process maps a file to write to it.
func (l *Learner) maps(tid, fd int) {
	file := fmt.Sprintf("%d/fd/%d", tid, fd)
	var st unix.Statx_t
	// Who is not of the mount's user namespace may know of a file of FUSE's nothing but the device (fuse_getattr in fs/fuse/dir.c).
	err := unix.Statx(l.proc, file, unix.AT_STATX_DONT_SYNC, 0, &st)
	if err != nil || !l.mounts[[2]uint32{st.Dev_major, st.Dev_minor}] {
		return
	}
	var buf [2048]byte
	ino := fields(read(l.proc, fmt.Sprintf("%d/fdinfo/%d", tid, fd), buf[:]), "\nino:") // since 5.14
	s, ok := l.status(tid)
	if !ok || len(ino) == 0 {
		return
	}
	c := control.Command{Kind: control.Mapped, Parent: s.guest, Inode: uint64(ino[0])}
	if !l.knows(s.guest) {
		c.Parent = l.parent(s)
	}
	c.Doubtful = !l.settle(c.Parent, tid, 0)
	if c.Parent != 0 {
		l.out.tell(&c)
	}
}

// answer answers art-fuse, as long as there is one.
func (l *Learner) answer() {
	buf := make([]byte, control.MaxCommand)
	for {
		c, err := l.out.receive(buf)
		if err != nil {
			return
		}
		if c.Kind != control.Who {
			continue
		}
		known := control.Command{Kind: control.Known, PID: c.PID}
		if s, ok := readStatus(l.guest, c.PID, l.guestLevel()); ok {
			known.Thread = s.tgid != c.PID
			if known.Parent = s.guest; !l.knows(s.guest) {
				known.Parent = l.ancestor(l.guest, l.guestLevel(), s.parent)
			}
			known.Doubtful = !l.settle(known.Parent, 0, c.PID)
			if known.Parent != 0 && !known.Thread {
				l.belongs(c.PID, known.Parent)
			}
		}
		l.out.answer(&known)
	}
}

// guestLevel is level, from the namespace of the guest's /proc.
func (l *Learner) guestLevel() int {
	if l.guest == l.proc {
		return l.level
	}
	return 0
}
