package sandbox

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Only a process of the guest's is taken for the one that has sent a message.
func TestNewGuest(t *testing.T) {
	own, err := os.Open("/proc/self/ns/user")
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	inside := exec.Command("sleep", "60")
	inside.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
	beside := exec.Command("sleep", "60")
	for _, c := range []*exec.Cmd{inside, beside} {
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		defer c.Wait()
		defer c.Process.Kill()
	}
	g, err := newGuest(inside.Process.Pid, own)
	if err != nil {
		t.Fatal(err)
	}
	g.close()
	for what, pid := range map[string]int{"this process": os.Getpid(), "another one": beside.Process.Pid} {
		if g, err := newGuest(pid, own); err == nil {
			g.close()
			t.Errorf("%s was taken for the guest's", what)
		}
	}
	if err := inside.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	inside.Wait()
	if g, err := newGuest(inside.Process.Pid, own); err == nil {
		g.close()
		t.Error("a process that has ended was taken for the guest's")
	}
}
