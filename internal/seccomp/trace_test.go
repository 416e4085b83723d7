package seccomp

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/syscalls"
)

const childVariable = "ART_TEST_FILTER_CALLS"

func TestMain(m *testing.M) {
	if calls, ok := os.LookupEnv(childVariable); ok {
		child(strings.Fields(calls))
	}
	os.Exit(m.Run())
}

// child loads a filter and prints which of a few calls the kernel handed to a
// tracer. As there is none, those fail with ENOSYS.
func child(calls []string) {
	runtime.LockOSThread()
	probes := []struct {
		name string
		nr   uintptr
	}{
		{"getpid", unix.SYS_GETPID}, {"getppid", unix.SYS_GETPPID}, {"chdir", unix.SYS_CHDIR},
		{"execve", unix.SYS_EXECVE}, {"x32", syscalls.X32Bit | 39}, {"unassigned", 0x3000},
	}
	prog, err := Trace(calls)
	if err == nil {
		err = Install(prog)
	}
	if err != nil {
		println(err.Error())
		os.Exit(1)
	}
	var traced []byte
	for _, p := range probes {
		// All arguments are NULL, so that what is not selected fails otherwise.
		if _, _, errno := unix.RawSyscall(p.nr, 0, 0, 0); errno == unix.ENOSYS {
			traced = append(traced, p.name+" "...)
		}
	}
	unix.RawSyscall(unix.SYS_EXIT_GROUP, uintptr(report(traced)), 0, 0)
}

// report writes to standard output and returns the exit code.
func report(traced []byte) int {
	if _, err := unix.Write(1, traced); err != nil {
		return 3
	}
	return 0
}

// What the kernel does with the filter, rather than what its instructions are.
func TestInstall(t *testing.T) {
	for _, tc := range []struct{ calls, want string }{
		// x32 and unassigned numbers are ENOSYS by themselves, with or without us.
		{"", "execve x32 unassigned "},
		{"getpid", "getpid execve x32 unassigned "},
		{"chdir getppid", "getppid chdir execve x32 unassigned "},
	} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childVariable+"="+tc.calls)
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != tc.want {
			t.Errorf("%q: traced %q, %v, want %q", tc.calls, out, err, tc.want)
		}
	}
}

// everyOther are the calls whose answers are the most for a filter to tell apart.
func everyOther(arch *syscalls.Arch) (names []string) {
	for i, name := range arch.Names() {
		if i%2 == 0 {
			names = append(names, name)
		}
	}
	return names
}

// For both architectures: every call's verdict, and those of foreign interfaces.
func TestTrace(t *testing.T) {
	for _, arch := range []*syscalls.Arch{&syscalls.AMD64, &syscalls.ARM64} {
		for _, calls := range [][]string{nil, {"read", "openat"}, everyOther(arch), arch.Names()} {
			prog, err := traceProgram(arch, unix.SECCOMP_RET_TRACE, calls, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range arch.Names() {
				want := uint32(unix.SECCOMP_RET_ALLOW)
				if slices.Contains(calls, name) || name == "execve" || name == "execveat" {
					want = unix.SECCOMP_RET_TRACE
				}
				nr, _ := arch.Number(name)
				if got := decide(t, prog, call{arch: arch.Audit, nr: uint32(nr)}); got != want {
					t.Errorf("%s with %d calls: %s: %#x, want %#x", arch.GOARCH, len(calls), name, got, want)
				}
			}
			for _, foreign := range []struct{ arch, nr uint32 }{
				{0x40000003, 3}, {0x40000028, 3}, {arch.Audit, syscalls.X32Bit}, {arch.Audit, syscalls.X32Bit | 1},
			} {
				if got := decide(t, prog, call{arch: foreign.arch, nr: foreign.nr}); got != unix.SECCOMP_RET_TRACE {
					t.Errorf("%s: foreign call %x/%x: %#x", arch.GOARCH, foreign.arch, foreign.nr, got)
				}
			}
		}
	}
	if _, err := traceProgram(&syscalls.ARM64, unix.SECCOMP_RET_TRACE, []string{"open"}, nil); err == nil {
		t.Error("arm64 has no call named open, but a filter for it")
	}
}

func TestMarshal(t *testing.T) {
	prog, err := Trace([]string{"read"})
	if err != nil {
		t.Fatal(err)
	}
	b := Marshal(prog)
	back, err := Unmarshal(b)
	if err != nil || !slices.Equal(back, prog) {
		t.Errorf("Unmarshal(Marshal(prog)) = %v, %v, want %v", back, err, prog)
	}
	for _, bad := range [][]byte{nil, b[1:], bytes.Repeat([]byte{0}, 8*(unix.BPF_MAXINSNS+1))} {
		if _, err := Unmarshal(bad); err == nil {
			t.Errorf("%d bytes are a program", len(bad))
		}
	}
}
