package sandbox

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/seccomp"
	sessions "github.com/riverlytech/art/internal/session"
	"github.com/riverlytech/art/internal/terminal"
	"github.com/riverlytech/art/libexec"
)

// A session on a terminal is a second process, so that it can be detached. The art that the user has typed is its caller: it is
// the job of the user's shell, and ends when the session is detached. Until then the session is part of the same job, and reads
// and writes the terminal itself. Signals count once, as the caller passes them on: the terminal's keys send one to both processes,
// and kill(1) to the caller alone.

// Foreground is the zeroth argument of the process of a session in the foreground. It has a socket to its caller.
const Foreground = "art-front"

// frontMessage is what the two say to each other.
type frontMessage struct {
	Kind   frontKind
	Signal int
	ID     string
	Code   int
}

type frontKind int

const (
	// frontBegun, to the caller: signals are to be passed on. Before, one ends the caller, and that the session.
	frontBegun frontKind = iota
	// frontStop, to the caller: the session's command has been stopped, and so shall be the whole job.
	frontStop
	// frontDetached, to the caller: the session goes on in the background.
	frontDetached
	// frontEnded, to the caller: all is done and said. What the kernel has to do at the end of a process need not be waited for.
	frontEnded
	// frontSignal, to the session: the caller got a signal.
	frontSignal
	// frontContinued, to the session: the job was continued.
	frontContinued
)

// CanDetach tells whether a session in the foreground is to have a process of its own, so that it can be detached.
func CanDetach(o *Options) bool {
	if !o.Interactive || !o.DetachKeys.Any() || !term.IsTerminal(int(os.Stdin.Fd())) {
		return false
	}
	if o.Agent == "" {
		return true
	}
	a, err := config.FindAgent(os.Getenv, o.Agent, seccomp.Options)
	return err == nil && a.Enabled // otherwise there is no session
}

// RunForeground runs a session with the arguments of this process in another one, and returns its exit code, or its id if it was
// detached.
func RunForeground(o *Options, args []string) (detached string, code int, err error) {
	ours, theirs, err := libexec.Socketpair()
	if err != nil {
		return "", cli.ExitArt, err
	}
	defer ours.Close()
	passed := []uintptr{0, 1, 2, theirs.Fd()}
	told, err := o.passEvents()
	if err != nil {
		return "", cli.ExitArt, err
	}
	for _, f := range told {
		defer f.Close()
		passed = append(passed, f.Fd())
	}
	// Not by os.StartProcess, which makes a process first to find out what the kernel has (checkPidfdOnce in package os).
	pid, err := syscall.ForkExec("/proc/self/exe", append([]string{Foreground}, args...),
		&syscall.ProcAttr{Env: os.Environ(), Files: passed})
	theirs.Close()
	if err != nil {
		return "", cli.ExitArt, fmt.Errorf("start the process of the session: %w", cli.Reason(err))
	}
	own := terminal.New(os.Stdin)
	own.Remember()
	messages := receiveFront(ours, func() {})
	ended := make(chan syscall.WaitStatus, 1)
	go func() { ended <- wait(pid) }()
	var signals signalSource
	for {
		select {
		case m := <-messages:
			switch m.Kind {
			case frontBegun:
				signals = catchSignals(caught)
			case frontStop:
				stop(true)
				sendFront(ours, &frontMessage{Kind: frontContinued})
			case frontDetached:
				return m.ID, cli.OK, nil
			case frontEnded:
				return "", m.Code, nil
			}
		case sig := <-signals.c:
			sendFront(ours, &frontMessage{Kind: frontSignal, Signal: int(sig.(unix.Signal))})
		case status := <-ended:
			if status.Exited() {
				return "", status.ExitStatus(), nil
			}
			own.Restore() // it could not
			return "", cli.ExitArt, fmt.Errorf("run the session: its process was killed: %s", status.Signal())
		}
	}
}

func wait(pid int) (status syscall.WaitStatus) {
	for {
		if _, err := syscall.Wait4(pid, &status, 0, nil); !errors.Is(err, unix.EINTR) {
			return status // nobody else waits for it
		}
	}
}

// sendFront says something to the other side. If that has ended, its end tells of it.
func sendFront(sock *os.File, m *frontMessage) { _ = libexec.SendFD(sock, -1, control.Marshal(m)) }

// receiveFront returns what the other side says, and calls gone at its end.
func receiveFront(sock *os.File, gone func()) <-chan frontMessage {
	messages := make(chan frontMessage, 16)
	go func() {
		defer gone()
		for {
			var m frontMessage
			_, data, err := libexec.RecvFD(sock)
			if err == nil {
				err = control.Unmarshal(data, &m)
			}
			if err != nil {
				return
			}
			select {
			case messages <- m:
			default: // as signals that nobody takes (package os/signal)
			}
		}
	}()
	return messages
}

