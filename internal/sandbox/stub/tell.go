package stub

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/seccomp"
	"github.com/riverlytech/art/internal/trace/filter"
	"github.com/riverlytech/art/libexec"
)

// tell loads the filter that asks about calls that are refused, for the calling thread and for what that becomes, and
// sends art what it is asked by.
func (p *Payload) tell(link *os.File) error {
	if p.Telling == "" {
		return nil
	}
	program, err := filter.Unmarshal([]byte(p.Telling))
	if err != nil {
		return err
	}
	listener, err := loadListener(program)
	if errors.Is(err, unix.EBUSY) {
		// Somebody around art listens already, and there can be only one.
		return filter.Install(seccomp.Refusing(program))
	}
	if err != nil {
		return fmt.Errorf("load the filter of refused calls: %w", err)
	}
	defer unix.Close(listener)
	return libexec.SendFD(link, listener, []byte(Listening))
}

func loadListener(program []unix.SockFilter) (fd int, err error) {
	fprog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	n, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW, uintptr(unsafe.Pointer(&fprog)))
	if errno != 0 {
		return -1, errno
	}
	return int(n), nil // closed by execve (seccomp(2))
}
