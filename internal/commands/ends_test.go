package commands

import (
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// An event of a process that is not watched any more says nothing of the one that has its descriptor now.
func TestStaleEvent(t *testing.T) {
	e, err := newEnds()
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(e.epoll)
	open := func(pid int) int {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			t.Fatal(err)
		}
		return fd
	}
	dead, alive := exec.Command("sh", "-c", "exit 5"), exec.Command("sleep", "1000")
	for _, cmd := range []*exec.Cmd{dead, alive} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	fd, other := open(dead.Process.Pid), open(alive.Process.Pid)
	if err := e.add(fd, dead.Process.Pid, dead.Process.Pid); err != nil {
		t.Fatal(err)
	}
	var events [1]unix.EpollEvent
	if n, err := unix.EpollWait(e.epoll, events[:], 10_000); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if pid, code, ok := e.ended(events[0]); pid != dead.Process.Pid || code != 5 || !ok {
		t.Errorf("%d, %d, %v", pid, code, ok)
	}
	e.remove(fd)
	err = unix.Dup3(other, fd, unix.O_CLOEXEC)
	if err == nil {
		err = e.add(fd, alive.Process.Pid, alive.Process.Pid)
	}
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(other)
	if pid, _, ok := e.ended(events[0]); ok {
		t.Errorf("process %d is said to have ended", pid)
	}
	_ = alive.Process.Kill()
	_, _ = dead.Wait(), alive.Wait()
}