// caller is the art that has started a session in the foreground: the session's side.
type caller struct {
	sock      *os.File
	messages  <-chan frontMessage
	detaching chan chan bool // the keys were pressed, and somebody waits to hear whether the session was detached
	stopped   func()         // what to do when the job is continued; nil if it is not stopped
	released  atomic.Bool    // the session is detached or has ended: the end of the caller ends it no more
	noDetach  error          // why the session cannot be detached; nil if it can
	unit      func() error   // makes a unit of it when it is detached, if that is asked for
}

// goForeground connects a session in the foreground with its caller, so that it can be detached.
func (s *session) goForeground(o *request) error {
	unix.CloseOnExec(starterFD)
	c := &caller{sock: os.NewFile(starterFD, "caller"), detaching: make(chan chan bool), unit: o.makeUnit}
	c.messages = receiveFront(c.sock, func() {
		if !c.released.Load() {
			_ = unix.Kill(os.Getpid(), unix.SIGKILL) // as the caller was
		}
	})
	s.caller = c
	if o.Trace != nil && o.Trace.Log == "" {
		c.noDetach = cli.WithHint(errors.New("leave the session: its trace goes to this terminal"), "name a file for it with --trace-log FILE")
	}
	if s.streams.Terminal == nil {
		return nil
	}
	return s.streams.Attend(o.DetachKeys, func() bool {
		answer := make(chan bool)
		select {
		case c.detaching <- answer:
			return <-answer
		case <-s.registry.over:
			return false
		}
	})
}

// attended says whether the session has a caller that waits for it.
func (s *session) attended() bool { return s.caller != nil && !s.caller.released.Load() }

// endForeground lets the caller go, who is still there.
func (s *session) endForeground(code int) {
	if s.attended() {
		s.caller.released.Store(true)
		sendFront(s.caller.sock, &frontMessage{Kind: frontEnded, Code: code})
	}
}

// fromCaller returns what the caller says, and where it is told that the keys were pressed. Without one nothing comes.
func (s *session) fromCaller() (<-chan frontMessage, <-chan chan bool) {
	if s.caller == nil {
		return nil, nil
	}
	return s.caller.messages, s.caller.detaching
}

// catch begins to catch signals. Those of the job come from the caller, if there is one; but what stops the job stops all of it.
func (s *session) catch() signalSource {
	if s.caller == nil {
		return catchSignals(caught)
	}
	signals := catchSignals(slices.DeleteFunc(slices.Clone(caught), func(sig os.Signal) bool { return sig == unix.SIGTSTP }))
	sendFront(s.caller.sock, &frontMessage{Kind: frontBegun})
	return signals
}

// hear acts on what the caller says.
func (s *session) hear(m frontMessage) {
	switch m.Kind {
	case frontSignal:
		s.signal(unix.Signal(m.Signal))
	case frontContinued:
		if then := s.caller.stopped; then != nil {
			s.caller.stopped = nil
			then()
		}
	}
}

// pause stops art as a job of the caller's shell, and with job the whole process group that it is in. Then is called when it is
// continued.
func (s *session) pause(job bool, then func()) {
	if !s.attended() {
		stop(job)
		then()
		return
	}
	s.caller.stopped = then
	sendFront(s.caller.sock, &frontMessage{Kind: frontStop})
}

// tryDetach detaches a session in the foreground, and tells whether it could.
func (s *session) tryDetach() bool {
	err := s.detach()
	if err != nil {
		// In raw mode, on the screen of a program that is going to paint it anew.
		fmt.Fprintf(os.Stderr, "\r\nart: %s\r\n", cli.Printable(err.Error()))
	}
	return err == nil
}

// detach has the session go on in the background, without its caller and the caller's terminal.
func (s *session) detach() error {
	if s.caller.noDetach != nil {
		return s.caller.noDetach
	}
	b := &background{log: &sessions.Log{}}
	if err := s.caller.unit(); err != nil {
		return err
	}
	s.caller.unit = func() error { return nil } // it is one now, also where what follows fails
	if err := s.openLog(b); err != nil {
		return err
	}
	// It is not the first of its process group: that is the caller, or comes before it in a pipeline.
	if _, err := unix.Setsid(); err != nil {
		b.log.Close()
		return fmt.Errorf("leave the session: %w", err)
	}
	on := s.streams.IsTerminal
	s.caller.released.Store(true)
	s.streams.Detach(b.log)
	if s.left.answer != nil { // nobody is there to answer
		s.left.answer, s.left.waits = nil, true
	}
	s.background = b
	s.become(control.Detached)
	if err := b.replace(on); err != nil {
		b.log.Tell("art: " + err.Error())
	}
	sendFront(s.caller.sock, &frontMessage{Kind: frontDetached, ID: s.registry.server.ID})
	_ = unix.Shutdown(int(s.caller.sock.Fd()), unix.SHUT_RDWR) // who waits for it wakes
	rest()
	return nil
}
