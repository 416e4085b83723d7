package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
)

// caught are the signals that are the guest's business, or its terminal's.
var caught = []os.Signal{
	unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2,
	unix.SIGALRM, unix.SIGWINCH, unix.SIGTSTP, unix.SIGCONT,
}

type signalSource struct{ c chan os.Signal }

func catchSignals(which []os.Signal) signalSource {
	s := signalSource{make(chan os.Signal, 16)}
	for _, sig := range which {
		if !signal.Ignored(sig) { // by nohup(1), say
			signal.Notify(s.c, sig)
		}
	}
	// A reader of ours that has gone is an error of write, told to the guest.
	signal.Ignore(unix.SIGPIPE)
	return s
}

func (s signalSource) stop() {
	if s.c != nil {
		signal.Stop(s.c)
	}
}

// signal acts on a signal that art received.
func (s *session) signal(received os.Signal) {
	sig := received.(unix.Signal)
	switch {
	case sig == unix.SIGWINCH:
		s.streams.Resize()
	case s.isLeft() && asksToEnd(sig):
		s.endedBy("art got " + unix.SignalName(sig))
		s.letEnd()
	case sig == unix.SIGTSTP && s.job:
		s.guest.signal(sig) // and when it has stopped, so does art
	case sig == unix.SIGTSTP:
		s.suspend()
	case sig == unix.SIGCONT && s.job:
		s.resume() // after a stop of art alone, as by SIGSTOP
	case sig == unix.SIGHUP && s.background != nil && s.guest != nil:
		s.endSoon("art got SIGHUP")
		s.guest.hangUp()
	case sig == unix.SIGHUP && s.master != nil:
		s.endedBy("art got SIGHUP")
		s.hangup()
	case s.guest != nil:
		if sig == unix.SIGTERM && s.background != nil {
			s.endSoon("art got SIGTERM")
		}
		s.sent = sent{sig, "art got"}
		s.guest.signal(sig)
	case sig != unix.SIGCONT:
		// There is no guest yet that could act on it: what it would do to a process
		// that does not care is end it.
		s.ended = sig
		s.stage.Kill()
	}
}

// asksToEnd tells whether a signal is to end what gets it.
func asksToEnd(sig unix.Signal) bool {
	switch sig {
	case unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM:
		return true
	}
	return false
}

// guestStopped is called when the payload has been stopped, by a key or by itself, and the stub, which is its shell, has
// nothing better for its terminal. It is the caller's shell that has: to that, art is the job that has stopped.
func (s *session) guestStopped() {
	if s.streams.Terminal == nil { // nobody else would continue it, and it may want the foreground
		s.resume()
		return
	}
	s.streams.AwaitQuiet()
	s.streams.Terminal.Restore()
	s.pause(true, s.resume)
}

// resume goes on with the payload, and with the terminal as that has left it; in the background without that.
func (s *session) resume() {
	if s.streams.Terminal != nil {
		if err := s.streams.TakeTerminal(); err != nil {
			s.hangup()
		}
	}
	if s.job {
		// Fails if the payload has ended.
		_ = control.Send(s.link, -1, control.Message{Kind: control.Continue, Foreground: s.streams.Foreground()})
	}
}

// cameForward returns where it is told that art has come to the foreground of its terminal.
func (s *session) cameForward() <-chan struct{} {
	if s.streams.Terminal == nil || !s.job {
		return nil
	}
	return s.streams.Terminal.Came
}

// suspend stops art and a guest that no key of a terminal stops, as the job they are to the caller's shell, until the
// shell continues art.
func (s *session) suspend() {
	if s.guest != nil {
		s.guest.signal(unix.SIGSTOP)
	}
	s.pause(false, func() {
		if s.guest != nil {
			s.guest.signal(unix.SIGCONT)
		}
	})
}

