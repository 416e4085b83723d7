package seccomp

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/syscalls"
)

// socketCode decides about socket(2) and socketpair(2) by family, type and protocol.
// Families beside the local and the internet ones are the caller's machine's or obsolete:
// virtual machines' (AF_VSOCK) leads around a network namespace. Of the protocols, TCP, UDP and
// ping's are what programs use; the kernel loads modules for many more, and whatever
// restricts a guest's network has to know each (MPTCP connects past Landlock's rule for
// TCP). Netlink's other protocols than the one for addresses and routes configure and
// observe the machine.
func socketCode() []unix.SockFilter {
	return slices.Concat(
		load(0),
		oneOf([]uint32{unix.AF_UNIX}, allow),
		oneOf([]uint32{unix.AF_INET, unix.AF_INET6},
			load(1), and(0xf), // SOCK_TYPE_MASK in include/linux/net.h
			oneOf([]uint32{unix.SOCK_STREAM}, load(2),
				oneOf([]uint32{0, unix.IPPROTO_TCP}, allow),
				refuse(unix.EPROTONOSUPPORT)),
			oneOf([]uint32{unix.SOCK_DGRAM}, load(2),
				oneOf([]uint32{0, unix.IPPROTO_UDP, unix.IPPROTO_ICMP, unix.IPPROTO_ICMPV6}, allow),
				refuse(unix.EPROTONOSUPPORT)),
			oneOf([]uint32{unix.SOCK_RAW}, refuse(unix.EPERM)), // as without the capability
			refuse(unix.EPROTONOSUPPORT)),
		oneOf([]uint32{unix.AF_NETLINK}, load(2),
			oneOf([]uint32{unix.NETLINK_ROUTE}, allow),
			refuse(unix.EPROTONOSUPPORT)),
		refuse(unix.EAFNOSUPPORT),
	)
}

// optionCode keeps other protocols from being put over a TCP socket, such as SMC and ESP: which
// one is in memory. The kernel's TLS goes with them (CVE-2023-0461 was in what they share);
// programs have their own.
func optionCode() []unix.SockFilter {
	return slices.Concat(
		load(1), oneOf([]uint32{unix.SOL_TCP},
			load(2), oneOf([]uint32{unix.TCP_ULP}, refuse(unix.ENOENT)), // as without the module
			allow),
		allow,
	)
}

// prlimitCode lets nobody set the limit of core dumps, and says that it was done. Who asks
// for the old one as well would read memory that nobody has written, and is refused.
func prlimitCode() []unix.SockFilter {
	return slices.Concat(
		load(1), oneOf([]uint32{unix.RLIMIT_CORE},
			isNull(2, allow),
			isNull(3, refuse(0)),
			refuse(unix.EPERM)),
		allow,
	)
}

// sharedCode refuses mappings that are shared and have no file. Of the ways to share,
// MAP_SHARED is the only one that the kernel takes without (do_mmap in mm/mmap.c).
func sharedCode() []unix.SockFilter {
	return slices.Concat(
		load(3), and(unix.MAP_TYPE|unix.MAP_ANONYMOUS),
		oneOf([]uint32{unix.MAP_SHARED | unix.MAP_ANONYMOUS}, refuse(unix.ENOMEM)),
		allow,
	)
}

// body returns what decides about a call that the rule is for.
func (r *rule) body() []unix.SockFilter {
	if r.code != nil {
		return r.code()
	}
	return r.decide(refuse(r.errno))
}

// decide returns what does with the calls that the rule refuses what refused says, which is one instruction.
func (r *rule) decide(refused []unix.SockFilter) []unix.SockFilter {
	if len(r.only) == 0 && len(r.values) == 0 && r.bits == 0 {
		return refused
	}
	var p []unix.SockFilter
	if r.where.bits != 0 {
		p = slices.Concat(load(r.where.number), skip(unix.BPF_JSET, r.where.bits, 1), allow)
	}
	p = append(p, load(r.arg)...)
	switch {
	case len(r.only) > 0:
		return slices.Concat(p, oneOf(r.only, allow), refused)
	case len(r.values) > 0:
		return slices.Concat(p, oneOf(r.values, refused), allow)
	}
	return slices.Concat(p, skipUnless(unix.BPF_JSET, r.bits, 1), refused, allow)
}

// oneOf is a body for when what was loaded last is one of the values. It does not go on
// behind it.
func oneOf(values []uint32, body ...[]unix.SockFilter) []unix.SockFilter {
	all := slices.Concat(body...)
	var p []unix.SockFilter
	for i, v := range values[:len(values)-1] {
		p = append(p, skip(unix.BPF_JEQ, v, len(values)-1-i)...)
	}
	p = append(p, skipUnless(unix.BPF_JEQ, values[len(values)-1], len(all))...)
	return append(p, all...)
}

// isNull is a body for when an argument that is a pointer is null. It does not go on
// behind it.
func isNull(arg int, body []unix.SockFilter) []unix.SockFilter {
	high := loadAt(offArgs + 8*uint32(arg) + 4)
	return slices.Concat(load(arg), oneOf([]uint32{0}, high, skipUnless(unix.BPF_JEQ, 0, len(body)), body))
}

// load loads the lower half of an argument, which is an int to the kernel in all calls that there
// are rules for: it ignores the upper half, so that looking at it would let pass what
// the kernel takes. Both architectures are little-endian.
func load(arg int) []unix.SockFilter { return loadAt(offArgs + 8*uint32(arg)) }

func loadAt(offset uint32) []unix.SockFilter {
	return []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}}
}

// and keeps some bits of what was loaded last.
func and(bits uint32) []unix.SockFilter {
	return []unix.SockFilter{{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: bits}}
}

// begin are a filter's first instructions: foreign is the answer to the calls of other architectures, and x32, if there is
// one, to those of the x32 ABI. The call's number is loaded then.
func begin(arch *syscalls.Arch, foreign, x32 []unix.SockFilter) []unix.SockFilter {
	p := slices.Concat(loadAt(offArch), skip(unix.BPF_JEQ, arch.Audit, len(foreign)), foreign, loadAt(offNr))
	if x32 != nil {
		p = slices.Concat(p, skipUnless(unix.BPF_JGE, syscalls.X32Bit, len(x32)), x32)
	}
	return p
}

// skip leaves out the next n instructions if the comparison holds.
func skip(comparison uint16, k uint32, n int) []unix.SockFilter {
	if n > 0xff { // more than can be written down beside a comparison
		return append(skipUnless(comparison, k, 1), unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JA, K: uint32(n)})
	}
	return []unix.SockFilter{{Code: unix.BPF_JMP | comparison | unix.BPF_K, Jt: distance(n), K: k}}
}

func skipUnless(comparison uint16, k uint32, n int) []unix.SockFilter {
	return []unix.SockFilter{{Code: unix.BPF_JMP | comparison | unix.BPF_K, Jf: distance(n), K: k}}
}

// distance panics where a jump is too long to be written down, rather than that another
// one is made: all programs that there can be are made by the tests.
func distance(n int) uint8 {
	if n > 0xff {
		panic("seccomp: a jump over more than 255 instructions")
	}
	return uint8(n)
}

func ret(action uint32) []unix.SockFilter {
	return []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: action}}
}

var allow = []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}}

// refuse lets a call fail, or with 0 do nothing and succeed.
func refuse(errno unix.Errno) []unix.SockFilter {
	return ret(unix.SECCOMP_RET_ERRNO | uint32(errno))
}
