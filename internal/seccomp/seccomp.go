// Package seccomp makes art's filters of system calls, and loads them.
//
//	seccomp.go       the guest's filter: which calls it may make
//	rules.go         those of them that depend on arguments, on options or on the session
//	notify.go        a filter that asks art about refused calls, and about commands
//	listener.go      how art is asked, and answers
//	trace.go         a filter that selects what a tracer sees
//	without.go       a filter for programs of art's own
//	instructions.go  the instructions that decide
//	load.go          filters as bytes, and in a thread
//
// A call that nobody has listed (package syscalls) is refused in the kernel before any of its code runs. The calls that
// every program makes cost nothing more for it: the kernel works out once which numbers a filter always allows, and does
// not run it for those (seccomp_cache_prepare in kernel/seccomp.c, since 5.11).
package seccomp

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/syscalls"
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
	// Notified says that the calls of which the user is told are left to a second filter (Notify).
	Notified bool
	// Commands says that this filter also asks about the calls by which commands begin, end and map files.
	Commands bool
}

func (s *Session) allows(option string) bool { return slices.Contains(s.Allowed, option) }

// Program returns the filter for the architecture that this program was built for.
func Program(s Session) []unix.SockFilter {
	return program(syscalls.Native, s)
}

func program(arch *syscalls.Arch, s Session) []unix.SockFilter {
	const about = 512                   // numbers, and instructions
	actions := make([]uint32, 0, about) // by number, of calls of which no argument matters
	for nr, c := range arch.All() {
		action := unknown
		if c.Guest() {
			action = unix.SECCOMP_RET_ALLOW
		}
		actions = answer(actions, nr, action, unknown)
	}
	// Another architecture's calls have other numbers. A program of it cannot do
	// anything at all, not even say so: better it ends at once. The numbers of x32
	// are unknown to most kernels, and programs know that.
	p := append(make([]unix.SockFilter, 0, about), begin(arch, ret(unix.SECCOMP_RET_KILL_PROCESS), ret(unknown))...)
	for _, r := range rules {
		body := allow
		if r.holds(&s) && !r.notifies(&s) {
			body = r.body()
		}
		p, actions = r.add(arch, body, p, actions, unknown)
	}
	return search(p, spans(actions, unknown))
}

// add lets body decide about the rule's calls: in the table of actions if it is one instruction, which asks for no
// argument, and else behind the instructions of p.
func (r *rule) add(arch *syscalls.Arch, body, p []unix.SockFilter, actions []uint32, otherwise uint32) ([]unix.SockFilter, []uint32) {
	for _, name := range r.calls {
		nr, ok := arch.Number(name)
		switch {
		case !ok: // one of the two architectures never had it
		case len(body) == 1:
			actions = answer(actions, nr, body[0].K, otherwise)
		default:
			p = append(p, oneOf([]uint32{uint32(nr)}, body)...)
		}
	}
	return p, actions
}

// unknown is the answer to calls that nobody has listed.
const unknown = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)

// answer sets the action for a call in a table that is otherwise for those before it.
func answer(actions []uint32, nr int, action, otherwise uint32) []uint32 {
	for len(actions) <= nr {
		actions = append(actions, otherwise)
	}
	actions[nr] = action
	return actions
}

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
	lower := search(nil, all[:half])
	p = append(p, skip(unix.BPF_JGE, all[half].first, len(lower))...)
	return search(append(p, lower...), all[half:])
}
