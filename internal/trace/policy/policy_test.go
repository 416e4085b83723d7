package policy

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/syscalls"
	"github.com/riverlytech/art/internal/trace/decode"
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
	foreign := decode.Call{Arch: 0x40000003, Nr: 5, Name: "syscall_0x5"}
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
		{"io_uring_setup=EPERM", native("io_uring_setup"), "EPERM"},
		{"%network=EACCES connect=ENETUNREACH", native("connect"), "ENETUNREACH"},
		{"%network=EACCES connect=ENETUNREACH", native("bind"), "EACCES"},
		{"all=EIO", native("exit_group"), "passes"},
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
	for _, rule := range []string{"", "=EPERM", "opennat", "openat=", "openat=eperm", "openat=ENOTHING", "exit", "read,exit_group"} {
		p := &Policy{}
		if err := p.Refuse(rule); err == nil {
			t.Errorf("%q is a rule", rule)
		} else if !p.Empty() {
			t.Errorf("%q: an error and a rule", rule)
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
