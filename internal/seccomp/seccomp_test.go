package seccomp

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/syscalls"
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
				a = uint32(c.args[(ins.K-offArgs)/8] >> ((ins.K - offArgs) % 8 * 8))
			}
			continue
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			a &= ins.K
			continue
		case unix.BPF_JMP | unix.BPF_JA:
			pc += int(ins.K)
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

var arches = []*syscalls.Arch{&syscalls.AMD64, &syscalls.ARM64}

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
		counted bool   // the same
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
		{name: "mount", want: refused(unix.EPERM)},
		{name: "move_mount", want: refused(unix.EPERM), option: "namespaces"},
		{name: "io_uring_setup", want: refused(unix.ENOSYS), option: "io_uring"},
		{name: "keyctl", want: refused(unix.ENOSYS), option: "keys"},
		{name: "perf_event_open", want: refused(unix.EPERM), option: "perf"},
		{name: "userfaultfd", want: refused(unix.EPERM), option: "userfaultfd"},
		{name: "bpf", want: refused(unix.EPERM)},
		{name: "kcmp", want: refused(unix.ENOSYS)},
		{name: "memfd_secret", want: refused(unix.ENOSYS)},
		{name: "fanotify_init", want: refused(unix.EPERM)},
		{name: "ioctl", args: [6]uint64{0, high | unix.TIOCSETD}, want: refused(unix.EPERM)},
		{name: "ioctl", args: [6]uint64{0, unix.TIOCCONS}, want: refused(unix.EPERM)},
		{name: "socket", args: [6]uint64{unix.AF_INET6, unix.SOCK_STREAM}, want: allowed},
		{name: "socket", args: [6]uint64{unix.AF_INET, unix.SOCK_STREAM | unix.SOCK_NONBLOCK | unix.SOCK_CLOEXEC, unix.IPPROTO_TCP}, want: allowed},
		{name: "socket", args: [6]uint64{unix.AF_INET, unix.SOCK_DGRAM | unix.SOCK_CLOEXEC, unix.IPPROTO_UDP}, want: allowed},
		{name: "socket", args: [6]uint64{unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP}, want: allowed},
		{name: "socket", args: [6]uint64{high | unix.AF_UNIX, unix.SOCK_SEQPACKET}, want: allowed},
		{name: "socket", args: [6]uint64{unix.AF_NETLINK, unix.SOCK_RAW | unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE}, want: allowed},
		{name: "socket", args: [6]uint64{unix.AF_VSOCK, unix.SOCK_STREAM}, want: refused(unix.EAFNOSUPPORT), option: "sockets"},
		{name: "socket", args: [6]uint64{unix.AF_INET, unix.SOCK_STREAM, high | unix.IPPROTO_MPTCP}, want: refused(unix.EPROTONOSUPPORT), option: "sockets"},
		{name: "socket", args: [6]uint64{unix.AF_INET6, unix.SOCK_STREAM | unix.SOCK_NONBLOCK, unix.IPPROTO_SCTP}, want: refused(unix.EPROTONOSUPPORT), option: "sockets"},
		{name: "socket", args: [6]uint64{unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_UDPLITE}, want: refused(unix.EPROTONOSUPPORT), option: "sockets"},
		{name: "socket", args: [6]uint64{unix.AF_INET, unix.SOCK_SEQPACKET, unix.IPPROTO_SCTP}, want: refused(unix.EPROTONOSUPPORT), option: "sockets"},
		{name: "socket", args: [6]uint64{unix.AF_INET, high | unix.SOCK_RAW, unix.IPPROTO_ICMP}, want: refused(unix.EPERM), option: "sockets"},
		{name: "socket", args: [6]uint64{unix.AF_INET, unix.SOCK_PACKET, 0}, want: refused(unix.EPROTONOSUPPORT), option: "sockets"},
		{name: "socket", args: [6]uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_GENERIC}, want: refused(unix.EPROTONOSUPPORT), option: "sockets"},
		{name: "socketpair", args: [6]uint64{unix.AF_UNIX, unix.SOCK_STREAM}, want: allowed},
		{name: "socketpair", args: [6]uint64{unix.AF_TIPC}, want: refused(unix.EAFNOSUPPORT), option: "sockets"},
		{name: "setsockopt", args: [6]uint64{3, unix.SOL_TCP, unix.TCP_NODELAY}, want: allowed},
		{name: "setsockopt", args: [6]uint64{3, unix.SOL_SOCKET, unix.TCP_ULP}, want: allowed},
		{name: "setsockopt", args: [6]uint64{3, high | unix.SOL_TCP, high | unix.TCP_ULP}, want: refused(unix.ENOENT), option: "sockets"},
		{name: "prlimit64", args: [6]uint64{0, unix.RLIMIT_NOFILE, 1, 1}, want: allowed},
		{name: "prlimit64", args: [6]uint64{0, unix.RLIMIT_CORE, 0, 1}, want: allowed},
		{name: "prlimit64", args: [6]uint64{0, high | unix.RLIMIT_CORE, 1}, want: refused(0)},
		{name: "prlimit64", args: [6]uint64{0, unix.RLIMIT_CORE, 1 << 32}, want: refused(0)},
		{name: "prlimit64", args: [6]uint64{0, unix.RLIMIT_CORE, 1 << 32, 1 << 32}, want: refused(unix.EPERM)},
		{name: "setrlimit", args: [6]uint64{unix.RLIMIT_NOFILE}, want: allowed},
		{name: "setrlimit", args: [6]uint64{high | unix.RLIMIT_CORE}, want: refused(0)},
		{name: "personality", args: [6]uint64{0xffffffff}, want: allowed},
		{name: "personality", args: [6]uint64{high | 0x0400000}, want: refused(unix.EPERM)}, // READ_IMPLIES_EXEC
		{name: "personality", args: [6]uint64{addrFixed}, want: allowed},
		{name: "personality", args: [6]uint64{addrFixed | 0x0100000}, want: refused(unix.EPERM)}, // MMAP_PAGE_ZERO
		{name: "fchmodat", args: [6]uint64{0, 0, 0o755}, want: allowed},
		{name: "fchmodat", args: [6]uint64{0, 0, 0o4755}, want: refused(unix.EPERM), written: true},
		{name: "fchmod", args: [6]uint64{0, 0o2755}, want: refused(unix.EPERM), written: true},
		{name: "openat", args: [6]uint64{0, 0, unix.O_CREAT, 0o4755}, want: refused(unix.EPERM), written: true},
		{name: "openat", args: [6]uint64{0, 0, unix.O_TMPFILE | unix.O_RDWR, 0o2700}, want: refused(unix.EPERM), written: true},
		{name: "openat", args: [6]uint64{0, 0, unix.O_DIRECTORY, 0xffff}, want: allowed}, // a mode that there is not
		{name: "openat2", want: refused(unix.ENOSYS), written: true},
		{name: "mmap", args: [6]uint64{0, 0, 0, unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_NORESERVE}, want: allowed},
		{name: "mmap", args: [6]uint64{0, 0, 0, unix.MAP_SHARED | unix.MAP_POPULATE}, want: allowed},
		{name: "mmap", args: [6]uint64{0, 0, 0, high | unix.MAP_SHARED | unix.MAP_ANONYMOUS | unix.MAP_HUGETLB}, want: refused(unix.ENOMEM), counted: true},
		{name: "memfd_create", want: refused(unix.ENOSYS), counted: true},
		{name: "shmget", want: refused(unix.ENOSYS), counted: true},
		{name: "semget", want: allowed},
	} {
		for _, arch := range arches {
			nr, ok := arch.Number(test.name)
			if !ok {
				t.Fatalf("%s has no call %s", arch.GOARCH, test.name)
			}
			c := call{arch.Audit, uint32(nr), &test.args}
			if got := decide(t, program(arch, Session{Written: true, Counted: true}), c); got != test.want {
				t.Errorf("%s: %s%x: %#x, want %#x", arch.GOARCH, test.name, test.args, got, test.want)
			}
			if test.option != "" {
				if got := decide(t, program(arch, Session{Allowed: []string{test.option}, Written: true, Counted: true}), c); got != allowed {
					t.Errorf("%s: %s%x with %s: %#x", arch.GOARCH, test.name, test.args, test.option, got)
				}
			}
			if test.written || test.counted {
				if got := decide(t, program(arch, Session{Written: test.counted, Counted: test.written}), c); got != allowed {
					t.Errorf("%s: %s%x in another session: %#x", arch.GOARCH, test.name, test.args, got)
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
	everything := [][6]uint64{{}, {0, unix.SOL_TCP, unix.TCP_ULP}}
	for _, v := range []uint64{setID | makes | newNamespace, 0xffff, unix.TIOCSTI, unix.RLIMIT_CORE, unix.AF_VSOCK} {
		everything = append(everything, [6]uint64{v, v, v, v, v, v})
	}
	for _, option := range Options {
		if err := Check(option); err != nil {
			t.Error(err)
		}
		with := program(&syscalls.AMD64, Session{Allowed: []string{option}, Written: true, Root: true})
		for _, r := range rules {
			for _, name := range r.calls {
				nr, ok := syscalls.AMD64.Number(name)
				refused := slices.ContainsFunc(everything, func(args [6]uint64) bool {
					c := call{syscalls.AMD64.Audit, uint32(nr), &args}
					return decide(t, with, c) != unix.SECCOMP_RET_ALLOW
				})
				s := Session{Allowed: []string{option}, Written: true, Root: true}
				if ok && refused != r.holds(&s) {
					t.Errorf("%s with %s: refused: %v", name, option, refused)
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

// Where namespaces are allowed, what they could leave on the host is refused, and not lost
// elsewhere.
func TestNamespaces(t *testing.T) {
	allowed := []string{namespaces}
	for _, test := range []struct {
		s              Session
		mounts, xattrs bool
	}{
		{s: Session{}, xattrs: true},
		{s: Session{Written: true, Root: true}, xattrs: true},
		{s: Session{Allowed: allowed, Written: true}, mounts: true, xattrs: true},
		{s: Session{Allowed: allowed, Written: true, Kept: true}, xattrs: true},
		{s: Session{Allowed: allowed, Written: true, Root: true}},
		{s: Session{Allowed: allowed, Kept: true, Root: true}, mounts: true, xattrs: true},
		{s: Session{Allowed: allowed, Home: true, Kept: true}, mounts: true, xattrs: true},
		{s: Session{Allowed: allowed, Home: true, Kept: true, Root: true}},
		{s: Session{Allowed: allowed, Home: true, Kept: true, Written: true}, xattrs: true},
	} {
		for name, allowed := range map[string]bool{
			"mount": test.mounts, "fsopen": test.mounts,
			"setxattr": test.xattrs, "lsetxattr": test.xattrs, "fsetxattr": test.xattrs, "setxattrat": test.xattrs,
		} {
			for _, arch := range arches {
				nr, _ := arch.Number(name)
				got := decide(t, program(arch, test.s), call{arch: arch.Audit, nr: uint32(nr)})
				if (got == unix.SECCOMP_RET_ALLOW) != allowed {
					t.Errorf("%s: %s in %+v: %#x", arch.GOARCH, name, test.s, got)
				}
			}
		}
	}
}

func TestForeign(t *testing.T) {
	for _, arch := range arches {
		p := program(arch, Session{Allowed: Options})
		for _, test := range []struct{ arch, nr, want uint32 }{
			{0x40000003, 3, unix.SECCOMP_RET_KILL_PROCESS}, // i386
			{0x40000028, 3, unix.SECCOMP_RET_KILL_PROCESS}, // arm
			{arch.Audit, syscalls.X32Bit | 1, unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		} {
			if got := decide(t, p, call{arch: test.arch, nr: test.nr}); got != test.want {
				t.Errorf("%s: call %x/%x: %#x, want %#x", arch.GOARCH, test.arch, test.nr, got, test.want)
			}
		}
	}
}

// What is allowed whatever its arguments is so by number and architecture alone: only then
// does the kernel not run the filter for it (seccomp_is_const_allow in
// kernel/seccomp.c).
func TestNumberAlone(t *testing.T) {
	for _, arch := range arches {
		p := program(arch, Session{Written: true})
		for nr, c := range arch.All() {
			name := c.Name
			if slices.ContainsFunc(rules, func(r rule) bool { return slices.Contains(r.calls, name) }) {
				continue
			}
			want := unknown
			if c.Guest() {
				want = unix.SECCOMP_RET_ALLOW
			}
			if got := decide(t, p, call{arch: arch.Audit, nr: uint32(nr)}); got != want {
				t.Errorf("%s: %s: %#x, want %#x", arch.GOARCH, name, got, want)
			}
		}
		for _, nr := range []uint32{400, 600, syscalls.X32Bit - 1} { // nobody's
			if got := decide(t, p, call{arch: arch.Audit, nr: nr}); got != unknown {
				t.Errorf("%s: number %d: %#x", arch.GOARCH, nr, got)
			}
		}
	}
}

// Every program that there can be is one that the kernel takes, and one path through it is
// short.
func TestSize(t *testing.T) {
	for i := range 1 << (len(Options) + 3) {
		s := Session{Written: i&1 != 0, Root: i&2 != 0, Kept: i&4 != 0}
		for j, option := range Options {
			if i>>(j+3)&1 != 0 {
				s.Allowed = append(s.Allowed, option)
			}
		}
		for _, arch := range arches {
			if n := len(program(arch, s)); n > unix.BPF_MAXINSNS/4 {
				t.Fatalf("%s: %+v: %d instructions", arch.GOARCH, s, n)
			}
		}
	}
}

// A misspelt name would silently be refused, or a rule for it be none. No call is in two
// places, of which one would be without effect.
func TestNames(t *testing.T) {
	var names []string
	for _, arch := range arches {
		for _, c := range arch.All() {
			if c.Guest() && !slices.Contains(names, c.Name) {
				names = append(names, c.Name)
			}
		}
	}
	for _, r := range rules {
		names = append(names, r.calls...)
	}
	slices.Sort(names)
	for i, name := range names {
		if !slices.ContainsFunc(arches, func(a *syscalls.Arch) bool { _, ok := a.Number(name); return ok }) {
			t.Errorf("no architecture has a call %q", name)
		}
		if i > 0 && names[i-1] == name {
			t.Errorf("%s is listed twice", name)
		}
	}
}

// The two filters of a session in which the user is told refuse what the one of another does, with its errors.
func TestNotify(t *testing.T) {
	everything := [][6]uint64{{}}
	for _, v := range []uint64{setID | makes | newNamespace, newNamespace, 0xffff, unix.CLONE_VM, unix.TIOCSTI, unix.AF_VSOCK} {
		everything = append(everything, [6]uint64{v, v, v, v, v, v})
	}
	asked := map[string]bool{}
	for _, arch := range arches {
		for _, s := range []Session{{}, {Written: true, Root: true, Counted: true}, {Allowed: []string{namespaces}}, {Allowed: Options}} {
			one := program(arch, s)
			s.Notified = true
			first, second := program(arch, s), notify(arch, s)
			third := refusing(arch, s)
			for nr, c := range arch.All() {
				name := c.Name
				for i := range everything {
					c := call{arch.Audit, uint32(nr), &everything[i]}
					want, got := decide(t, one, c), decide(t, first, c)
					if got == unix.SECCOMP_RET_ALLOW {
						got = decide(t, third, c)
						if ask := decide(t, second, c); ask == unix.SECCOMP_RET_USER_NOTIF {
							asked[name] = true
							if Option(name) == "" {
								t.Errorf("%s: no option permits it", name)
							}
						} else if ask != got {
							t.Errorf("%s: %s%x: %#x or %#x", arch.GOARCH, name, c.args, ask, got)
						}
					}
					if got != want {
						t.Errorf("%s: %s%x in %+v: %#x, want %#x", arch.GOARCH, name, c.args, s, got, want)
					}
				}
			}
			if got := decide(t, second, call{arch: 0x40000003, nr: 3}); got != unix.SECCOMP_RET_ALLOW {
				t.Errorf("%s: another architecture: %#x", arch.GOARCH, got)
			}
		}
	}
	for _, name := range []string{"unshare", "clone", "setns", "perf_event_open", "userfaultfd"} {
		if !asked[name] {
			t.Errorf("nobody is asked about %s", name)
		}
	}
	if asked["clone3"] || asked["io_uring_setup"] || asked["openat"] {
		t.Errorf("asked about %v", asked)
	}
}

// TestCommands asks about the calls by which commands begin and end, and about mappings that can change a file.
func TestCommands(t *testing.T) {
	shared := func(protection, flags uint32) [6]uint64 {
		return [6]uint64{2: uint64(protection), 3: uint64(flags), 4: 3}
	}
	const ask, allowed = unix.SECCOMP_RET_USER_NOTIF, unix.SECCOMP_RET_ALLOW
	for _, arch := range arches {
		for _, test := range []struct {
			call string
			args [6]uint64
			want uint32
		}{
			{"execve", [6]uint64{}, ask}, {"execveat", [6]uint64{}, ask}, {"exit_group", [6]uint64{}, ask},
			{"exit", [6]uint64{}, allowed}, {"openat", [6]uint64{}, allowed}, {"clone", [6]uint64{}, allowed},
			{"mmap", shared(unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED), ask},
			{"mmap", shared(unix.PROT_WRITE, unix.MAP_SHARED_VALIDATE|unix.MAP_SYNC), ask},
			{"mmap", shared(unix.PROT_READ, unix.MAP_SHARED), allowed},
			{"mmap", shared(unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE), allowed},
			{"mmap", shared(unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS), allowed},
		} {
			nr, _ := arch.Number(test.call)
			c := call{arch.Audit, uint32(nr), &test.args}
			s := Session{Notified: true, Commands: true}
			if got := decide(t, notify(arch, s), c); got != test.want {
				t.Errorf("%s: %s%x: %#x", arch.GOARCH, test.call, test.args, got)
			}
			// Nobody is asked where nobody can listen.
			if got := decide(t, refusing(arch, s), c); got != allowed {
				t.Errorf("%s: %s%x where nobody listens: %#x", arch.GOARCH, test.call, test.args, got)
			}
		}
	}
}
