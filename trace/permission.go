package trace

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
)

// attachError says which setting it is that forbids to attach to a thread, if
// err says that it is forbidden. A nil err stays nil.
func attachError(pid int, err error) error {
	if err == nil {
		return nil
	}
	refused := errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES)
	err = fmt.Errorf("attach to process %d: %w", pid, err)
	if !refused {
		return err
	}
	scope, _ := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	return cli.WithHint(err, refusal(pid, strings.TrimSpace(string(scope))))
}

// refusal is the most specific reason for not being allowed to attach, given
// Yama's setting (Documentation/admin-guide/LSM/Yama.rst), which is empty without
// it, and what to do about it. The order is that of ptrace(2).
func refusal(pid int, yama string) string {
	child := statusField(pid, "PPid") == fmt.Sprint(os.Getpid())
	switch tracer := tracedBy(pid); {
	case strings.HasPrefix(statusField(pid, "State"), "Z"):
		return "it has ended, and its parent has not asked for its end yet"
	case statusField(pid, "Kthread") == "1":
		return "it is a thread of the kernel"
	case pid == 1 && os.Geteuid() == 0 && yama != "2" && yama != "3":
		return "a security module of the host protects process 1, or this container may not trace: trace what process 1 has started"
	case tracer != 0:
		return fmt.Sprintf("process %d traces it already, and a process has one tracer at most", tracer)
	case pid == os.Getpid():
		return "a process cannot trace itself"
	case !child && statusField(pid, "Uid") != statusField(os.Getpid(), "Uid") && os.Geteuid() != 0:
		return "it is another user's: run as that user or as root"
	case yama == "3":
		return "kernel.yama.ptrace_scope is 3, which forbids ptrace to everyone until the next boot with a lower value"
	case yama == "2":
		return "kernel.yama.ptrace_scope is 2: run `sysctl kernel.yama.ptrace_scope=1`, or trace as root"
	case yama == "1" && !child:
		return "kernel.yama.ptrace_scope is 1, which allows to trace what art-trace starts and nothing else: " +
			"run `sysctl kernel.yama.ptrace_scope=0`, or trace as root"
	}
	return "a seccomp filter or security module of this host or container forbids ptrace; in a container, add the capability SYS_PTRACE"
}
