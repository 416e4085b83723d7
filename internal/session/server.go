package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/version"
	"github.com/riverlytech/art/libexec"
)

const (
	// maxConnections bounds what a session has open for others.
	maxConnections = 64
	// firstTimeout is how long either side waits for the first message of the other.
	firstTimeout = 5 * time.Second
)

// Server is a session's socket.
type Server struct {
	ID string

	dir      string
	listener *os.File
	answer   func(*Conn, *control.Ask)

	mu    sync.Mutex
	conns map[*Conn]bool // GUARDED_BY(mu); nil once closed
}

// Listen makes a socket in dir, under an id that no other session has. Each Ask is then given to answer, in a goroutine of its
// own; the connection is closed when that returns.
func Listen(dir string, answer func(*Conn, *control.Ask)) (*Server, error) {
	s := &Server{dir: dir, answer: answer, conns: map[*Conn]bool{}}
	if err := s.listen(); err != nil {
		return nil, fmt.Errorf("listen in %s: %w", dir, cli.Reason(err))
	}
	go s.accept()
	return s, nil
}

func (s *Server) listen() error {
	dir, err := openOwn(s.dir)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	s.listener = os.NewFile(uintptr(fd), "session")
	// It gets its name when somebody listens: one that refuses is taken for what a killed session has left.
	for range 100 {
		temporary := temporaryName(os.Getpid())
		if err = s.bind(dir, fd, temporary); err == nil || !errors.Is(err, unix.EEXIST) {
			break
		}
	}
	if err != nil {
		s.listener.Close()
	}
	return err
}

// temporaryName is the name of a socket on which its process does not listen yet.
func temporaryName(pid int) string { return fmt.Sprintf(".%d-%s", pid, newID()) }

// temporaryPID is the process that has given a socket such a name, or 0.
func temporaryPID(name string) int {
	number, _, _ := strings.Cut(strings.TrimPrefix(name, "."), "-")
	pid, err := strconv.Atoi(number)
	if err != nil {
		return 0
	}
	return pid
}

// bind binds the socket under a temporary name, if that is still to be done, and renames it.
func (s *Server) bind(dir, fd int, temporary string) error {
	if err := unix.Bind(fd, address(dir, temporary)); err != nil {
		return err
	}
	err := unix.Fchmodat(dir, temporary, 0o600, 0)
	if err == nil {
		err = unix.Listen(fd, maxConnections)
	}
	for range 100 {
		if err != nil {
			break
		}
		s.ID = newID()
		if err = rename(dir, temporary, s.ID+suffix); !errors.Is(err, unix.EEXIST) {
			break
		}
		err, s.ID = nil, ""
	}
	if err == nil && s.ID == "" {
		err = errors.New("there are too many sessions")
	}
	if err != nil {
		_ = unix.Unlinkat(dir, temporary, 0) // the next who looks sweeps it
	}
	return err
}

// rename renames a socket to a name that nothing has yet.
func rename(dir int, from, to string) error {
	err := unix.Renameat2(dir, from, dir, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // not every file system can
		if err = unix.Linkat(dir, from, dir, to, 0); err == nil {
			err = unix.Unlinkat(dir, from, 0)
		}
	}
	return err
}

// Path is the path of the socket.
func (s *Server) Path() string { return filepath.Join(s.dir, s.ID+suffix) }

func (s *Server) accept() {
	raw, err := s.listener.SyscallConn()
	if err != nil {
		return
	}
	for {
		fd := -1
		var failed error
		err := raw.Read(func(listener uintptr) bool {
			fd, _, failed = unix.Accept4(int(listener), unix.SOCK_CLOEXEC)
			return !errors.Is(failed, unix.EAGAIN)
		})
		switch {
		case err != nil:
			return // it is closed
		case errors.Is(failed, unix.EMFILE), errors.Is(failed, unix.ENFILE), errors.Is(failed, unix.ENOMEM), errors.Is(failed, unix.ENOBUFS):
			unix.Select(0, nil, nil, nil, &unix.Timeval{Usec: 100_000})
		case failed == nil:
			s.take(newConn(fd))
		}
	}
}

