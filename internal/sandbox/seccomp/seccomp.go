// Package seccomp is the filter of the system calls that a guest may not make.
//
// What the guest has no use for, and what has often led out of sandboxes, is
// refused in the kernel before any of its code runs: rules.go is the list. The
// calls that every program makes cost nothing more for it: the kernel works out
// once which numbers a filter always allows, and does not run it for those
// (seccomp_cache_prepare in kernel/seccomp.c, since 5.11).
package seccomp

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/trace/sysnum"
)

// Options are the names of what Program can be asked to allow.
//
//	io_uring    asynchronous input and output past this filter and past a trace
//	keys        the kernel's keyrings
//	namespaces  new namespaces, and mounts in them: sandboxes within the sandbox
//	perf        performance counters
//	sockets     every address family
//	userfaultfd page faults handled by the program
var Options = []string{"io_uring", "keys", "namespaces", "perf", "sockets", "userfaultfd"}

// Check returns an error if there is no such option.
func Check(option string) error {
	if slices.Contains(Options, option) {
		return nil
	}
	return cli.WithHint(fmt.Errorf("%q cannot be allowed", option), "use "+strings.Join(Options[:len(Options)-1], ", ")+" or "+Options[len(Options)-1])
}

// Offsets into struct seccomp_data (include/uapi/linux/seccomp.h).
const (
	offNr   = 0
	offArch = 4
	offArgs = 16 // of 64 bits each
)

// Session is what the filter depends on.
type Session struct {
	// Allowed are the options to leave out of the filter.
	Allowed []string
	// Written says that the guest can write files of the host: its workspace in direct
	// mode, or a mount. They may not become programs that run with somebody else's
	// rights.
	Written bool
}

// Program returns the filter for the architecture that this program was built for.
func Program(s Session) []unix.SockFilter {
	return program(sysnum.Native, s)
}

func program(arch *sysnum.Arch, s Session) []unix.SockFilter {
	// Another architecture's calls have other numbers. A program of it cannot do
	// anything at all, not even say so: better it ends at once. The numbers of x32
	// are unknown to most kernels, and programs know that.
	p := []unix.SockFilter{
		load(offArch), skip(unix.BPF_JEQ, arch.Audit, 1), ret(unix.SECCOMP_RET_KILL_PROCESS),
		load(offNr), skipUnless(unix.BPF_JGE, sysnum.X32Bit, 1), refuse(unix.ENOSYS),
	}
	for _, r := range rules {
		if slices.Contains(s.Allowed, r.option) || r.written && !s.Written {
			continue
		}
		for _, name := range r.calls {
			nr, ok := arch.Number(name)
			if !ok {
				continue // one of the two architectures never had it
			}
			body := r.body()
			p = append(p, skipUnless(unix.BPF_JEQ, uint32(nr), len(body)))
			p = append(p, body...)
		}
	}
	return append(p, ret(unix.SECCOMP_RET_ALLOW))
}

// body returns what decides about a call that the rule is for.
func (r *rule) body() []unix.SockFilter {
	if len(r.only) == 0 && len(r.values) == 0 && r.bits == 0 {
		return []unix.SockFilter{refuse(r.errno)}
	}
	// The lower half alone: these arguments are ints to the kernel, which ignores
	// the upper half, so that looking at it would let pass what the kernel takes.
	var p []unix.SockFilter
	if r.where.bits != 0 {
		p = append(p, load(offArgs+8*uint32(r.where.number)), skip(unix.BPF_JSET, r.where.bits, 1), ret(unix.SECCOMP_RET_ALLOW))
	}
	p = append(p, load(offArgs+8*uint32(r.arg)))
	for _, v := range r.values {
		p = append(p, skipUnless(unix.BPF_JEQ, v, 1), refuse(r.errno))
	}
	if r.bits != 0 {
		p = append(p, skipUnless(unix.BPF_JSET, r.bits, 1), refuse(r.errno))
	}
	if len(r.only) == 0 {
		return append(p, ret(unix.SECCOMP_RET_ALLOW))
	}
	for _, v := range r.only {
		p = append(p, skipUnless(unix.BPF_JEQ, v, 1), ret(unix.SECCOMP_RET_ALLOW))
	}
	return append(p, refuse(r.errno))
}

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

// skip leaves out the next n instructions if the comparison holds.
func skip(comparison uint16, k uint32, n int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | comparison | unix.BPF_K, Jt: uint8(n), K: k}
}

func skipUnless(comparison uint16, k uint32, n int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | comparison | unix.BPF_K, Jf: uint8(n), K: k}
}

func ret(action uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
}

func refuse(errno unix.Errno) unix.SockFilter {
	return ret(unix.SECCOMP_RET_ERRNO | uint32(errno))
}
