// Package sysnum knows the system calls of the architectures that art runs on
// by name and by number.
package sysnum

import (
	"fmt"
	"iter"
)

//go:generate go run gen.go

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

	names []string // by number; empty where the number is not assigned
}

// The architectures that have a table.
var (
	AMD64 = Arch{GOARCH: "amd64", Audit: 0xc000003e, names: amd64Names[:]}
	ARM64 = Arch{GOARCH: "arm64", Audit: 0xc00000b7, names: arm64Names[:]}
)

// Name returns the name of call nr, or syscall_0x… for a number without one.
func (a *Arch) Name(nr uint64) string {
	if nr < uint64(len(a.names)) && a.names[nr] != "" {
		return a.names[nr]
	}
	return fmt.Sprintf("syscall_%#x", nr)
}

// Number returns the number of the call named name; ok is false when the
// architecture has no such call.
func (a *Arch) Number(name string) (nr int, ok bool) {
	for nr, n := range a.names {
		if n == name && n != "" {
			return nr, true
		}
	}
	return 0, false
}

// All yields the numbers of all calls in their order, with the names.
func (a *Arch) All() iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for nr, n := range a.names {
			if n != "" && !yield(nr, n) {
				return
			}
		}
	}
}

// Names returns the names of all calls in the order of their numbers.
func (a *Arch) Names() []string {
	var all []string
	for _, n := range a.All() {
		all = append(all, n)
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
	case 0x40000003:
		return "i386"
	case 0x40000028:
		return "arm"
	}
	return fmt.Sprintf("architecture %#x", audit)
}
