// Package seccomp is the filter of the system calls that a guest may not make.
//
// A call that nobody has listed is refused in the kernel before any of its code runs:
//
//	allow.go  the calls that are allowed
//	rules.go  those that depend on arguments, on options or on the session
//	code.go   the instructions that decide
//
// The calls that every program makes cost nothing more for it: the kernel works out
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
//	sockets     every family and protocol of sockets
//	userfaultfd page faults handled by the program
var Options = []string{"io_uring", "keys", namespaces, "perf", "sockets", "userfaultfd"}

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
	// Home says that the guest can write a home on the host, which no other user of the host can get at.
	Home bool
	// Kept says that there are files of earlier sessions, in a database or such a home.
	Kept bool
	// Counted says that each process has a limit of memory, and no control group does it
	// for all: what no process's limit counts is refused.
	Counted bool
	// Root says that root's files on the host are the guest's own, by its id there or by those that
	// mounts show: through such a mount, too, capabilities come to count for root.
	Root bool
	// Told says that the calls of which the user is told are left to a second filter (Telling).
	Told bool
}

func (s *Session) allows(option string) bool { return slices.Contains(s.Allowed, option) }

// Program returns the filter for the architecture that this program was built for.
func Program(s Session) []unix.SockFilter {
	return program(sysnum.Native, s)
}

func program(arch *sysnum.Arch, s Session) []unix.SockFilter {
	const about = 512 // numbers, and instructions
	numbers := make(map[string]int, about)
	actions := make([]uint32, 0, about) // by number, of calls of which no argument matters
	for nr, name := range arch.All() {
		numbers[name] = nr
		for len(actions) <= nr {
			actions = append(actions, unknown)
		}
	}
	for name := range strings.FieldsSeq(allowed) {
		if nr, ok := numbers[name]; ok { // or one of the two architectures never had it
			actions[nr] = unix.SECCOMP_RET_ALLOW
		}
	}
	// Another architecture's calls have other numbers. A program of it cannot do
	// anything at all, not even say so: better it ends at once. The numbers of x32
	// are unknown to most kernels, and programs know that.
	p := make([]unix.SockFilter, 0, about)
	p = append(p, slices.Concat(
		loadAt(offArch), skip(unix.BPF_JEQ, arch.Audit, 1), ret(unix.SECCOMP_RET_KILL_PROCESS),
		loadAt(offNr), skipUnless(unix.BPF_JGE, sysnum.X32Bit, 1), ret(unknown),
	)...)
	for _, r := range rules {
		body := allow
		if r.holds(&s) && !r.tells(&s) {
			body = r.body()
		}
		for _, name := range r.calls {
			nr, ok := numbers[name]
			switch {
			case ok && len(body) == 1:
				actions[nr] = body[0].K
			case ok:
				p = append(p, oneOf([]uint32{uint32(nr)}, body)...)
			}
		}
	}
	return search(p, spans(actions, unknown))
}

// unknown is the answer to calls that the tables do not allow.
const unknown = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)

// span are calls with numbers that follow each other, and the same answer.
type span struct{ first, action uint32 }

// spans ends with one without an end, of the calls that are newer than the tables.
func spans(actions []uint32, newer uint32) []span {
	var all []span
	for nr, action := range append(actions, newer) {
		if len(all) == 0 || all[len(all)-1].action != action {
			all = append(all, span{uint32(nr), action})
		}
	}
	return all
}

// search appends what finds the span of a call's number by halving: where the kernel is too
// old to know beforehand what a filter always allows, it walks it for every call.
func search(p []unix.SockFilter, all []span) []unix.SockFilter {
	if len(all) == 1 {
		return append(p, ret(all[0].action)...)
	}
	half := len(all) / 2
	p = append(p, skip(unix.BPF_JGE, all[half].first, 2*half-1)...) // over what half of them take
	return search(search(p, all[:half]), all[half:])
}
