package commands

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestIDs asks the kernel for what /proc says too.
func TestIDs(t *testing.T) {
	proc, err := unix.Open("/proc", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(proc)
	namespace, err := unix.Open("/proc/self/ns/pid", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(namespace)
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	}()
	i, level := newIDs(os.Getpid()), namespaces(proc, os.Getpid())-1
	if i.childless(os.Getpid()) {
		t.Error("no child")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for name, tid := range map[string]int{"itself": os.Getpid(), "a thread": unix.Gettid(), "its child": child.Process.Pid, "nobody": 1 << 30} {
		got, ok := i.leader(tid)
		if !ok {
			_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(namespace), unix.NS_GET_TGID_IN_PIDNS, uintptr(tid))
			if errno != unix.ENOTTY {
				t.Fatalf("the kernel was not asked, and says: %v", errno)
			}
			t.Skip("this kernel cannot be asked (before Linux 6.12), so /proc is: THAT IS NOT TESTED HERE")
		}
		want, _ := readStatus(proc, tid, level)
		if got.tgid != want.tgid || got.guest != want.guest {
			t.Errorf("%s: %+v, and in /proc %+v", name, got, want)
		}
		pidfd, err := unix.PidfdOpen(want.tgid, 0)
		if err != nil {
			continue
		}
		if parent := parentOf(pidfd); parent != want.parent && parent != 0 {
			t.Errorf("the parent of %s is %d, and in /proc %d", name, parent, want.parent)
		}
		unix.Close(pidfd)
	}
}
