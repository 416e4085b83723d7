package commands

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/control"
)

// executable says whether there may be a file that can be executed, and if so, whether that is sure: who looks for a command in the
// directories of PATH executes all those that there could be.
func (l *Learner) executable(tid, dir int, name string, cwd func() string, flags int) (may, sure bool) {
	switch {
	case name == "" && flags&unix.AT_EMPTY_PATH != 0:
		return true, false // the descriptor itself
	case name == "":
		return false, true
	case strings.HasPrefix(name, "/"):
	case dir == unix.AT_FDCWD:
		name = cwd() + "/" + name
	default:
		name = l.link(tid, fmt.Sprintf("fd/%d", dir)) + "/" + name
	}
	fd, err := unix.Openat2(l.root, name, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT})
	switch err {
	case nil:
	case unix.ENOENT, unix.ENOTDIR, unix.ENAMETOOLONG:
		return false, true
	default:
		// A link in /proc is not followed. In a file system of FUSE's only those of the mount's user namespace may look: this process
		// is refused without a request (fuse_permission in fs/fuse/dir.c).
		return true, false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return true, false
	}
	// Where fusermount3 has made the mount, this process may look. What is in the file it does not read.
	return isProgram(&st), !l.mounts[[2]uint32{unix.Major(st.Dev), unix.Minor(st.Dev)}]
}

// isProgram says whether somebody may execute a file.
func isProgram(st *unix.Stat_t) bool {
	return st.Mode&unix.S_IFMT == unix.S_IFREG && st.Mode&0o111 != 0
}

// doubt is what is known of a process that has tried to execute a file of which it could not be seen before whether it can be executed: one
// of art-fuse's mounts, which has no "#!" and is no ELF file, or is not there at all. Where the process goes on as what it was, it is said
// to be that again.
type doubt struct {
	tid   int             // the thread that has tried
	asks  int             // its id that FUSE knows; 0: unknown
	tried attempt         // and how
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
func (l *Learner) doubts(s status, tid int, a attempt, c *control.Command) *doubt {
	d := &doubt{tid: tid, asks: s.guest, tried: a, image: image(l.proc, s.tgid)}
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
// and tells it if that has failed. tid is a thread here, and asks one by the id that FUSE knows, that has come back from all that it has
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
	failed := image(l.proc, host) == d.image
	if failed && tid != d.tid && (asks == 0 || asks != d.asks) && !l.elsewhere(d.tid) {
		return false
	}
	l.mu.Lock()
	first := p.doubt == d
	if first {
		p.doubt = nil
		if failed && p.last == d.tried {
			p.last = attempt{} // the same once more is something new
		}
	}
	l.mu.Unlock()
	if first && failed {
		l.tell(&d.was)
	}
	return true
}

// elsewhere says of a thread that it waits in another call than those that execute something (proc_pid_syscall(5)).
func (l *Learner) elsewhere(tid int) bool {
	var buf [256]byte
	number, _, _ := bytes.Cut(read(l.proc, fmt.Sprintf("%d/syscall", tid), buf[:]), []byte(" "))
	n, err := strconv.Atoi(string(number)) // else it is running
	return err == nil && n != int(execve) && n != int(execveat)
}
