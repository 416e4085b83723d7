package commands

import (
	"bytes"
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
	var buf [2048]byte
	text := read(proc, strconv.Itoa(tid)+"/status", buf[:])
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

// children returns the processes that a process has started which is not one of threads, by their ids in /proc.
func children(proc, pid int) (list []int) {
	id := strconv.Itoa(pid)
	var buf [1024]byte // of a kernel without CONFIG_PROC_CHILDREN there are none
	text := read(proc, id+"/task/"+id+"/children", buf[:])
	for _, f := range bytes.Fields(text[:bytes.LastIndexByte(text, ' ')+1]) { // there is a blank behind each
		if child, err := strconv.Atoi(string(f)); err == nil {
			list = append(list, child)
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