// stop stops art until it is continued, and with job the whole process group that it is in, as the terminal would have
// that stopped art. It returns at once where the kernel finds nobody who would continue it (setpgid(2), orphaned process
// groups), or where the caller ignores the signal.
//
// Go's own handler is out of the way meanwhile. The signal is for the thread that sends it, which then does nothing
// before all of them have stopped; another one could not stop this one at once (signal(7), process-directed signals).
func stop(job bool) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	caught := dispose(unix.SIGTSTP, sigaction{handler: ignored})
	defer dispose(unix.SIGTSTP, caught)
	if caught.handler == ignored {
		return
	}
	if job {
		_ = unix.Kill(0, unix.SIGTSTP) // cannot fail: art may signal itself
	}
	// The continuation is no signal for the guest, who is continued once the terminal is its own again.
	continued := dispose(unix.SIGCONT, sigaction{})
	defer dispose(unix.SIGCONT, continued)
	dispose(unix.SIGTSTP, sigaction{})
	_ = unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGTSTP) // cannot fail
}

// sigaction is the kernel's struct of that name. Its zero is the default.
type sigaction struct {
	handler, flags, restorer uintptr
	mask                     uint64
}

const ignored = 1 // SIG_IGN

// dispose sets what a signal does, and returns what it did before.
func dispose(sig unix.Signal, action sigaction) (before sigaction) {
	// Fails for no signal that can be caught.
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&action)), uintptr(unsafe.Pointer(&before)), unsafe.Sizeof(action.mask), 0, 0)
	return before
}

// guest is the payload's process, which leads a session and a process group.
type guest struct{ pid, pidfd int }

// newGuest opens the process that has sent a message. The number may be another's by then, which need not be the guest's: so
// that process has to be in a user namespace right below the stage's, and to be there still when that is known.
func newGuest(pid int, stage *os.File) (*guest, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err == nil {
		if err = isGuests(pid, stage); err == nil {
			err = alive(fd)
		}
		if err != nil {
			unix.Close(fd)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open the payload's process: %w", err)
	}
	return &guest{pid, fd}, nil
}

// isGuests returns an error unless a process is in a user namespace right below the stage's.
func isGuests(pid int, stage *os.File) error {
	users, err := os.Open(fmt.Sprintf("/proc/%d/ns/user", pid))
	if err != nil {
		return cli.Reason(err)
	}
	defer users.Close()
	return below(users, stage)
}

// alive returns an error of a process that has ended.
func alive(pidfd int) error {
	err := unix.PidfdSendSignal(pidfd, 0, nil, 0)
	if errors.Is(err, unix.EPERM) {
		err = nil
	}
	return err
}

// toGroup are the signals that a terminal or a shell sends to a whole job. The
// caller's sends them to art alone, since the guest has a session of its own.
func toGroup(sig unix.Signal) bool {
	switch sig {
	case unix.SIGINT, unix.SIGQUIT, unix.SIGSTOP, unix.SIGTSTP, unix.SIGCONT:
		return true
	}
	return false
}

// signal sends sig to the payload. It does nothing if that has ended.
func (g *guest) signal(sig unix.Signal) {
	if toGroup(sig) {
		g.signalGroup(sig)
		return
	}
	_ = unix.PidfdSendSignal(g.pidfd, sig, nil, 0)
}

func (g *guest) signalGroup(sig unix.Signal) {
	const processGroup = 1 << 2 // PIDFD_SIGNAL_PROCESS_GROUP, Linux 6.9
	err := unix.PidfdSendSignal(g.pidfd, sig, nil, processGroup)
	if errors.Is(err, unix.EINVAL) && unix.PidfdSendSignal(g.pidfd, 0, nil, 0) == nil {
		_ = unix.Kill(-g.pid, sig)
	}
}

// ignores tells whether the payload ignores a signal, by its mask in proc_pid_status(5).
func (g *guest) ignores(sig unix.Signal) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", g.pid))
	if err != nil || alive(g.pidfd) != nil { // the number may be another's by now
		return false
	}
	_, rest, _ := strings.Cut(string(status), "\nSigIgn:\t")
	mask, _, _ := strings.Cut(rest, "\n")
	signals, err := strconv.ParseUint(mask, 16, 64)
	return err == nil && signals&(1<<(sig-1)) != 0
}

// hangUp does to a job what a shell does whose terminal is gone.
func (g *guest) hangUp() {
	g.signalGroup(unix.SIGHUP)
	g.signalGroup(unix.SIGCONT)
}

func (g *guest) close() { unix.Close(g.pidfd) }
