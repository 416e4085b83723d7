package seccomp

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/syscalls"
)

// Refusal is a call that Trace's and Observe's filters refuse by themselves: neither does the thread stop nor is anybody asked.
type Refusal struct {
	// Call is the name. It is empty for all calls through another architecture's interface, but those that end a thread or
	// return from a signal, which no program is prepared for to fail.
	Call  string
	Errno unix.Errno
	// OfFamily says that the refusal is for sockets of Family alone (AF_INET): Call is socket or socketpair.
	OfFamily bool
	Family   int
}

// unstoppable are the calls that do not return.
var unstoppable = []string{"exit", "exit_group", "sigreturn", "rt_sigreturn"}

// refusals are what to refuse, the first that is for a call first.
type refusals []Refusal

// of returns the refusals of a call.
func (all refusals) of(call string) (its refusals) {
	for _, r := range all {
		if r.Call == call {
			its = append(its, r)
			if !r.OfFamily {
				break
			}
		}
	}
	return its
}

// calls are the names of the calls that may be refused.
func (all refusals) calls() (names []string) {
	for _, r := range all {
		if r.Call != "" && !slices.Contains(names, r.Call) {
			names = append(names, r.Call)
		}
	}
	return names
}

// body is what decides about a call: otherwise is for what is not refused.
func (all refusals) body(call string, otherwise uint32) (p []unix.SockFilter) {
	for _, r := range all.of(call) {
		if !r.OfFamily {
			return append(p, refuse(r.Errno)...)
		}
		p = slices.Concat(p, load(0), oneOf([]uint32{uint32(r.Family)}, refuse(r.Errno)))
	}
	return append(p, ret(otherwise)...)
}

// foreign is what decides about the calls of other architectures: otherwise is for those that are not refused.
func (all refusals) foreign(otherwise uint32) (p []unix.SockFilter) {
	if len(all.of("")) == 0 {
		return ret(otherwise)
	}
	for _, audit := range []uint32{syscalls.AuditI386, syscalls.AuditARM} {
		p = slices.Concat(p, oneOf([]uint32{audit}, loadAt(offNr), all.numbers(audit, otherwise)))
	}
	return append(p, refuse(all.of("")[0].Errno)...)
}

// numbers is foreign for one architecture or, for that of 64-bit x86, for x32: what is loaded is the number.
func (all refusals) numbers(audit, otherwise uint32) []unix.SockFilter {
	refused := all.of("")
	if len(refused) == 0 {
		return ret(otherwise)
	}
	refusal := refuse(refused[0].Errno)
	if through := returnless(audit); len(through) > 0 {
		return slices.Concat(oneOf(through, ret(otherwise)), refusal)
	}
	return refusal
}

// returnless are the numbers of the calls that do not return, of another architecture or, for that of 64-bit x86, of x32.
func returnless(audit uint32) (numbers []uint32) {
	const most = 1024 // above all numbers that there are
	first := uint32(0)
	if audit == syscalls.AMD64.Audit {
		first = syscalls.X32Bit
	}
	for nr := first; nr < first+most; nr++ {
		if slices.Contains(unstoppable, syscalls.Foreign(audit, uint64(nr))) {
			numbers = append(numbers, nr)
		}
	}
	return numbers
}
