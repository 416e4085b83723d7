package session

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/control"
)

// Who has connected and ended may have left its number to another process.
func TestPeerHasEnded(t *testing.T) {
	if path := os.Getenv("ART_TEST_CONNECT"); path != "" {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET, 0)
		if err == nil {
			err = unix.Connect(fd, &unix.SockaddrUnix{Name: path})
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	dir, err := os.MkdirTemp("", "peer")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "s")
	listener, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Bind(listener, &unix.SockaddrUnix{Name: path})
	}
	if err == nil {
		err = unix.Listen(listener, 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(listener)
	connect := func() int {
		cmd := exec.Command(os.Args[0], "-test.run=^TestPeerHasEnded$")
		cmd.Env = append(os.Environ(), "ART_TEST_CONNECT="+path)
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		conn, _, err := unix.Accept4(listener, unix.SOCK_CLOEXEC)
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	conn := connect()
	defer unix.Close(conn)
	if err := check(conn); err == nil || !strings.Contains(err.Error(), "ask who connects") {
		t.Errorf("who has ended: %v", err)
	}
	own, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(own[0])
	defer unix.Close(own[1])
	if err := check(own[0]); err != nil {
		t.Error(err)
	}
	if _, err := unix.GetsockoptInt(own[0], unix.SOL_SOCKET, unix.SO_PEERPIDFD); err != nil {
		t.Skip(err) // Linux 6.5
	}
	// The number of another process that is there is not believed for one that has ended.
	if its, err := namespaceOf(conn, os.Getpid()); err == nil {
		t.Errorf("%s was taken for its namespace", its)
	}
}

// A guest that has the socket after all, and is of the caller's id, grants itself nothing: it is of another user namespace.
func TestGuestIsRefused(t *testing.T) {
	if path := os.Getenv("ART_TEST_GRANT"); path != "" {
		id, _, _ := strings.Cut(filepath.Base(path), ".")
		conn, err := Dial([]string{filepath.Dir(path)}, id, control.AskGrant, &control.GrantAsk{Rules: []string{"a.example"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
		return
	}
	var asked atomic.Int32
	s, err := Listen(directory(t), func(c *Conn, _ *control.Ask) {
		asked.Add(1)
		_ = c.Answer(&control.GrantMade{})
	})
	if err != nil {
		t.Fatal(err)
	}
	grant := func(flags uintptr) error {
		cmd := exec.Command(os.Args[0], "-test.run=^TestGuestIsRefused$")
		cmd.Env = append(os.Environ(), "ART_TEST_GRANT="+s.Path())
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  flags,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
		}
		if flags == 0 {
			cmd.SysProcAttr = nil
		}
		return cmd.Run()
	}
	if err := grant(0); err != nil {
		t.Errorf("the user cannot grant anything: %v", err)
	}
	if err := grant(unix.CLONE_NEWUSER); err == nil {
		t.Error("a guest grants itself a name")
	}
	defer s.Close()
	if n := asked.Load(); n != 1 {
		t.Errorf("%d were asked", n)
	}
}
