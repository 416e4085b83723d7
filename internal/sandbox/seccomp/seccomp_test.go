package seccomp

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/trace/sysnum"
)

// call is one as a filter sees it.
type call struct {
	arch, nr uint32
	args     *[6]uint64 // nil: the filter is not to look at them
}

// decide runs program for one call as the kernel does (seccomp(2)), for the
// instructions that there are in ours.
func decide(t *testing.T, program []unix.SockFilter, c call) uint32 {
	t.Helper()
	var a uint32
	for pc := 0; pc < len(program); pc++ {
		ins := program[pc]
		holds := false
		switch ins.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			switch {
			case ins.K == offNr:
				a = c.nr
			case ins.K == offArch:
				a = c.arch
			case c.args == nil:
				t.Fatalf("instruction %d loads an argument of call %d", pc, c.nr)
			default:
				a = uint32(c.args[(ins.K-offArgs)/8])
			}
			continue
		case unix.BPF_RET | unix.BPF_K:
			return ins.K
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			holds = a == ins.K
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			holds = a >= ins.K
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			holds = a&ins.K != 0
		default:
			t.Fatalf("instruction %d: code %#x", pc, ins.Code)
		}
		if holds {
			pc += int(ins.Jt)
		} else {
			pc += int(ins.Jf)
		}
	}
	t.Fatal("the program does not return")
	return 0
}

var arches = []*sysnum.Arch{&sysnum.AMD64, &sysnum.ARM64}

func TestArguments(t *testing.T) {
	const high = 0xdead << 32
	refused := func(errno unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }
	const allowed = unix.SECCOMP_RET_ALLOW
	for _, test := range []struct {
		name    string
		args    [6]uint64
		want    uint32
		option  string // with it, the call is allowed
		written bool   // refused only with it
	}{
		{name: "read", want: allowed},
		{name: "execve", want: allowed},
		{name: "ioctl", args: [6]uint64{0, unix.TCGETS}, want: allowed},
		{name: "ioctl", args: [6]uint64{0, unix.TIOCSTI}, want: refused(unix.EPERM)},
		{name: "ioctl", args: [6]uint64{0, high | unix.TIOCSTI}, want: refused(unix.EPERM)},
		{name: "ioctl", args: [6]uint64{0, high | tiocLinux}, want: refused(unix.EPERM)},
		{name: "clone", args: [6]uint64{unix.CLONE_VM | unix.CLONE_THREAD}, want: allowed},
		{name: "clone", args: [6]uint64{unix.CLONE_NEWUSER | uint64(unix.SIGCHLD)}, want: refused(unix.EPERM), option: "namespaces"},
		{name: "clone3", want: refused(unix.ENOSYS), option: "namespaces"},
		{name: "unshare", args: [6]uint64{unix.CLONE_FS}, want: allowed},
		{name: "unshare", args: [6]uint64{unix.CLONE_NEWTIME}, want: refused(unix.EPERM), option: "namespaces"},
		{name: "mount", want: refused(unix.EPERM), option: "namespaces"},
		{name: "io_uring_setup", want: refused(unix.ENOSYS), option: "io_uring"},
		{name: "keyctl", want: refused(unix.ENOSYS), option: "keys"},
		{name: "perf_event_open", want: refused(unix.EPERM), option: "perf"},
		{name: "userfaultfd", want: refused(unix.EPERM), option: "userfaultfd"},
		{name: "bpf", want: refused(unix.EPERM)},
		{name: "socket", args: [6]uint64{unix.AF_INET6}, want: allowed},
		{name: "socket", args: [6]uint64{high | unix.AF_UNIX}, want: allowed},
		{name: "socket", args: [6]uint64{unix.AF_VSOCK}, want: refused(unix.EAFNOSUPPORT), option: "sockets"},
		{name: "socketpair", args: [6]uint64{unix.AF_TIPC}, want: refused(unix.EAFNOSUPPORT), option: "sockets"},
		{name: "fchmodat", args: [6]uint64{0, 0, 0o755}, want: allowed},
		{name: "fchmodat", args: [6]uint64{0, 0, 0o4755}, want: refused(unix.EPERM), written: true},
		{name: "fchmod", args: [6]uint64{0, 0o2755}, want: refused(unix.EPERM), written: true},
		{name: "openat", args: [6]uint64{0, 0, unix.O_CREAT, 0o4755}, want: refused(unix.EPERM), written: true},
		{name: "openat", args: [6]uint64{0, 0, unix.O_TMPFILE | unix.O_RDWR, 0o2700}, want: refused(unix.EPERM), written: true},
		{name: "openat", args: [6]uint64{0, 0, unix.O_DIRECTORY, 0xffff}, want: allowed}, // a mode that there is not
		{name: "openat2", want: refused(unix.ENOSYS), written: true},
	} {
		for _, arch := range arches {
			nr, ok := arch.Number(test.name)
			if !ok {
				t.Fatalf("%s has no call %s", arch.GOARCH, test.name)
			}
			c := call{arch.Audit, uint32(nr), &test.args}
			if got := decide(t, program(arch, Session{Written: true}), c); got != test.want {
				t.Errorf("%s: %s%x: %#x, want %#x", arch.GOARCH, test.name, test.args, got, test.want)
			}
			if test.option != "" {
				if got := decide(t, program(arch, Session{[]string{test.option}, true}), c); got != allowed {
					t.Errorf("%s: %s%x with %s: %#x", arch.GOARCH, test.name, test.args, test.option, got)
				}
			}
			if test.written {
				if got := decide(t, program(arch, Session{}), c); got != allowed {
					t.Errorf("%s: %s%x where files are not the host's: %#x", arch.GOARCH, test.name, test.args, got)
				}
			}
		}
	}
}

