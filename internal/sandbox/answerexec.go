package sandbox

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	sessions "github.com/riverlytech/art/internal/session"
	"github.com/riverlytech/art/libexec"
)

// answerExec runs another program in the session, for who is connected.
func (s *session) answerExec(c *sessions.Conn, ask *control.Ask) error {
	what := &control.ExecAsk{}
	err := control.Unmarshal(ask.Body, what)
	if err == nil {
		err = what.Check()
	}
	if err != nil {
		return fmt.Errorf("read what to run: %w", err)
	}
	if s.joinable == nil {
		return cli.WithHint(errors.New("join the session: its system calls are traced, and of what joins it there would be no trace"),
			"start the session without --trace")
	}
	if err := c.Answer(nil); err != nil {
		return err
	}
	r := &remote{sock: c.File, ready: make(chan struct{}), left: make(chan struct{}), goesOn: make(chan bool, 16)}
	streams, err := r.streams(what)
	if err != nil {
		closeFiles(streams[:])
		r.ended(cli.ExitArt, err)
		return nil
	}
	go r.receive()
	what.Env, what.Command = s.kept.others(what.Env), s.kept.texts(what.Command)
	s.joinable.run(what, streams, r)
	// Its end wakes who waits for a message; the connection must not be closed before, for its number could be another's.
	c.Hangup()
	<-r.left
	return nil
}

// remote is a client at the other end of a connection.
type remote struct {
	sock   *os.File
	ready  chan struct{} // closed when it has set up the streams
	left   chan struct{} // closed when it says no more
	goesOn chan bool     // whether the program does in the foreground
}

func (r *remote) went() <-chan struct{}  { return r.left }
func (r *remote) set() <-chan struct{}   { return r.ready }
func (r *remote) continued() <-chan bool { return r.goesOn }
func (r *remote) terminal(fd int) error {
	return r.send(fd, control.ExecMessage{Kind: control.ExecTerminal})
}
func (r *remote) running(g *guest) error {
	return r.send(g.pidfd, control.ExecMessage{Kind: control.ExecRunning, PID: g.pid})
}
func (r *remote) stopped() { _ = r.send(-1, control.ExecMessage{Kind: control.ExecStopped}) }

func (r *remote) ended(code int, err error) {
	m := control.ExecMessage{Kind: control.ExecEnded, Code: code}
	if err != nil {
		f := control.Failure(err)
		m.What, m.Hint = f.What, f.Hint
	}
	_ = r.send(-1, m) // who has gone need not know
}

// send sends a message, unless nobody reads: what is said is little, and the session waits for no client.
func (r *remote) send(fd int, m control.ExecMessage) error {
	var rights []byte
	if fd >= 0 {
		rights = unix.UnixRights(fd)
	}
	if err := unix.Sendmsg(int(r.sock.Fd()), control.Marshal(&m), rights, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT); err != nil {
		return fmt.Errorf("tell who has asked for the program: %w", err)
	}
	return nil
}

// next returns what the client says next.
func (r *remote) next() (m control.ExecMessage, fd int, err error) {
	fd, data, err := libexec.RecvFD(r.sock)
	if err == nil {
		err = control.Unmarshal(data, &m)
	}
	if err == nil {
		err = m.Check(fd >= 0)
	}
	if err != nil && fd >= 0 {
		unix.Close(fd)
	}
	return m, fd, err
}

// streams receives the streams that are not the program's terminal.
func (r *remote) streams(ask *control.ExecAsk) (streams [3]*os.File, err error) {
	for i, terminal := range ask.Terminal {
		if terminal {
			continue
		}
		m, fd, err := r.next()
		if err == nil && (m.Kind != control.ExecStream || m.Stream != i) {
			if fd >= 0 {
				unix.Close(fd)
			}
			err = fmt.Errorf("receive a message: message %d for stream %d", m.Kind, i)
		}
		if err != nil {
			return streams, err
		}
		streams[i] = os.NewFile(uintptr(fd), "stream")
	}
	return streams, nil
}

// receive hears what the client says until that is gone.
func (r *remote) receive() {
	defer close(r.left)
	for set := false; ; {
		m, fd, err := r.next()
		switch {
		case err != nil:
			return
		case fd >= 0:
			unix.Close(fd)
		case m.Kind == control.ExecGo && !set:
			set = true
			close(r.ready)
		case m.Kind == control.ExecContinue:
			select {
			case r.goesOn <- m.Foreground:
			default: // nobody says that so often
			}
		}
	}
}
