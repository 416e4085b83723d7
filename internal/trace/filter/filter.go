// Package filter selects, inside the kernel, the system calls that a tracer sees.
//
// A seccomp filter answers SECCOMP_RET_TRACE for the chosen calls and
// SECCOMP_RET_ALLOW for all others, which therefore run at native speed. The
// kernel hands a chosen call to the ptrace tracer that set
// PTRACE_O_TRACESECCOMP; a process with the filter but without such a tracer
// gets ENOSYS (seccomp(2)), so nothing selected ever runs unseen.
//
// The process that will exec the command loads the filter into itself:
//
//	runtime.LockOSThread() // a filter belongs to the thread that loads it
//	prog, err := filter.Unmarshal(bytes)
//	err = filter.Install(prog)
//	err = syscall.Exec(path, argv, env)
//
// The tracer shows nothing of such a process but its execve calls until one of
// them succeeds, so what the Go runtime does between the two last lines does not
// appear.
package filter

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/trace/sysnum"
)

// Offsets into struct seccomp_data (include/uapi/linux/seccomp.h).
const (
	offNr   = 0
	offArch = 4
)

// Program returns a filter for the architecture that this program was built
// for, which selects the calls of that architecture named in calls.
//
// execve and execveat are always selected: they are how the tracer knows where
// the command begins. Every call made through another architecture's interface
// (a 32-bit program) is selected too, because its numbers mean something else:
// the tracer reports such calls instead of misreading or missing them.
//
// A name that the architecture does not have is an error.
func Program(calls []string) ([]unix.SockFilter, error) {
	return program(sysnum.Native, calls)
}

func program(arch *sysnum.Arch, calls []string) ([]unix.SockFilter, error) {
	selected := map[int]bool{}
	for _, name := range append([]string{"execve", "execveat"}, calls...) {
		nr, ok := arch.Number(name)
		if !ok {
			return nil, fmt.Errorf("select system calls: %s has no call named %q", arch.GOARCH, name)
		}
		selected[nr] = true
	}

	const trace, allow = unix.SECCOMP_RET_TRACE, unix.SECCOMP_RET_ALLOW
	load := func(off uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: off}
	}
	// The next instruction is for when the comparison holds, or for when not.
	when := func(cmp uint16, k uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | cmp | unix.BPF_K, Jt: 0, Jf: 1, K: k}
	}
	unless := func(cmp uint16, k uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | cmp | unix.BPF_K, Jt: 1, Jf: 0, K: k}
	}
	ret := func(k uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k}
	}

	// The list is walked from the front. Its length costs nothing for calls
	// that are not selected: the kernel works out once, when the filter is
	// loaded, which numbers it always allows and does not run it for those
	// (seccomp_cache_prepare in kernel/seccomp.c, since 5.11).
	prog := []unix.SockFilter{
		load(offArch), unless(unix.BPF_JEQ, arch.Audit), ret(trace),
		load(offNr), when(unix.BPF_JGE, sysnum.X32Bit), ret(trace),
	}
	if len(selected) == len(arch.Names()) {
		return append(prog, ret(trace)), nil // numbers without a name too
	}
	for _, name := range arch.Names() {
		if nr, _ := arch.Number(name); selected[nr] {
			prog = append(prog, when(unix.BPF_JEQ, uint32(nr)), ret(trace))
		}
	}
	return append(prog, ret(allow)), nil
}

// instruction is the size in bytes of a struct sock_filter.
const instruction = int(unsafe.Sizeof(unix.SockFilter{}))

// Marshal returns prog as the bytes that bwrap's --seccomp option and Unmarshal
// read: an array of struct sock_filter.
func Marshal(prog []unix.SockFilter) []byte {
	b := make([]byte, 0, len(prog)*instruction)
	for _, ins := range prog {
		b = binary.NativeEndian.AppendUint16(b, ins.Code)
		b = append(b, ins.Jt, ins.Jf)
		b = binary.NativeEndian.AppendUint32(b, ins.K)
	}
	return b
}

// Unmarshal is the inverse of Marshal. Whether the program is valid is for the
// kernel to say, when it is loaded.
func Unmarshal(b []byte) ([]unix.SockFilter, error) {
	if len(b) == 0 || len(b)%instruction != 0 || len(b)/instruction > unix.BPF_MAXINSNS {
		return nil, fmt.Errorf("read seccomp filter: %d bytes are not a program", len(b))
	}
	prog := make([]unix.SockFilter, 0, len(b)/instruction)
	for ; len(b) > 0; b = b[instruction:] {
		prog = append(prog, unix.SockFilter{
			Code: binary.NativeEndian.Uint16(b), Jt: b[2], Jf: b[3],
			K: binary.NativeEndian.Uint32(b[4:]),
		})
	}
	return prog, nil
}

// Install loads prog into the calling thread, and thereby into whatever it
// execs and forks from now on. The caller holds runtime.LockOSThread and goes on
// to exec. Without CAP_SYS_ADMIN a process must give up gaining privileges in
// order to load a filter (no_new_privs, seccomp(2)): set-user-ID programs run
// without theirs afterwards, as they would under any unprivileged tracer.
func Install(prog []unix.SockFilter) error {
	if len(prog) == 0 || len(prog) > unix.BPF_MAXINSNS {
		return errors.New("load seccomp filter: no program")
	}
	err := load(prog)
	if errors.Is(err, unix.EACCES) {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return os.NewSyscallError("set no_new_privs", err)
		}
		err = load(prog)
	}
	return os.NewSyscallError("load seccomp filter", err)
}

func load(prog []unix.SockFilter) error {
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	// SPEC_ALLOW: the filter selects, it does not confine, so the traced
	// program need not pay for the mitigations that kernels before 5.16 tie
	// to seccomp.
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW, uintptr(unsafe.Pointer(&fprog)))
	if errno != 0 {
		return errno
	}
	return nil
}
