package trace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/processes"
)

// keeperName is argv[0] of the process that is the command's parent when no ptrace is.
//
// Where the listener to a filter is gone, the kernel has the calls fail with ENOSYS, and programs would go on without what
// they count on. So nothing of the trace may outlive the tracer, whatever ends that, and there is no PTRACE_O_EXITKILL
// without ptrace. The keeper has a copy of the listener, sees by its socket that the tracer is gone, or wants an end, and
// kills all that is below it, which is all of the trace: it is a subreaper (PR_SET_CHILD_SUBREAPER in prctl(2)), so what
// loses its parent gets it.
const keeperName = "art-trace-keeper"

// What the keeper says, each with a number.
const (
	keeperStarted = 'p' // the command's process id
	keeperFailed  = 'k' // why it could not start it: an errno
	keeperStopped = 's' // a signal has stopped the command
	keeperHeard   = 'g' // a signal has come to the whole process group
	keeperEnded   = 'e' // the command's wait status
)

// keep is the keeper. It does not return.
func keep(args []string) {
	control := aside(0)
	say := func(what byte, number uint32) {
		message := binary.NativeEndian.AppendUint32([]byte{what}, number)
		_ = unix.Send(control, message, unix.MSG_NOSIGNAL) // fails when the tracer is gone
	}
	var root int
	err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	if err == nil {
		const report = 1 // where the launcher's socket was put; its streams come over it
		root, err = syscall.ForkExec("/proc/self/exe", append([]string{launcherName}, args[1:]...), &syscall.ProcAttr{
			Env: os.Environ(), Files: []uintptr{report, report, 2},
		})
	}
	if err != nil {
		var errno unix.Errno
		errors.As(err, &errno)
		say(keeperFailed, uint32(errno))
		os.Exit(cli.ExitArt)
	}
	letGo()
	signals := make(chan os.Signal, 64)
	signal.Notify(signals, forwarded...) // none ends or stops the keeper
	say(keeperStarted, uint32(root))
	go func() {
		for sig := range signals {
			say(keeperHeard, uint32(sig.(unix.Signal)))
		}
	}()
	go func() {
		var b [1]byte
		rights := make([]byte, unix.CmsgSpace(4))
		for {
			// The listener comes, and stays open until the end: with the tracer's alone, calls that wait would fail with it.
			n, _, err := receive(control, b[:], rights)
			if n == 0 || err != nil {
				break
			}
		}
		killAll()
	}()
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WALL|unix.WUNTRACED, nil)
		switch {
		case errors.Is(err, unix.ECHILD):
			unix.Exit(cli.OK) // at once: what os.Exit does before takes a second under the race detector
		case err != nil || pid != root:
		case status.Stopped():
			say(keeperStopped, uint32(status.StopSignal()))
		default:
			say(keeperEnded, uint32(status))
		}
	}
}

// letGo gives up what the keeper has inherited for the command alone: others wait for it to be closed everywhere.
func letGo() {
	if null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0); err == nil {
		for fd := range 3 {
			_ = unix.Dup3(null, fd, 0)
		}
	}
	open, _ := os.ReadDir("/proc/self/fd") // as far as that can be read
	for _, entry := range open {
		fd, err := strconv.Atoi(entry.Name())
		if err != nil || fd < 3 {
			continue
		}
		// The keeper's own, and those of the Go runtime, are not to be inherited.
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			unix.Close(fd)
		}
	}
	_ = unix.Chdir("/")
}

// killAll kills all that there is below this process, and does not return. What has lost its parent is this one's child soon. A process that
// ends as soon as it has started the next is gone before all processes have been looked at, so it is the children that
// are looked at most of the time.
func killAll() {
	const often, pause = 64, 100 * time.Microsecond
	self := strconv.Itoa(os.Getpid())
	for i := 0; ; i++ {
		if i%often == 0 {
			for _, p := range processes.Below(os.Getpid(), math.MaxInt, func(int) bool { return false }) {
				_ = unix.Kill(p.PID, unix.SIGKILL) // it may have ended
			}
		}
		// The first thread's are all that there are: it has started the launcher, and gets what has lost its parent
		// (find_new_reaper in kernel/exit.c).
		children, _ := os.ReadFile("/proc/self/task/" + self + "/children") // where a kernel does not have it, Below does without
		for _, child := range bytes.Fields(children) {
			if pid, err := strconv.Atoi(string(child)); err == nil {
				_ = unix.Kill(pid, unix.SIGKILL) // it may have ended
			}
		}
		time.Sleep(pause)
	}
}
