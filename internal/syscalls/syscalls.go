// Package syscalls knows the system calls of the architectures that art runs on: names, numbers, arguments, and the sets
// that a trace, a report and the guest's filter are made of.
//
//	table.go    one line for each call
//	syscalls.go names and numbers
//	foreign.go  names of the calls of 32-bit programs
//	set.go      lists of calls that users write, such as "%file,!stat,execve"
package syscalls

import (
	"fmt"
	"iter"
	"sync"
)

// X32Bit is set in the numbers of the x32 ABI, whose calls otherwise report the
// same architecture as the 64-bit ones (__X32_SYSCALL_BIT in the kernel's
// arch/x86/include/uapi/asm/unistd.h).
const X32Bit = 0x40000000

// Arch is one architecture's numbering of the system calls.
type Arch struct {
	// GOARCH is Go's name of the architecture.
	GOARCH string
	// Audit is the AUDIT_ARCH_* value that seccomp and ptrace report for it
	// (include/uapi/linux/audit.h).
	Audit uint32

	calls func() []*Call // by number; nil where the number is not assigned
}

// The architectures of the table.
var (
	AMD64 = Arch{GOARCH: "amd64", Audit: 0xc000003e, calls: byNumber(func(c *Call) int16 { return c.AMD64 })}
	ARM64 = Arch{GOARCH: "arm64", Audit: 0xc00000b7, calls: byNumber(func(c *Call) int16 { return c.ARM64 })}
)

func byNumber(number func(*Call) int16) func() []*Call {
	return sync.OnceValue(func() []*Call {
		var calls []*Call
		for i := range table {
			nr := int(number(&table[i]))
			for len(calls) <= nr {
				calls = append(calls, nil)
			}
			if nr != none {
				calls[nr] = &table[i]
			}
		}
		return calls
	})
}

var byName = sync.OnceValue(func() map[string]*Call {
	calls := make(map[string]*Call, len(table))
	for i := range table {
		calls[table[i].Name] = &table[i]
	}
	return calls
})

// Lookup returns the call of a name, or nil.
func Lookup(name string) *Call { return byName()[name] }

// number returns the call's number, or none.
func (a *Arch) number(c *Call) int {
	if a.GOARCH == AMD64.GOARCH {
		return int(c.AMD64)
	}
	return int(c.ARM64)
}

// Name returns the name of call nr, or syscall_0x… for a number without one.
func (a *Arch) Name(nr uint64) string {
	if calls := a.calls(); nr < uint64(len(calls)) && calls[nr] != nil {
		return calls[nr].Name
	}
	return fmt.Sprintf("syscall_%#x", nr)
}

// Number returns the number of the call named name; ok is false when the
// architecture has no such call.
func (a *Arch) Number(name string) (nr int, ok bool) {
	c := Lookup(name)
	if c == nil || a.number(c) == none {
		return 0, false
	}
	return a.number(c), true
}

// All yields the architecture's calls in the order of their numbers.
func (a *Arch) All() iter.Seq2[int, *Call] {
	return func(yield func(int, *Call) bool) {
		for nr, c := range a.calls() {
			if c != nil && !yield(nr, c) {
				return
			}
		}
	}
}

// Names returns the names of all calls in the order of their numbers.
func (a *Arch) Names() []string {
	var all []string
	for _, c := range a.All() {
		all = append(all, c.Name)
	}
	return all
}

// ArchName names the architecture behind an AUDIT_ARCH_* value, for messages.
func ArchName(audit uint32) string {
	switch audit {
	case AMD64.Audit:
		return "x86_64"
	case ARM64.Audit:
		return "aarch64"
	case AuditI386:
		return "i386"
	case AuditARM:
		return "arm"
	}
	return fmt.Sprintf("architecture %#x", audit)
}
