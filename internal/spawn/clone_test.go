package spawn

import (
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The child makes the calls in order, with their arguments, and ends when one fails. qemu-user, which has no processes with a common
// memory, makes a fork of a vfork: so it can run this test.
func TestClone(t *testing.T) {
	pipe, err := newPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.close()
	run := func(l *calls) int {
		fd := new(int32)
		pid := cloneAndRun(unix.CLONE_VFORK|unix.CLONE_VM|uintptr(unix.SIGCHLD), fd, &l.list[0], len(l.list))
		var status unix.WaitStatus
		if _, err := unix.Wait4(pid, &status, 0, nil); err != nil {
			t.Fatalf("child %d: %v", pid, err)
		}
		return status.ExitStatus()
	}
	one, two := []byte("one"), []byte("two")
	l := &calls{}
	l.add(unix.SYS_WRITE, uintptr(pipe.w), address(l, &one[0]), 3)
	l.add(unix.SYS_WRITE, uintptr(pipe.w), address(l, &two[0]), 3)
	l.add(unix.SYS_EXIT_GROUP, 7)
	if status := run(l); status != 7 {
		t.Errorf("exit status %d, want 7", status)
	}
	text := make([]byte, 10)
	if n, err := unix.Read(pipe.r, text); err != nil || string(text[:n]) != "onetwo" {
		t.Errorf("the child wrote %q, %v", text[:n], err)
	}
	l = &calls{}
	l.add(unix.SYS_CLOSE, 1<<20)
	l.add(unix.SYS_EXIT_GROUP, 7)
	if status := run(l); status != 1 {
		t.Errorf("exit status %d after a call that failed, want 1", status)
	}
	if errno := -cloneAndRun(^uintptr(0), new(int32), &l.list[0], len(l.list)); syscall.Errno(errno) != unix.EINVAL {
		t.Errorf("flags that cannot be: %v", syscall.Errno(errno))
	}
}
