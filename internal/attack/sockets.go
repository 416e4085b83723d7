package attack

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// deepest is how many directories deep a socket is looked for: /tmp may hold a lot.
const deepest = 3

var sockets = []Attempt{
	{Name: "connect to a socket without a file", try: func(t *Target) error { return connect(t.abstract()) }},
	{Name: "connect to a socket in a file", try: func(t *Target) error { return connect(t.socket()) }},
	{Name: "connect to a service on localhost", Option: Network, try: func(t *Target) error {
		c, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(t.port)))
		if err != nil {
			return err
		}
		return c.Close()
	}},
	{Name: "connect to container engines and desktops", Needs: Host, try: func(*Target) error {
		return any(append(glob("/tmp/.X11-unix/*", "/run/user/*/bus", "/run/user/*/wayland-*"),
			"/run/docker.sock", "/var/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock",
			"/run/dbus/system_bus_socket", "/run/systemd/private", "/dev/log",
			"/var/lib/lxd/unix.socket", "/var/snap/lxd/common/lxd/unix.socket"), connect)
	}},
	{Name: "connect to any socket in a directory for them", Needs: Host, try: func(*Target) error {
		return any([]string{"/run", "/var/run/", "/tmp"}, func(top string) error {
			err := errNothing
			walk := filepath.WalkDir(top, func(path string, d fs.DirEntry, problem error) error {
				switch {
				case problem != nil:
					err = problem
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
}

func init() { area("sockets of the host", sockets) }