// take answers what is asked on a connection.
func (s *Server) take(c *Conn) {
	s.mu.Lock()
	refused := s.conns == nil || len(s.conns) >= maxConnections
	if !refused {
		s.conns[c] = true
	}
	s.mu.Unlock()
	if refused {
		c.Refuse(errors.New("too many are connected to this session"))
		c.Close()
		return
	}
	go func() {
		defer s.drop(c)
		s.serve(c)
	}()
}

func (s *Server) serve(c *Conn) {
	if err := check(c.fd()); err != nil {
		c.Refuse(fmt.Errorf("connect to the session: %w", err))
		return
	}
	ask := &control.Ask{}
	data, err := c.Receive()
	if err == nil {
		err = control.Unmarshal(data, ask)
	}
	if err == nil {
		err = ask.Check()
	}
	switch {
	case err != nil:
		c.Refuse(fmt.Errorf("read what is asked: %w", err))
		return
	case ask.Kind != control.AskInfo && (ask.Version != version.Version || ask.Protocol != control.SessionProtocol):
		c.Refuse(cli.WithHint(fmt.Errorf("ask session %s: it is art %s, and this is art %s", s.ID, version.Version, ask.Version),
			"use the art that it was started with; its process can be ended by kill(1)"))
		return
	}
	c.setTimeout(0)
	s.answer(c, ask)
}

func (s *Server) drop(c *Conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	c.Close()
}

// Close removes the socket, and ends the connections.
func (s *Server) Close() {
	_ = os.Remove(s.Path()) // somebody has removed it, or the directory
	s.listener.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.Hangup()
	}
	s.conns = nil
}

// Conn is a connection, of either side.
type Conn struct {
	File *os.File
	send sync.Mutex // one message after the other
}

func newConn(fd int) *Conn {
	c := &Conn{File: os.NewFile(uintptr(fd), "connection")}
	c.setTimeout(firstTimeout)
	return c
}

func (c *Conn) fd() int { return int(c.File.Fd()) }

// setTimeout sets how long to wait for a message, or for room for one; 0 is without end.
func (c *Conn) setTimeout(d time.Duration) {
	timeout := unix.NsecToTimeval(d.Nanoseconds())
	for _, option := range []int{unix.SO_RCVTIMEO, unix.SO_SNDTIMEO} {
		_ = unix.SetsockoptTimeval(c.fd(), unix.SOL_SOCKET, option, &timeout) // it is a socket
	}
}

// Receive returns the next message. The end of the other side is io.EOF.
func (c *Conn) Receive() ([]byte, error) {
	fd, data, err := libexec.RecvFD(c.File)
	if fd >= 0 {
		unix.Close(fd)
	}
	return data, err
}

// Send sends a message: what v points to.
func (c *Conn) Send(v any) error {
	c.send.Lock()
	defer c.send.Unlock()
	return libexec.SendFD(c.File, -1, control.Marshal(v))
}

// Answer answers with what body points to, or with nothing if that is nil.
func (c *Conn) Answer(body any) error {
	a := &control.Answer{Protocol: control.SessionProtocol, Version: version.Version}
	if body != nil {
		a.Body = control.Marshal(body)
	}
	return c.Send(a)
}

// Refuse answers with an error. Who has gone needs none.
func (c *Conn) Refuse(err error) {
	m := control.Failure(err)
	_ = c.Send(&control.Answer{Protocol: control.SessionProtocol, Version: version.Version, What: m.What, Hint: m.Hint})
}

// ReceiveAttach returns the next message behind AskAttach.
func (c *Conn) ReceiveAttach() (m control.AttachMessage, err error) {
	data, err := c.Receive()
	if err == nil {
		err = control.Unmarshal(data, &m)
	}
	return m, err
}

// Hangup ends the connection, and wakes who waits for it; Close comes after.
func (c *Conn) Hangup() { _ = unix.Shutdown(c.fd(), unix.SHUT_RDWR) }

// Gone tells whether the other side has ended the connection; there may still be messages.
func (c *Conn) Gone() bool {
	at := []unix.PollFd{{Fd: int32(c.fd())}}
	_, err := unix.Poll(at, 0)
	return err == nil && at[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
}

// Close closes it.
func (c *Conn) Close() { c.File.Close() }
