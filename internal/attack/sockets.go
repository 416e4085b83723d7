package attack

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/sandbox/view"
	"github.com/riverlytech/art/internal/session"
)

// deepest is how many directories deep a socket is looked for: /tmp may hold a lot.
const deepest = 3

func sockets() []Attempt {
	return area("sockets of the host", []Attempt{
		{Name: "connect to a socket without a file", try: func(t *Target) error { return connect(t.abstract()) }},
		{Name: "connect to a socket in a file", try: func(t *Target) error { return connect(t.socket()) }},
		{Name: "ask a session of art's by its socket", try: func(t *Target) error { return session.Reach(t.session) }},
		// The same asks for what is granted once, for the session or for later ones, and answers what waits for the user.
		{Name: "grant itself a name by the session's socket", try: func(t *Target) error {
			dir, name := filepath.Split(t.session)
			id, _, _ := strings.Cut(name, ".")
			conn, err := session.Dial([]string{filepath.Clean(dir)}, id, control.AskGrant, &control.GrantAsk{Rules: []string{"art-attack.invalid"}}, nil)
			if err == nil {
				conn.Close()
			}
			return err
		}},
		{Name: "have the session go back by its socket for checkpoints", Needs: Host, Only: Overlay, try: func(*Target) error {
			return any([]string{"rewind 1\n", "undo\n", "fork /tmp/x\n", "checkpoint a\nundo\n", "checkpoint " + strings.Repeat("a", 4096) + "\n", "checkpoint \x1b[2J\n"}, askCheckpoint)
		}},
		{Name: "make checkpoints without end", Needs: Host, Only: Overlay, try: func(*Target) error {
			for range 30 {
				if err := askCheckpoint("checkpoint\n"); err != nil {
					return err
				}
			}
			return nil
		}},
		{Name: "connect to a service on localhost", Option: Network, try: func(t *Target) error {
			return connectTo(unix.AF_INET, localhost(t.port))
		}},
		{Name: "connect to a service on localhost as IPv6", Needs: Host, Option: Network, try: func(t *Target) error {
			return connectTo(unix.AF_INET6, &unix.SockaddrInet6{Addr: [16]byte{10: 255, 11: 255, 12: 127, 15: 1}, Port: t.port})
		}},
		{Name: "connect to a service on localhost by no address", Option: Network, try: func(t *Target) error {
			return connectTo(unix.AF_INET, &unix.SockaddrInet4{Port: t.port})
		}},
		{Name: "connect to container engines and desktops", Needs: Host, try: func(*Target) error {
			return any(append(glob("/tmp/.X11-unix/*", "/run/user/*/bus", "/run/user/*/wayland-*"),
				"/run/docker.sock", "/var/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock",
				"/run/dbus/system_bus_socket", "/run/systemd/private", "/dev/log",
				"/var/lib/lxd/unix.socket", "/var/snap/lxd/common/lxd/unix.socket"), connect)
		}},
		{Name: "connect to any socket that the kernel lists", Needs: Host, try: func(t *Target) error { return any(t.listed(), connect) }},
		{Name: "send to any socket that the kernel lists", Needs: Host, try: func(t *Target) error { return any(t.listed(), send) }},
		{Name: "connect to any socket in a directory for them", Needs: Host, try: func(*Target) error {
			return any([]string{"/run", "/var/run/", "/tmp"}, func(top string) error {
				err := errNothing
				walk := filepath.WalkDir(top, func(path string, d fs.DirEntry, problem error) error {
					switch {
					case problem != nil:
						err = problem
					case strings.HasSuffix(path, view.CheckpointSocket), strings.HasSuffix(path, view.SSHSocket): // the session's own, also by way of /var/run
					case d.Type()&os.ModeSocket != 0:
						if err = unix.Access(path, unix.W_OK); err == nil {
							return filepath.SkipAll
						}
					case d.IsDir() && strings.Count(path, "/") > deepest:
						return filepath.SkipDir
					}
					return nil
				})
				if walk != nil {
					return walk
				}
				return err
			})
		}},
	})
}

// Sockets are made by hand: package net would take its time at every start of art, which is never
// an attacker but in a trial.

// connect succeeds if somebody listens at a socket's address, which begins with @ where
// it has no file.
func connect(name string) error { return connectTo(unix.AF_UNIX, &unix.SockaddrUnix{Name: name}) }

func connectTo(family int, address unix.Sockaddr) error {
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, address)
}

// askCheckpoint succeeds if the session takes a line for one that asks for a checkpoint. What comes with it, a descriptor, is nobody's.
func askCheckpoint(line string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: view.CheckpointSocket}); err != nil {
		return err
	}
	err = unix.Sendmsg(fd, []byte(line), unix.UnixRights(fd), nil, unix.MSG_NOSIGNAL)
	if err == unix.EPERM { // it takes none
		err = unix.Sendmsg(fd, []byte(line), nil, nil, unix.MSG_NOSIGNAL)
	}
	if err != nil {
		return err
	}
	answer := make([]byte, 256)
	n, err := unix.Read(fd, answer)
	if err != nil {
		return err
	}
	if text := string(answer[:n]); !strings.HasPrefix(text, "checkpoint ") {
		return errors.New(strings.TrimSpace(text))
	}
	return nil
}

// send succeeds if somebody receives what is sent to a socket's address: nothing.
func send(name string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Sendto(fd, nil, unix.MSG_DONTWAIT, &unix.SockaddrUnix{Name: name})
}

// listed returns the paths of the network's sockets, but for those in the workspace, which are the session's, and those
// made since the trial began.
func (t *Target) listed() (paths []string) {
	text, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil
	}
	here, err := os.Stat(".")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		i := strings.Index(line, " /")
		if i < 0 {
			continue
		}
		path := strings.TrimSuffix(line[i+1:], "\n")
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err != nil || st.Ctim.Nano() >= t.begun {
			continue
		}
		inside := false
		for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
			info, err := os.Stat(dir)
			inside = inside || err == nil && os.SameFile(info, here)
		}
		if !inside {
			paths = append(paths, path)
		}
	}
	return paths
}

// listen returns a socket to which others can connect.
func listen(family int, address unix.Sockaddr) (fd int, err error) {
	if fd, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return -1, err
	}
	if err = unix.Bind(fd, address); err == nil {
		err = unix.Listen(fd, unix.SOMAXCONN) // nobody accepts
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func localhost(port int) unix.Sockaddr {
	return &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: port}
}
