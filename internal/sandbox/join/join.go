// Package join is how another program comes into a session that runs: art executed again on the host, which forks a
// process that enters the guest's namespaces, gives up all rights there, and becomes the stub (package stub). That does
// with it what it has done with the session's first program, by the same plan.
//
//	join.go     what the process is told, and what it prepares
//	child.go    what its children do, in order, on one page
//
// By the time that a program joins, the guest may be hostile, and look for a moment in which the newcomer has something
// that it has not. There is none:
//
//   - Namespaces are entered by descriptors that art opened when nothing but its own code ran in them. Whatever process is
//     first in the guest now, and wherever it has moved, has no part in it.
//   - Everything else is opened, read and laid out on the host, before anything is entered. From then on until there is
//     the stub, which has no more rights than the guest, nobody opens a path: no name, link or mount of the guest's is
//     looked at, and root and working directory are those of the guest's mounts (CVE-2024-21626).
//   - To enter a process namespace changes where children are born, not the process (setns(2), PID namespaces). So what
//     enters the namespaces never has a process id in the guest, which can neither trace nor signal it, nor find in /proc
//     its descriptors or what it executes. It gives up all that came with the user namespace, loads the filter of calls
//     and closes the namespaces before it forks the first process that the guest can see.
//   - That is not dumpable, which keeps the guest from tracing it, from its memory and from its descriptors
//     (__ptrace_may_access in kernel/ptrace.c; pidfd_getfd(2)), and would be dumpable by its execve. But it also has one
//     capability, up to where the stub has made itself not dumpable again: over the guest's user namespace alone, and for
//     what the kernel asks of those in the host's, so that there is nothing that it lets do. Who has less may not
//     trace who has it (cap_ptrace_access_check in security/commoncap.c).
//   - What that process executes is art's own program, which a script as the command reaches as /proc/self/exe
//     (CVE-2019-5736). It is the one that the stage has made read-only for the guest.
package join

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/sandbox/stage"
	"github.com/riverlytech/art/internal/seccomp"
)

// Name as the zeroth argument makes art this.
const Name = "art-join"

// NamespaceFD is the first of the descriptors of namespaces. Those before it are numbered as the stage's are; it has no use
// for stage.StatusFD, and at stage.ControlFD there is the ruleset for the stub, if there is one.
const NamespaceFD = stage.ExtraFD

// Plan is what a process is to join.
type Plan struct {
	// UID and GID are the guest's, in its user namespace.
	UID, GID int
	// Drop says that the caller's groups are not the guest's.
	Drop bool
	// Files is the soft limit of open files.
	Files uint64
	// Namespaces are the kinds of the descriptors (CLONE_NEWUSER and so on), in the order in which they are entered.
	Namespaces []uint64
}

// Order is that in which namespaces are entered. The stage's user namespace comes first: whoever has made it, or is root,
// has all rights there (capabilities(7), user namespaces), and with them over all others; with those of bubblewrap's, which
// comes last, nobody could enter the process namespace, as that is the stage's.
var Order = []uint64{unix.CLONE_NEWUSER, unix.CLONE_NEWPID, unix.CLONE_NEWNET, unix.CLONE_NEWIPC, unix.CLONE_NEWUTS,
	unix.CLONE_NEWCGROUP, unix.CLONE_NEWNS, unix.CLONE_NEWUSER}

// Main runs it, and returns the exit code of the program that has joined.
func Main() int {
	// The kernel kills the child when the thread ends that forked it (prctl(2), PR_SET_PDEATHSIG).
	runtime.LockOSThread()
	pid, err := run()
	if err != nil {
		cli.Fail("art", err)
		return cli.ExitArt
	}
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(pid, &status, 0, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return cli.ExitArt
		case status.Signaled():
			return cli.ExitSignal + int(status.Signal())
		default:
			return status.ExitStatus()
		}
	}
}

// run starts the child.
func run() (pid int, err error) {
	// Its child is not to be looked at, whoever might.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("protect the process: %w", err)
	}
	p := &Plan{}
	if err := control.ReadFile(os.NewFile(stage.PlanFD, "plan"), p); err != nil {
		return 0, fmt.Errorf("read the plan: %w", err)
	}
	if err := stage.LimitCores(); err != nil {
		return 0, err
	}
	c, err := newChild(p)
	if err != nil {
		return 0, err
	}
	// The last thing, as fewer may be open: Go has raised it, and the stub, which is Go too, would take that for what its
	// program is to have.
	var files unix.Rlimit
	if err = unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err == nil {
		files.Cur = min(p.Files, files.Max)
		err = unix.Prlimit(0, unix.RLIMIT_NOFILE, &files, nil)
	}
	if err != nil {
		return 0, fmt.Errorf("limit files: %w", err)
	}
	return c.run()
}

// namespaces returns those that are to be entered: what the host and the guest share, as the network may be, takes rights
// over the host (netns_install in net/core/net_namespace.c).
func (p *Plan) namespaces() (list []namespace, err error) {
	names := map[uint64]string{unix.CLONE_NEWPID: "pid", unix.CLONE_NEWNET: "net", unix.CLONE_NEWIPC: "ipc",
		unix.CLONE_NEWUTS: "uts", unix.CLONE_NEWCGROUP: "cgroup", unix.CLONE_NEWNS: "mnt", unix.CLONE_NEWUSER: "user"}
	for i, kind := range p.Namespaces {
		fd := NamespaceFD + i
		unix.CloseOnExec(fd)
		var guests, own unix.Stat_t
		if err := unix.Fstat(fd, &guests); err != nil {
			return nil, fmt.Errorf("look at a namespace: %w", err)
		}
		if err := unix.Stat("/proc/self/ns/"+names[kind], &own); err != nil {
			return nil, fmt.Errorf("look at a namespace: %w", err)
		}
		if guests.Dev != own.Dev || guests.Ino != own.Ino {
			list = append(list, namespace{uintptr(fd), uintptr(kind)})
		}
	}
	return list, nil
}

// filter returns the one that bubblewrap loads for the first program.
func filter() (*unix.SockFprog, error) {
	data, err := readAll(stage.FilterFD)
	if err != nil {
		return nil, fmt.Errorf("read the filter: %w", err)
	}
	program, err := seccomp.Unmarshal(data)
	if err != nil {
		return nil, err
	}
	return &unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}, nil
}
