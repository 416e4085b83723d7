package events

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
)

const socketPrefix = "unix:"

// Descriptor returns the number of a target that is a descriptor of the caller's.
func Descriptor(target string) (fd int, is bool) {
	n, err := strconv.ParseUint(target, 10, 31)
	return int(n), err == nil
}

// File returns the path of a target that is a file, and "" of another.
func File(target string) string {
	if _, is := Descriptor(target); is || strings.HasPrefix(target, socketPrefix) {
		return ""
	}
	return target
}

// Open opens a target: the number of a descriptor, "unix:" and the path of a socket where somebody listens, or else a file, which open opens.
func Open(target string, open func(path string) (*os.File, error)) (*os.File, error) {
	if fd, is := Descriptor(target); is {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err == nil && flags&unix.O_ACCMODE == unix.O_RDONLY {
			err = errors.New("it is open for reading alone")
		}
		if err != nil {
			return nil, cli.WithHint(fmt.Errorf("write events to descriptor %d: %w", fd, err), fmt.Sprintf("open it in the shell: art run --events %d %[1]d>events.json", fd))
		}
		unix.CloseOnExec(fd)
		return os.NewFile(uintptr(fd), "descriptor "+target), nil
	}
	if path, is := strings.CutPrefix(target, socketPrefix); is {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			if err = unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err == nil {
				return os.NewFile(uintptr(fd), path), nil
			}
			unix.Close(fd)
		}
		return nil, cli.WithHint(fmt.Errorf("write events to the socket %s: %w", cli.Printable(path), err), "start what reads them first")
	}
	f, err := open(target)
	if err != nil {
		return nil, fmt.Errorf("write events to %s: %w", cli.Printable(target), cli.Reason(err))
	}
	return f, nil
}
