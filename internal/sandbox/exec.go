package sandbox

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/sandbox/view"
	"github.com/riverlytech/art/internal/terminal"
	"github.com/riverlytech/art/libexec"
)

// ExecOptions are what the user asks for of another program in a session.
type ExecOptions struct {
	// Interactive asks for a terminal of its own if standard input is one.
	Interactive bool
	// Env are variables, NAME or NAME=VALUE, beside those of the session.
	Env []string
	// Dir is the directory in the guest to start in; "" is the session's.
	Dir string
	// Command and its arguments; none is a shell.
	Command []string
}

// Exec is another program in a session, of the side that asked for it. It is for one goroutine.
type Exec struct {
	ask      control.ExecAsk
	streams  *terminal.Streams
	sock     *os.File
	messages chan execMessage
	hungUp   chan struct{} // closed when the caller's terminal is gone

	guest  *guest   // the program, once there is one
	master *os.File // its terminal
}

type execMessage struct {
	control.ExecMessage
	fd int // -1 if none came
}

// NewExec makes ready to run another program in a session.
func NewExec(o *ExecOptions) (x *Exec, err error) {
	x = &Exec{messages: make(chan execMessage), hungUp: make(chan struct{})}
	host := [3]*os.File{os.Stdin, os.Stdout, os.Stderr}
	if x.streams, err = terminal.Open(o.Interactive, host); err != nil {
		return nil, err
	}
	x.ask = control.ExecAsk{Command: o.Command, Dir: o.Dir, Terminal: x.streams.IsTerminal, Background: !x.streams.Foreground()}
	if x.streams.Terminal != nil {
		for _, name := range []string{"TERM", "COLORTERM"} { // it is another terminal than the session's
			if value, ok := os.LookupEnv(name); ok {
				x.ask.Env = append(x.ask.Env, name+"="+value)
			}
		}
	}
	env, err := view.Named(os.Environ(), o.Env)
	if err == nil {
		tellUnset(o.Env)
		x.ask.Env = append(x.ask.Env, env...)
		err = x.ask.Check()
	}
	return x, err
}

// Ask is what to ask the session.
func (x *Exec) Ask() *control.ExecAsk { return &x.ask }

// Run runs the program, when the session that was asked over a socket has agreed, and returns its exit code.
func (x *Exec) Run(sock *os.File) (int, error) {
	x.sock = sock
	defer x.streams.Terminal.Restore()
	for i, file := range x.streams.Guest {
		if file == nil {
			continue
		}
		if err := x.send(int(file.Fd()), control.ExecMessage{Kind: control.ExecStream, Stream: i}); err != nil {
			return cli.ExitArt, err
		}
	}
	x.streams.CloseGuest()
	go x.receive()
	defer x.leave() // the caller closes the socket
	var signals signalSource
	defer func() { signals.stop() }()
	for {
		select {
		case m, ok := <-x.messages:
			if !ok {
				return x.finish(killed, errSessionOver)
			}
			if m.Kind == control.ExecEnded {
				if m.What == "" {
					return x.finish(m.Code, nil)
				}
				return x.finish(m.Code, cli.WithHint(errors.New(m.What), m.Hint))
			}
			if m.Kind == control.ExecRunning {
				signals = catchSignals(caught)
			}
			if err := x.handle(m); err != nil {
				return x.finish(cli.ExitArt, err)
			}
		case sig := <-signals.c:
			x.signal(sig.(unix.Signal))
		case <-x.hungUp:
			x.hungUp = nil
			x.hangUp()
		case <-x.cameForward():
			x.resume()
		}
	}
}

func (x *Exec) send(fd int, m control.ExecMessage) error {
	return libexec.SendFD(x.sock, fd, control.Marshal(&m))
}

// leave ends the connection, and leaves no message behind, nor its descriptor.
func (x *Exec) leave() {
	_ = unix.Shutdown(int(x.sock.Fd()), unix.SHUT_RDWR) // the session may have ended it
	for m := range x.messages {
		if m.fd >= 0 {
			unix.Close(m.fd)
		}
	}
}

// receive receives what the session says, up to its end.
func (x *Exec) receive() {
	defer close(x.messages)
	for {
		m := execMessage{}
		fd, data, err := libexec.RecvFD(x.sock)
		if err == nil {
			err = control.Unmarshal(data, &m.ExecMessage)
		}
		if err == nil {
			err = m.Check(fd >= 0)
		}
		if err != nil {
			if fd >= 0 {
				unix.Close(fd)
			}
			return
		}
		m.fd = fd
		x.messages <- m
	}
}

// handle acts on a message of the session.
func (x *Exec) handle(m execMessage) error {
	switch m.Kind {
	case control.ExecTerminal:
		// Not to block, so that it can be closed while it is being read.
		if err := unix.SetNonblock(m.fd, true); err != nil {
			return fmt.Errorf("set up the terminal: %w", err)
		}
		x.master = os.NewFile(uintptr(m.fd), "terminal")
		if x.streams.Terminal == nil {
			return errors.New("set up the terminal: nobody has asked for one")
		}
		return x.streams.SetUp(x.master)
	case control.ExecRunning:
		x.guest = &guest{pid: m.PID, pidfd: m.fd}
		hungUp := x.hungUp
		x.streams.Start(x.master, func() { close(hungUp) })
		return x.send(-1, control.ExecMessage{Kind: control.ExecGo})
	case control.ExecStopped:
		x.stopped()
	}
	return nil
}

// finish is called when the program has ended, or never begun.
func (x *Exec) finish(code int, err error) (int, error) {
	if x.guest != nil {
		drained := x.streams.Drain()
		if err == nil {
			err = drained
		}
		if code > cli.ExitSignal {
			x.streams.Reset() // nobody in the guest could
		}
	}
	return code, err
}

// signal acts on a signal that art received.
func (x *Exec) signal(sig unix.Signal) {
	switch {
	case sig == unix.SIGWINCH:
		x.streams.Resize()
	case sig == unix.SIGTSTP && x.master != nil:
		x.guest.signal(sig) // and when it has stopped, so does art
	case sig == unix.SIGTSTP:
		x.guest.signal(unix.SIGSTOP)
		stop(false)
		x.guest.signal(unix.SIGCONT)
	case sig == unix.SIGCONT && x.master != nil:
		x.resume() // after a stop of art alone, as by SIGSTOP
	case sig == unix.SIGHUP && x.master != nil:
		x.hangUp()
	default:
		x.guest.signal(sig)
	}
}

// hangUp is what the end of the terminal is to the program. Should it stay, the session ends it when art is gone.
func (x *Exec) hangUp() {
	x.streams.Hangup()
	if x.guest != nil {
		x.guest.hangUp()
	}
	_ = unix.Shutdown(int(x.sock.Fd()), unix.SHUT_WR)
}

// stopped is called when the program has been stopped as a job of its terminal: art is then the stopped job of the caller's
// shell.
func (x *Exec) stopped() {
	x.streams.AwaitQuiet()
	x.streams.Terminal.Restore()
	stop(true)
	x.resume()
}

// cameForward returns where it is told that art has come to the foreground of its terminal.
func (x *Exec) cameForward() <-chan struct{} {
	if x.guest == nil || x.master == nil {
		return nil
	}
	return x.streams.Terminal.Came
}

// resume goes on with the program, and with the terminal as that has left it.
func (x *Exec) resume() {
	if err := x.streams.TakeTerminal(); err != nil {
		x.hangUp()
	}
	// Fails if the session has ended, of which its end tells.
	_ = x.send(-1, control.ExecMessage{Kind: control.ExecContinue, Foreground: x.streams.Foreground()})
}
