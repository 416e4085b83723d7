package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"

	"golang.org/x/sys/unix"
)

// caught are the signals that are the guest's business, or its terminal's.
var caught = []os.Signal{
	unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2,
	unix.SIGALRM, unix.SIGWINCH, unix.SIGTSTP, unix.SIGCONT,
}

type signalSource struct{ c chan os.Signal }

func catchSignals() signalSource {
	s := signalSource{make(chan os.Signal, 16)}
	for _, sig := range caught {
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
		s.resize()
	case sig == unix.SIGTSTP:
		s.suspend()
	case sig == unix.SIGHUP && s.master != nil:
		s.hangup()
	case s.guest != nil:
		s.guest.signal(sig)
	case sig != unix.SIGCONT:
		// There is no guest yet that could act on it: what it would do to a process
		// that does not care is end it.
		s.ended = sig
		s.stage.Kill()
	}
}

func (s *session) resize() {
	if s.master != nil {
		// Fails if one of the two terminals is gone, whose size then matters no more.
		_ = s.streams.Terminal.Resize(s.master)
	}
}

// suspend stops art and the payload, as the job they are to the caller's shell,
// until the shell continues art.
func (s *session) suspend() {
	s.streams.Terminal.Restore()
	if s.guest != nil {
		// Not SIGTSTP, which the kernel drops: the payload's group has no parent in
		// its session that could continue it (setpgid(2), orphaned groups).
		s.guest.signal(unix.SIGSTOP)
	}
	stop()
	if s.master != nil {
		if err := s.streams.Terminal.Raw(); err != nil {
			s.hangup()
		}
		s.resize()
	}
	if s.guest != nil {
		s.guest.signal(unix.SIGCONT)
	}
}

// stop stops art until it is continued. The signal is for the thread that sends it, which
// then does nothing before all of them have stopped; another one could not stop this one at
// once (signal(7), process-directed signals).
func stop() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_ = unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGSTOP) // cannot fail
}

// guest is the payload's process, which leads a session and a process group.
type guest struct{ pid, pidfd int }

func newGuest(pid int) (*guest, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, fmt.Errorf("open the payload's process: %w", err)
	}
	return &guest{pid, fd}, nil
}

// toGroup are the signals that a terminal or a shell sends to a whole job. The
// caller's sends them to art alone, since the guest has a session of its own.
func toGroup(sig unix.Signal) bool {
	switch sig {
	case unix.SIGINT, unix.SIGQUIT, unix.SIGSTOP, unix.SIGCONT:
		return true
	}
	return false
}

// signal sends sig to the payload. It does nothing if that has ended.
func (g *guest) signal(sig unix.Signal) {
	const processGroup = 1 << 2 // PIDFD_SIGNAL_PROCESS_GROUP, Linux 6.9
	if toGroup(sig) {
		err := unix.PidfdSendSignal(g.pidfd, sig, nil, processGroup)
		if errors.Is(err, unix.EINVAL) && unix.PidfdSendSignal(g.pidfd, 0, nil, 0) == nil {
			_ = unix.Kill(-g.pid, sig)
		}
		return
	}
	_ = unix.PidfdSendSignal(g.pidfd, sig, nil, 0)
}
