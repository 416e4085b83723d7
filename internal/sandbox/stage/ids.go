package stage

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/control"
)

// ids are the guest's in the stage's user namespace.
func (p *Plan) ids() (uid, gid int) {
	if p.Drop {
		return p.View.UID, p.View.GID
	}
	return os.Getuid(), os.Getgid()
}

// mapIDs has art show root's files in a tree as the guest's.
func (h *handles) mapIDs(tree int) error {
	if err := control.Send(h.link, tree, control.Message{Kind: control.MapIDs}); err != nil {
		return err
	}
	answer, err := control.Receive(h.link)
	if err == nil && answer.Kind != control.MappedIDs {
		err = fmt.Errorf("map ids: %w", answer.Err())
	}
	return err
}

// becomeGuest gives up all rights over the host. It returns an error if art is not there any more.
func becomeGuest(p *Plan, link *os.File) error {
	if !p.Drop {
		// bwrap refuses to run with capabilities that it did not get by being setuid.
		if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
			return fmt.Errorf("drop capabilities: %w", err)
		}
		return nil
	}
	uid, gid := p.ids()
	// Of this thread alone: it is the one that calls execve, which ends the others. The user goes last, and
	// all capabilities with it (capabilities(7), effect of user ID changes on capabilities).
	if err := thread(unix.SYS_SETGROUPS, 0, 0, 0); err != nil {
		return fmt.Errorf("give up groups: %w", err)
	}
	if err := thread(unix.SYS_SETRESGID, gid, gid, gid); err != nil {
		return fmt.Errorf("give up the group: %w", err)
	}
	if err := thread(unix.SYS_SETRESUID, uid, uid, uid); err != nil {
		return fmt.Errorf("give up the user: %w", err)
	}
	// Which that has undone (prctl(2)). Art may have gone meanwhile.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("end with art: %w", err)
	}
	if gone(link) {
		return errors.New("art has ended")
	}
	return nil
}

// giveUpNetwork gives up the rights over networks, in all threads. Which session needs them is known only when the stage runs already.
func giveUpNetwork() error {
	header := &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var own [2]unix.CapUserData
	if err := unix.Capget(header, &own[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	for _, set := range []*uint32{&own[0].Effective, &own[0].Permitted, &own[0].Inheritable} {
		*set &^= 1<<unix.CAP_NET_ADMIN | 1<<unix.CAP_NET_RAW
	}
	// What is not permitted leaves the ambient ones too (capabilities(7)).
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(header)), uintptr(unsafe.Pointer(&own[0])), 0)
	if errno == unix.ENOTSUP {
		// Linked with C, as for the race detector alone. What package psx does then is to look for threads in /proc, without an end
		// where this process has another id than there. This thread is the one that goes on.
		return capset(header, &own)
	}
	if errno != 0 {
		return fmt.Errorf("drop capabilities: %w", errno)
	}
	return nil
}

func capset(header *unix.CapUserHeader, own *[2]unix.CapUserData) error {
	if err := unix.Capset(header, &own[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

func thread(call uintptr, a, b, c int) error {
	if _, _, errno := unix.RawSyscall(call, uintptr(a), uintptr(b), uintptr(c)); errno != 0 {
		return errno
	}
	return nil
}

// openPrograms opens the programs that run before anything of the guest's does, for a stage that is going
// to be somebody else: they may lie where only root can go.
func openPrograms(p *Plan) (map[string]int, error) {
	programs := map[string]int{}
	if !p.Drop {
		return programs, nil
	}
	for _, path := range p.View.Programs {
		fd, err := unix.Open(path, unix.O_PATH, 0) // inherited, so that the first can start the second
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", path, err)
		}
		programs[path] = fd
	}
	return programs, nil
}

// reach puts descriptors in the place of programs that cannot be reached by name now, and closes the others.
func reach(args []string, programs map[string]int) {
	for i, arg := range args {
		fd, ok := programs[arg]
		if !ok {
			continue
		}
		if unix.Access(arg, unix.X_OK) == nil {
			unix.CloseOnExec(fd)
		} else {
			args[i] = proc(fd)
		}
	}
}

// gone says whether the other end of link is closed.
func gone(link *os.File) bool {
	fds := []unix.PollFd{{Fd: int32(link.Fd())}}
	_, err := unix.Poll(fds, 0)
	return err == nil && fds[0].Revents&unix.POLLHUP != 0
}