// An option lifts its own rules and no other one.
func TestOptions(t *testing.T) {
	for _, r := range rules {
		if r.option != "" && !slices.Contains(Options, r.option) {
			t.Errorf("a rule for %q has the unknown option %q", r.calls, r.option)
		}
	}
	for _, option := range Options {
		if err := Check(option); err != nil {
			t.Error(err)
		}
		with := program(&sysnum.AMD64, Session{[]string{option}, true})
		for _, r := range rules {
			for _, name := range r.calls {
				nr, ok := sysnum.AMD64.Number(name)
				c := call{sysnum.AMD64.Audit, uint32(nr), &[6]uint64{}}
				for i := range c.args {
					c.args[i] = uint64(r.bits | r.where.bits)
					if len(r.values) > 0 {
						c.args[i] = uint64(r.values[0])
					}
				}
				if got := decide(t, with, c); ok && (got == unix.SECCOMP_RET_ALLOW) != (r.option == option) {
					t.Errorf("%s with %s: %#x", name, option, got)
				}
			}
		}
	}
	for _, bad := range []string{"", "namespace", "all"} {
		if Check(bad) == nil {
			t.Errorf("%q is an option", bad)
		}
	}
}

func TestForeign(t *testing.T) {
	for _, arch := range arches {
		p := program(arch, Session{Allowed: Options})
		for _, test := range []struct{ arch, nr, want uint32 }{
			{0x40000003, 3, unix.SECCOMP_RET_KILL_PROCESS}, // i386
			{0x40000028, 3, unix.SECCOMP_RET_KILL_PROCESS}, // arm
			{arch.Audit, sysnum.X32Bit | 1, unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		} {
			if got := decide(t, p, call{arch: test.arch, nr: test.nr}); got != test.want {
				t.Errorf("%s: call %x/%x: %#x, want %#x", arch.GOARCH, test.arch, test.nr, got, test.want)
			}
		}
	}
}

// What no rule is about is allowed by number and architecture alone: only then does
// the kernel not run the filter for it (seccomp_is_const_allow in kernel/seccomp.c).
func TestNumberAlone(t *testing.T) {
	for _, arch := range arches {
		p := program(arch, Session{Written: true})
		for _, name := range arch.Names() {
			if slices.ContainsFunc(rules, func(r rule) bool { return slices.Contains(r.calls, name) }) {
				continue
			}
			nr, _ := arch.Number(name)
			if got := decide(t, p, call{arch: arch.Audit, nr: uint32(nr)}); got != unix.SECCOMP_RET_ALLOW {
				t.Errorf("%s: %s: %#x", arch.GOARCH, name, got)
			}
		}
	}
}

// A misspelt name would silently be allowed.
func TestNamesAreKnown(t *testing.T) {
	for _, r := range rules {
		for _, name := range r.calls {
			if !slices.ContainsFunc(arches, func(a *sysnum.Arch) bool { _, ok := a.Number(name); return ok }) {
				t.Errorf("no architecture has a call %q", name)
			}
		}
	}
}
