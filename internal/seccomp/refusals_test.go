package seccomp

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/syscalls"
)

// What is refused in the filter is so whether it is selected or not, and the rest is as without.
func TestRefusals(t *testing.T) {
	refused := []Refusal{
		{Call: "socket", OfFamily: true, Family: unix.AF_INET, Errno: unix.ENETUNREACH},
		{Call: "socket", OfFamily: true, Family: unix.AF_INET, Errno: unix.EPERM}, // comes too late
		{Call: "socketpair", OfFamily: true, Family: unix.AF_UNIX, Errno: unix.EACCES},
		{Call: "socketpair", Errno: unix.EINVAL},
		{Call: "chdir", Errno: unix.EIO},
		{Call: "unlinkat", Errno: unix.EBUSY},
		{Errno: unix.ENOSYS},
	}
	const allow = unix.SECCOMP_RET_ALLOW
	fails := func(errno unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }
	for _, arch := range []*syscalls.Arch{&syscalls.AMD64, &syscalls.ARM64} {
		for _, trace := range []uint32{unix.SECCOMP_RET_TRACE, unix.SECCOMP_RET_USER_NOTIF} {
			prog, err := traceProgram(arch, trace, []string{"socket", "chdir", "openat"}, refused)
			if err != nil {
				t.Fatal(err)
			}
			for _, tc := range []struct {
				call   string
				family uint64
				want   uint32
			}{
				{"socket", unix.AF_INET, fails(unix.ENETUNREACH)},
				{"socket", unix.AF_INET | 1<<32, fails(unix.ENETUNREACH)}, // the kernel takes an int
				{"socket", unix.AF_UNIX, trace},
				{"socketpair", unix.AF_UNIX, fails(unix.EACCES)},
				{"socketpair", unix.AF_INET, fails(unix.EINVAL)},
				{"chdir", 0, fails(unix.EIO)},
				{"unlinkat", 0, fails(unix.EBUSY)},
				{"openat", 0, trace},
				{"execve", 0, trace},
				{"read", 0, allow},
			} {
				nr, _ := arch.Number(tc.call)
				if got := decide(t, prog, call{arch: arch.Audit, nr: uint32(nr), args: &[6]uint64{tc.family}}); got != tc.want {
					t.Errorf("%s: %s(%d): %#x, want %#x", arch.GOARCH, tc.call, tc.family, got, tc.want)
				}
			}
			for _, tc := range []struct{ arch, nr, want uint32 }{
				{syscalls.AuditI386, 5, fails(unix.ENOSYS)},
				{syscalls.AuditI386, 1, trace},   // exit
				{syscalls.AuditI386, 252, trace}, // exit_group
				{syscalls.AuditI386, 119, trace}, // sigreturn
				{syscalls.AuditI386, 173, trace}, // rt_sigreturn
				{syscalls.AuditARM, 248, trace},
				{syscalls.AuditARM, 5, fails(unix.ENOSYS)},
				{0x1234, 1, fails(unix.ENOSYS)},
				{arch.Audit, syscalls.X32Bit | 2, fails(unix.ENOSYS)},
			} {
				if got := decide(t, prog, call{arch: tc.arch, nr: tc.nr}); got != tc.want {
					t.Errorf("%s: foreign call %x/%x: %#x, want %#x", arch.GOARCH, tc.arch, tc.nr, got, tc.want)
				}
			}
		}
		if _, err := traceProgram(arch, unix.SECCOMP_RET_TRACE, nil, []Refusal{{Call: "no such call"}}); err == nil {
			t.Error("a call that does not exist was refused")
		}
	}
	prog, err := traceProgram(&syscalls.AMD64, unix.SECCOMP_RET_TRACE, nil, refused)
	if err != nil {
		t.Fatal(err)
	}
	if got := decide(t, prog, call{arch: syscalls.AMD64.Audit, nr: syscalls.X32Bit | 60}); got != unix.SECCOMP_RET_TRACE {
		t.Errorf("exit of x32: %#x", got)
	}
}
