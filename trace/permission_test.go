package trace

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
)

// What forbids to attach is named, the most specific reason first.
func TestRefusal(t *testing.T) {
	child := exec.Command("sleep", "100")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { child.Process.Kill(); child.Wait() }()
	ended := exec.Command("true")
	if err := ended.Start(); err != nil {
		t.Fatal(err)
	}
	defer ended.Wait()
	for !strings.HasPrefix(statusField(ended.Process.Pid, "State"), "Z") {
		time.Sleep(time.Millisecond)
	}
	const other = 1 // no child of ours
	foreign := "kernel.yama.ptrace_scope is 1"
	if os.Geteuid() == 0 {
		foreign = "protects process 1"
	} else if statusField(other, "Uid") != statusField(os.Getpid(), "Uid") {
		foreign = "another user's"
	}
	for _, tc := range []struct {
		pid        int
		yama, want string
	}{
		{child.Process.Pid, "", "a seccomp filter or security module"},
		{child.Process.Pid, "0", "a seccomp filter or security module"},
		{child.Process.Pid, "1", "a seccomp filter or security module"},
		{child.Process.Pid, "2", "run `sysctl kernel.yama.ptrace_scope=1`, or trace as root"},
		{child.Process.Pid, "3", "forbids ptrace to everyone"},
		{other, "1", foreign},
		{ended.Process.Pid, "0", "it has ended"},
		{os.Getpid(), "0", "a process cannot trace itself"},
	} {
		if got := refusal(tc.pid, tc.yama); !strings.Contains(got, tc.want) {
			t.Errorf("pid %d, Yama %q: %q, want %q", tc.pid, tc.yama, got, tc.want)
		}
	}
}

func TestAttachError(t *testing.T) {
	var hinted cli.Hinted
	if err := attachError(1, nil); err != nil {
		t.Errorf("no error became %v", err)
	}
	if err := attachError(1, unix.ESRCH); !errors.Is(err, unix.ESRCH) || errors.As(err, &hinted) {
		t.Errorf("ESRCH became %#v", err)
	}
	if err := attachError(1, unix.EPERM); !errors.Is(err, unix.EPERM) || !errors.As(err, &hinted) {
		t.Errorf("EPERM became %#v", err)
	}
}

// Threads of the kernel, where they can be seen, are named as such.
func TestRefusalKernel(t *testing.T) {
	if comm, _ := os.ReadFile("/proc/2/comm"); string(comm) != "kthreadd\n" {
		t.Skip("the threads of the kernel are not in this pid namespace")
	}
	if got := refusal(2, ""); got != "it is a thread of the kernel" {
		t.Error(got)
	}
}
