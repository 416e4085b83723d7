package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/syscalls"
	"github.com/riverlytech/art/trace"
	"github.com/riverlytech/art/trace/decode"
)

// answer returns what p says of a call.
func answer(t *testing.T, p *Policy, c decode.Call) string {
	t.Helper()
	if err := p.Enter(&c); err != nil {
		t.Fatal(err)
	}
	if !c.Injected {
		return "passes"
	}
	return decode.ErrorName(&c)
}

func TestPolicy(t *testing.T) {
	native := func(name string) decode.Call { return decode.Call{Arch: syscalls.Native.Audit, Name: name} }
	foreign := decode.Call{Arch: 0x40000003, Nr: 5, Name: "open"}
	first := decode.Call{Arch: syscalls.Native.Audit, Name: "execve", First: true}
	leaving := decode.Call{Arch: 0x40000003, Nr: 1, Name: "exit"}
	listens := func(flags uint64) decode.Call {
		c := native("seccomp")
		c.Args = [6]uint64{unix.SECCOMP_SET_MODE_FILTER, flags}
		return c
	}
	for _, tc := range []struct {
		rules string
		call  decode.Call
		want  string
	}{
		{"", native("openat"), "passes"},
		{"", foreign, "passes"},
		{"", native("io_uring_setup"), "passes"},
		{"openat", native("openat"), "EPERM"},
		{"openat=ENOENT", native("openat"), "ENOENT"},
		{"openat=EWOULDBLOCK", native("openat"), "EAGAIN"},
		{"openat", native("read"), "passes"},
		{"openat", foreign, "ENOSYS"},
		{"openat", native("io_uring_setup"), "ENOSYS"},
		{"openat", listens(0), "passes"},
		{"openat", listens(unix.SECCOMP_FILTER_FLAG_LOG | unix.SECCOMP_FILTER_FLAG_NEW_LISTENER), "EBUSY"},
		{"seccomp=EPERM", listens(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER), "EPERM"},
		{"", listens(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER), "passes"},
		{"io_uring_setup=EPERM", native("io_uring_setup"), "EPERM"},
		{"%network=EACCES connect=ENETUNREACH", native("connect"), "ENETUNREACH"},
		{"%network=EACCES connect=ENETUNREACH", native("bind"), "EACCES"},
		{"all=EIO", native("exit_group"), "passes"},
		{"execve", first, "passes"},
		{"execve", native("execve"), "EPERM"},
		{"openat", leaving, "passes"},
		{"all=EIO", native("close"), "EIO"},
	} {
		p := &Policy{}
		for _, rule := range strings.Fields(tc.rules) {
			if err := p.Refuse(rule); err != nil {
				t.Fatal(err)
			}
		}
		if got := answer(t, p, tc.call); got != tc.want {
			t.Errorf("%q: %s %s, want %s", tc.rules, tc.call.Name, got, tc.want)
		}
	}
}

func TestBadRules(t *testing.T) {
	for _, rule := range []string{"", "=EPERM", "opennat", "openat=", "openat=eperm", "openat=ENOTHING", "exit", "read,exit_group", "openat@etc", "openat@", "@/etc",
		"connect@/run/s", "openat,connect@/etc", "getpid@/etc", "openat@inet", "%file@inet", "%network,getpid@inet"} {
		p := &Policy{}
		if err := p.Refuse(rule); err == nil {
			t.Errorf("%q is a rule", rule)
		} else if !p.Empty() {
			t.Errorf("%q: an error and a rule", rule)
		}
	}
}

// A rule that could refuse nothing says so, and one for a class is for those of it that it can be for.
func TestRulesForNothing(t *testing.T) {
	for rule, want := range map[string]string{
		"connect@/run/s":      "deny connect@/run/s: no such call is about a file, so the rule would refuse nothing",
		"openat,connect@/etc": "deny connect@/etc: no such call is about a file, so the rule would refuse nothing",
		"openat@inet=EIO":     "deny openat@inet: no such call is about a socket or its address, so the rule would refuse nothing",
		"%file@inet":          "deny %file@inet: no such call is about a socket or its address, so the rule would refuse nothing",
	} {
		if err := (&Policy{}).Refuse(rule); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", rule, err, want)
		}
	}
	p := &Policy{}
	if err := p.Refuse("all@/etc"); err != nil {
		t.Fatal(err)
	}
	for call, want := range map[string]bool{"openat": true, "read": true, "fchmod": true, "connect": false, "getpid": false} {
		if slices.Contains(p.Calls(), call) != want {
			t.Errorf("all@/etc is for %s: %v, want %v", call, !want, want)
		}
	}
}

// Every errno of the architecture can be named.
func TestErrnos(t *testing.T) {
	for errno := unix.Errno(1); errno < 134; errno++ {
		if name := unix.ErrnoName(errno); name != "" {
			if got, err := errnoNamed(name); err != nil || got != errno {
				t.Errorf("%s is %d, %v, want %d", name, got, err, errno)
			}
		}
	}
}

// tracee has strings and addresses in memory, one a page, works in /work, and has /etc
// and two sockets open.
type tracee struct{ pages [][]byte }

const page = 0x1000

func (p *tracee) put(s string) uint64 {
	p.pages = append(p.pages, []byte(s))
	return uint64(len(p.pages)) * page
}

func (p *tracee) Read(addr uint64, b []byte) int {
	n := addr / page
	if n == 0 || n > uint64(len(p.pages)) {
		return 0
	}
	clear(b)
	copy(b, p.pages[n-1])
	return len(b)
}

