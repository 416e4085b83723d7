package sandbox

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestHostPower(t *testing.T) {
	for path, want := range map[string]string{
		"/run/docker.sock": "container", "/home/u/.docker/run/docker.sock": "container", "/run/user/1000/podman/podman.sock": "container",
		"/run/containerd/containerd.sock": "container", "/run/containerd/s/1": "container", "/run/libvirt/libvirt-sock": "machines", "/run/snapd.socket": "packages",
		"/run/dbus/system_bus_socket": "bus", "/run/user/1000/bus": "bus", "/run/systemd/private": "systemd", "/run/user/1/systemd/private": "systemd",
		"/run/systemd/journal/socket": "systemd", "/tmp/ssh-abc/agent.12": "SSH", "/run/user/1000/gcr/ssh": "SSH", "/run/user/1000/keyring/ssh": "SSH",
		"/home/u/.gnupg/S.gpg-agent": "SSH", "/run/user/1000/gnupg/S.gpg-agent.extra": "SSH", "/tmp/.X11-unix/X0": "desktop",
		"/run/user/1000/wayland-0": "desktop", "/tmp/tmux-1000/default": "terminal",
		"/run/postgresql/.s.PGSQL.5432": "", "/run/mysqld/mysqld.sock": "", "/tmp/x.sock": "", "/srv/run/user/1/bus": "", "/run/user/1000/app/bus": "",
		"/run/redis/redis.sock": "", "/srv/wayland-0": "", "/run/systemd": "",
	} {
		if got := hostPower(path); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	for _, power := range hostPowers {
		for _, pattern := range strings.Fields(power.patterns) {
			if _, err := filepath.Match(pattern, ""); err != nil {
				t.Errorf("%s: %v", pattern, err)
			}
		}
	}
}
