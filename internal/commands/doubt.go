package commands

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/riverlytech/art/internal/control"
)

// doubt is what is known of a process that has tried to execute something which may fail: a file that can not be looked at, since it is in
// one of art-fuse's mounts or found by /proc; one that nobody has executed yet, as it is, so that it may be no program at all; or
// with so many arguments that they may be too many. Where the process goes on as what it was, it is said to be that again.
type doubt struct {
	tid   int             // the thread that has tried
	asks  int             // its id that FUSE knows; 0: unknown
	tried attempt         // and how
	file  program         // what it executes; zero: it is not known again
	image string          // what the process was
	was   control.Command // and how to say that it is that again
}

// maxImage is more than a process has in auxv.
const maxImage = 1 << 10

// image returns what is another one as soon as a process has executed something; "" if that cannot be known. It is the auxiliary vector, which
// has addresses that the kernel chooses anew each time (proc_pid_auxv(5), create_elf_tables in fs/binfmt_elf.c). The kernel keeps it beside
// the process's memory, which is not looked at.
func image(proc, pid int) string {
	var buf [maxImage]byte
	return string(read(proc, strconv.Itoa(pid)+"/auxv", buf[:]))
}

// doubts returns what to know of a process that is about to try; nil: what will have become of it cannot be known. c is what is told of it.
func (l *Learner) doubts(s status, tid int, a attempt, file program, c *control.Command) *doubt {
	d := &doubt{tid: tid, asks: s.guest, tried: a, file: file, image: image(l.proc, s.tgid)}
	if tid != s.tgid {
		var text [2048]byte
		d.asks = 0
		if ids := fields(readAll(l.proc, strconv.Itoa(tid)+"/status", text[:]), "\nNSpid:"); l.level < len(ids) {
			d.asks = ids[l.level]
		}
	}
	var buf [control.MaxArgv]byte
	argv := read(l.proc, strconv.Itoa(s.tgid)+"/cmdline", buf[:])
	if d.image == "" || len(argv) == 0 {
		return nil
	}
	d.was = control.Command{Kind: control.Executed, PID: s.guest, Parent: s.guest, Argv: bytes.Clone(argv), Cut: len(argv) == len(buf), Dir: c.Dir, At: c.At}
	return d
}

// settle finds out what has become of a process, by the id that FUSE knows, that has tried to execute something of which that was in doubt,
// and tells it. tid is a thread here, and asks one by the id that FUSE knows, that has come back from all that it has
// tried; or 0. It returns false if it is too early.
func (l *Learner) settle(pid, tid, asks int) bool {
	l.mu.Lock()
	p := l.known[pid]
	if p == nil || p.ended || p.doubt == nil {
		l.mu.Unlock()
		return true
	}
	d, host := p.doubt, p.host
	l.mu.Unlock()
	is := image(l.proc, host)
	failed := is == d.image
	if failed && tid != d.tid && (asks == 0 || asks != d.asks) {
		if l.executing(d.tid) {
			return false
		}
		is = image(l.proc, host) // the thread may just have ended by what it executes
		failed = is == d.image
	}
	l.mu.Lock()
	defer l.mu.Unlock() // so that it is told before its end is
	if p.doubt != d || p.ended {
		return true
	}
	p.doubt = nil
	if failed {
		if p.last == d.tried {
			p.last = attempt{} // the same once more is something new
		}
		l.number(&d.was)
		l.pass(&d.was)
		return true
	}
	if is != "" { // else it is gone, or is a program that may not be looked at
		l.prove(d.file)
	}
	l.out.tell(&control.Command{Kind: control.Known, PID: pid, Parent: pid})
	return true
}

// repeats notes that a thread tries another path for what was in doubt, and at which file.
func (l *Learner) repeats(pid, tid int, file program, proven bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.known[pid]
	if p == nil || p.ended || p.doubt == nil || p.doubt.tid != tid {
		return
	}
	if p.doubt.file = file; proven {
		p.doubt = nil
		l.out.tell(&control.Command{Kind: control.Known, PID: pid, Parent: pid})
	}
}

// executing says of a thread that it may be in a call that executes something (proc_pid_syscall(5)).
func (l *Learner) executing(tid int) bool {
	var buf [256]byte
	text := read(l.proc, fmt.Sprintf("%d/syscall", tid), buf[:])
	number, _, _ := bytes.Cut(text, []byte(" "))
	n, err := strconv.Atoi(string(number)) // else it is running, wherever
	return len(text) > 0 && (err != nil || n == int(execve) || n == int(execveat))
}