func (p *tracee) Path(fd int) string {
	return map[int]string{5: "/etc", 6: "/etc/passwd", 7: "socket:[1]", 8: "socket:[2]"}[fd]
}

func (p *tracee) Dir() string { return "/work" }

func (p *tracee) Family(fd int) (int, bool) {
	family, ok := map[int]int{7: unix.AF_INET, 8: unix.AF_UNIX}[fd]
	return family, ok
}

// Rules for paths and families answer the calls on these alone.
func TestObjects(t *testing.T) {
	const cwd = 1<<64 - 100 // AT_FDCWD
	mem := &tracee{}
	at := func(s string) uint64 { return mem.put(s + "\x00") }
	inet, local := mem.put("\x02\x00\x00\x50\x7f\x00\x00\x01"), mem.put("\x01\x00/run/s\x00")
	for _, tc := range []struct {
		rules, call string
		args        [6]uint64
		want        string
	}{
		{"openat@/etc=ENOENT", "openat", [6]uint64{cwd, at("/etc/passwd")}, "ENOENT"},
		{"openat@/etc=ENOENT", "openat", [6]uint64{cwd, at("/etc")}, "ENOENT"},
		{"openat@/etc=ENOENT", "openat", [6]uint64{cwd, at("/etcetera")}, "passes"},
		{"openat@/etc=ENOENT", "openat", [6]uint64{cwd, at("../etc/./x")}, "ENOENT"},
		{"openat@/etc=ENOENT", "openat", [6]uint64{5, at("passwd")}, "ENOENT"},
		{"openat@/etc=ENOENT", "openat", [6]uint64{cwd, 0}, "passes"},
		{"openat@/=EACCES", "openat", [6]uint64{cwd, at("x")}, "EACCES"},
		{"openat@/a=b=EIO", "openat", [6]uint64{cwd, at("/a=b/c")}, "EIO"},
		{"openat@/a=b/c", "openat", [6]uint64{cwd, at("/a=b/c")}, "EPERM"},
		{"%file@/work/out", "renameat2", [6]uint64{cwd, at("/x"), cwd, at("out/y")}, "EPERM"},
		{"write@/etc", "write", [6]uint64{6}, "EPERM"},
		{"write@/etc", "write", [6]uint64{7}, "passes"},
		{"openat openat@/etc=ENOENT", "openat", [6]uint64{cwd, at("/usr")}, "EPERM"},
		{"openat openat@/etc=ENOENT", "openat", [6]uint64{cwd, at("/etc")}, "ENOENT"},
		{"%network@inet", "socket", [6]uint64{unix.AF_INET}, "EPERM"},
		{"%network@AF_INET", "socket", [6]uint64{unix.AF_INET}, "EPERM"},
		{"%network@inet", "socket", [6]uint64{unix.AF_UNIX}, "passes"},
		{"%network@inet", "connect", [6]uint64{9, inet, 16}, "EPERM"},
		{"%network@inet", "connect", [6]uint64{8, local, 9}, "passes"},
		{"%network@inet", "listen", [6]uint64{7}, "EPERM"},
		{"%network@inet", "listen", [6]uint64{8}, "passes"},
		{"%network@unix", "listen", [6]uint64{8}, "EPERM"},
	} {
		p := &Policy{}
		for _, rule := range strings.Fields(tc.rules) {
			if err := p.Refuse(rule); err != nil {
				t.Fatal(err)
			}
		}
		c := decode.Call{Arch: syscalls.Native.Audit, Name: tc.call, Args: tc.args, Mem: mem, Files: mem}
		if got := answer(t, p, c); got != tc.want {
			t.Errorf("%s: %s%v %s, want %s", tc.rules, tc.call, tc.args, got, tc.want)
		}
	}
}

// Told to nobody, what registers decide is for the kernel, and the rest stays with the policy.
func TestQuietly(t *testing.T) {
	p := &Policy{}
	for _, rule := range []string{"socket=EPERM", "socket@inet=EACCES", "chdir=EIO", "connect@inet", "mkdirat@/etc", "mkdirat"} {
		if err := p.Refuse(rule); err != nil {
			t.Fatal(err)
		}
	}
	told := 0
	q := p.Quietly(trace.Hooks{
		OnEnter: func(*decode.Call) error { told++; return nil },
		OnExit:  func(*decode.Call) error { told++; return nil },
	})
	if !q.(trace.MemoryDecider).DecidesByMemory() {
		t.Error("it does not decide by memory")
	}
	var got []string
	for _, r := range q.(trace.Refuser).Refused() {
		got = append(got, fmt.Sprint(r.Call, " ", r.OfFamily, " ", unix.ErrnoName(r.Errno)))
	}
	want := []string{" false ENOSYS", "chdir false EIO", "io_uring_setup false ENOSYS", "mkdirat false EPERM", "socket true EACCES", "socket false EPERM"}
	if !slices.Equal(got, want) {
		t.Errorf("the kernel refuses %q, want %q", got, want)
	}
	for call, tells := range map[string]int{"chdir": 0, "read": 2} {
		told = 0
		c := &decode.Call{Name: call, Arch: syscalls.Native.Audit}
		if err := errors.Join(q.Enter(c), q.Exit(c)); err != nil || told != tells {
			t.Errorf("%s: %v, told of %d times", call, err, told)
		}
	}
	// Of a call whose end nobody is told of, nothing is remembered for it.
	c := &decode.Call{Pid: 7, Name: "chdir", Arch: syscalls.Native.Audit, EntryOnly: true}
	if err := q.Enter(c); err != nil || len(q.(*quiet).refused) != 0 {
		t.Errorf("%v; %v is remembered", err, q.(*quiet).refused)
	}
}
