package seccomp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// instruction is the size in bytes of a struct sock_filter.
const instruction = int(unsafe.Sizeof(unix.SockFilter{}))

// Marshal returns a filter as the bytes that bwrap's --seccomp option and Unmarshal
// read: an array of struct sock_filter.
func Marshal(program []unix.SockFilter) []byte {
	b := make([]byte, 0, len(program)*instruction)
	for _, ins := range program {
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
	program := make([]unix.SockFilter, 0, len(b)/instruction)
	for ; len(b) > 0; b = b[instruction:] {
		program = append(program, unix.SockFilter{
			Code: binary.NativeEndian.Uint16(b), Jt: b[2], Jf: b[3],
			K: binary.NativeEndian.Uint32(b[4:]),
		})
	}
	return program, nil
}

// Install loads a filter into the calling thread, and thereby into whatever it
// execs and forks from now on. The caller holds runtime.LockOSThread and goes on
// to exec. Without CAP_SYS_ADMIN a process must give up gaining privileges in
// order to load a filter (no_new_privs, seccomp(2)): set-user-ID programs run
// without theirs afterwards, as they would under any unprivileged tracer.
func Install(program []unix.SockFilter) error {
	_, err := setUnprivileged(program, 0)
	return err
}

// setUnprivileged is set for those without privileges too, who give up gaining any.
func setUnprivileged(program []unix.SockFilter, flags uintptr) (int, error) {
	fd, err := set(program, flags)
	if errors.Is(err, unix.EACCES) {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return -1, os.NewSyscallError("set no_new_privs", err)
		}
		fd, err = set(program, flags)
	}
	return fd, os.NewSyscallError("load seccomp filter", err)
}

// Listen loads a filter of Notify's into the calling thread, and returns the descriptor by which the kernel asks
// (SECCOMP_FILTER_FLAG_NEW_LISTENER). execve closes it (seccomp(2)). A call that art has taken is not interrupted by signals and made
// again, where the kernel knows how (SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, since 5.19).
func Listen(program []unix.SockFilter) (fd int, err error) {
	fd, err = set(program, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	if errors.Is(err, unix.EINVAL) {
		return set(program, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
	}
	return fd, err
}

// InstallObserved is Install for Observe's filters, and returns the descriptor by which the kernel asks. It is an error (EINVAL) that the
// kernel cannot keep signals from interrupting a call that was received, so that it would be received again, and one (EBUSY) that
// somebody listens to a filter of this thread already: there can be one listener.
func InstallObserved(program []unix.SockFilter) (fd int, err error) {
	return setUnprivileged(program, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
}

func set(program []unix.SockFilter, flags uintptr) (int, error) {
	if len(program) == 0 || len(program) > unix.BPF_MAXINSNS {
		return -1, unix.EINVAL
	}
	fprog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	// SPEC_ALLOW: these filters select, they do not confine, so the program need not pay
	// for the mitigations that kernels before 5.16 tie to seccomp.
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		flags|unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW, uintptr(unsafe.Pointer(&fprog)))
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}
