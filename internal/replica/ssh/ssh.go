// Package ssh connects to servers by the user's own ssh, with the keys, the agent, the known hosts and the settings that the user has for it. It runs
// beside a process apart: who copies a database starts no programs, and has no keys.
package ssh

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/libexec"
)

// Address is where a server is. Port and User may be empty: then they are as the settings of ssh have them for the host.
type Address struct{ Host, Port, User string }

// word is what art-replicate is called with to serve. The address follows.
const word = "connect"

// Server is one that can be connected to.
type Server struct {
	mu     sync.Mutex
	socket *os.File // to the process that starts ssh. GUARDED_BY(mu)
}

// Reach starts the process that connects to a server. It ends with this one.
func Reach(a Address) (*Server, error) {
	mine, its, err := libexec.Socketpair()
	if err != nil {
		return nil, err
	}
	defer its.Close()
	cmd, err := libexec.Command("art-replicate", word, a.Host, a.Port, a.User)
	if err == nil {
		cmd.Stdin = its
		// Without the terminal's signals, and without a terminal that ssh could ask something at.
		sid, serr := unix.Getsid(0)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: serr != nil || sid != os.Getpid()}
		err = cmd.Start()
	}
	if err != nil {
		mine.Close()
		return nil, fmt.Errorf("start what connects by ssh: %w", cli.Reason(err))
	}
	go func() {
		_ = cmd.Wait()
		// It was killed, and this process cannot start another one.
		_ = unix.Kill(unix.Getpid(), unix.SIGKILL)
	}()
	return &Server{socket: mine}, nil
}

// started is what the process that starts ssh answers with a descriptor. Without one, it answers why.
const started = "started"

// ErrMissing says that there is no ssh to start.
var ErrMissing = errors.New("ssh is not installed here")

// Connect starts ssh. Whether that reaches the server is known once the server says something.
func (s *Server) Connect() (*Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := libexec.SendFD(s.socket, -1, []byte(word)); err != nil {
		return nil, err
	}
	pipe, err := s.receive("ssh")
	if err != nil {
		return nil, err
	}
	said, err := s.receive("what ssh says")
	if err != nil {
		pipe.Close()
		return nil, err
	}
	return newConn(pipe, said), nil
}

// receive returns a descriptor that is made ready to be waited for by the runtime, so that closing it ends a Read.
func (s *Server) receive(name string) (*os.File, error) {
	fd, answer, err := libexec.RecvFD(s.socket)
	if err == nil && fd < 0 {
		if err = errors.New(string(answer)); err.Error() == ErrMissing.Error() {
			err = ErrMissing
		}
	}
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// Conn is a connection to the server's SFTP.
type Conn struct {
	*os.File
	heard chan struct{} // closed when ssh has said all
	said  []byte        // by ssh; heard guards it
}

// mostSaid bounds what is kept of what ssh says, in bytes, and saysFor how long it is waited for.
const (
	mostSaid = 4 << 10
	saysFor  = 2 * time.Second
)

func newConn(pipe, said *os.File) *Conn {
	c := &Conn{File: pipe, heard: make(chan struct{})}
	go func() {
		defer said.Close()
		c.said, _ = io.ReadAll(io.LimitReader(said, mostSaid))
		close(c.heard)
		_, _ = io.Copy(io.Discard, said)
	}()
	return c
}

// Says returns why ssh has ended, as it says it in some lines, or "".
func (c *Conn) Says() string {
	select {
	case <-c.heard:
		return strings.TrimSpace(string(c.said))
	case <-time.After(saysFor):
		return ""
	}
}
