package commands

import (
	"bytes"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// status is what a process's status in /proc says of it (proc_pid_status(5)).
type status struct {
	tgid, parent int // in the namespace of that /proc; 0 for what is outside of it
	guest        int // the leader's, in the namespace that FUSE knows; 0 if there is none
}

// readStatus reads that of a thread, in a /proc that is open, by its id there. level is how many namespaces below that of this /proc
// the one is that FUSE knows.
func readStatus(proc, tid, level int) (s status, ok bool) {
	var buf [2048]byte // it has all groups of the user's, of which there may be thousands
	text := readAll(proc, strconv.Itoa(tid)+"/status", buf[:])
	ids := fields(text, "\nNStgid:")
	if level < len(ids) {
		s.guest = ids[level]
	}
	for _, f := range []struct {
		name string
		to   *int
	}{{"\nTgid:", &s.tgid}, {"\nPPid:", &s.parent}} {
		if ids := fields(text, f.name); len(ids) > 0 {
			*f.to = ids[0]
		}
	}
	return s, s.tgid != 0
}

// fields returns the numbers in a line.
func fields(text []byte, name string) (numbers []int) {
	_, line, ok := bytes.Cut(text, []byte(name))
	if !ok {
		return nil
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	for _, f := range bytes.Fields(line) {
		n, err := strconv.Atoi(string(f))
		if err != nil {
			return nil
		}
		numbers = append(numbers, n)
	}
	return numbers
}

// maxGenerations bounds how many parents are asked for one that has executed something.
const maxGenerations = 64

// ancestor returns the nearest process, by the id that FUSE knows, of which art-fuse knows the command, from parent on, an id in proc; 0
// if there is none.
func (l *Learner) ancestor(proc, level, parent int) int {
	for range maxGenerations {
		if parent == 0 {
			return 0
		}
		s, ok := readStatus(proc, parent, level)
		if !ok || s.guest == 0 {
			return 0
		}
		if l.knows(s.guest) {
			return s.guest
		}
		parent = s.parent
	}
	return 0
}

// parent is the ancestor of a process by its status here.
func (l *Learner) parent(s status) int {
	if s.parent == 0 { // or it is not known
		s, _ = readStatus(l.proc, s.tgid, l.level)
	}
	l.mu.Lock()
	pid := l.host[s.parent]
	l.mu.Unlock()
	if pid != 0 {
		return pid
	}
	return l.ancestor(l.proc, l.level, s.parent)
}

// children returns the processes that the threads of a process have started, which are not threads of it, by their ids in /proc.
func children(proc, pid int) []int {
	id := strconv.Itoa(pid)
	list := childrenOf(nil, proc, id+"/task/"+id)
	var st unix.Stat_t
	if unix.Fstatat(proc, id+"/task", &st, 0) != nil || st.Nlink == 2+1 { // one for each thread (proc_task_getattr in fs/proc/base.c)
		return list
	}
	for _, tid := range threads(proc, pid) {
		if tid != pid {
			list = childrenOf(list, proc, id+"/task/"+strconv.Itoa(tid))
		}
	}
	return list
}

// childrenOf adds those of one thread to a list.
func childrenOf(list []int, proc int, thread string) []int {
	var buf [1024]byte // of a kernel without CONFIG_PROC_CHILDREN there are none
	text := readAll(proc, thread+"/children", buf[:])
	for _, f := range bytes.Fields(text) {
		if child, err := strconv.Atoi(string(f)); err == nil {
			list = append(list, child)
		}
	}
	return list
}

// threads returns those of a process, by their ids in /proc.
func threads(proc, pid int) (list []int) {
	fd, err := unix.Openat(proc, strconv.Itoa(pid)+"/task", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	var names []string
	for buf := make([]byte, 4<<10); ; {
		n, err := unix.Getdents(fd, buf)
		if err != nil || n <= 0 {
			break
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
	for _, name := range names {
		if tid, err := strconv.Atoi(name); err == nil {
			list = append(list, tid)
		}
	}
	return list
}

// read reads the beginning of a file in a directory into buf: nothing of one that is not there.
func read(dir int, name string, buf []byte) []byte {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	n, err := unix.Read(fd, buf)
	if err != nil {
		return nil
	}
	return buf[:n]
}

// readAll reads a file in a directory to its end, into buf if there is room.
func readAll(dir int, name string, buf []byte) []byte {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	for text := buf[:0]; ; {
		n, err := unix.Read(fd, text[len(text):cap(text)])
		if err != nil || n <= 0 {
			return text
		}
		if text = text[:len(text)+n]; len(text) == cap(text) {
			text = slices.Grow(text, len(text))
		}
	}
}
