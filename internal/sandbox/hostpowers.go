package sandbox

import (
	"path/filepath"
	"strings"
)

// hostPowers are sockets by which whoever connects has more of the host than an answer: it starts programs or containers, signs in
// the user's name, or sees his screen. A pattern is that of a whole path or, without a slash at its beginning, of its last elements
// (filepath.Match); one that ends in /** is that of all within.
var hostPowers = []struct{ what, patterns string }{
	{"a container engine's", `docker.sock docker.socket /run/docker/** podman.sock /run/podman/** /run/user/*/podman/** /run/user/*/docker/**
		containerd.sock containerd.sock.ttrpc /run/containerd/** /run/user/*/containerd/** crio.sock /run/crio/** buildkitd.sock /run/buildkit/** nerdctl.sock
		/var/lib/lxd/** /var/lib/incus/** /run/incus/** /var/snap/lxd/** /run/lxc/** /run/k3s/** kubelet.sock cri-dockerd.sock .docker/run/*`},
	{"one of virtual machines", "/run/libvirt/** /run/user/*/libvirt/** /run/multipassd* /run/vmware/** /run/qemu-server/**"},
	{"a manager's of packages", "/run/snapd.socket /run/snapd-snap.socket /run/snapd/** /nix/var/nix/daemon-socket/* /run/nix/**"},
	{"a bus", "/run/dbus/** /run/user/*/bus /run/user/*/dbus-1/** /run/user/*/at-spi/** /tmp/dbus-*"},
	{"systemd's", "/run/systemd/** /run/user/*/systemd/** /run/udev/** /run/initctl"},
	{"an agent's of SSH or of keys", `/tmp/ssh-*/* .ssh/agent/* openssh_agent ssh-agent ssh-agent.* gcr/* keyring/* /run/user/*/ssh-* /run/user/*/ssh/**
		.gnupg/* /run/user/*/gnupg/** S.gpg-agent* S.scdaemon S.keyboxd S.dirmngr /run/pcscd/** .1password/*`},
	{"the desktop's", "/tmp/.X11-unix/* /tmp/.ICE-unix/* /run/user/*/wayland-* /run/user/*/pulse/** /run/pulse/** pipewire-* /run/user/*/sway-ipc.* /run/user/*/hypr/** /run/user/*/kitty* /run/user/*/emacs/* /run/user/*/nvim.* vscode-*.sock"},
	{"a terminal's of others", "/tmp/tmux-*/* /run/user/*/tmux-*/* /run/screen/** /run/tmux/**"},
	{"one of the host's network", "/run/tailscale/** /run/NetworkManager/** /run/wpa_supplicant/**"},
}

// hostPower says what listens at the path of a socket, without links, if that is one of these, or "". Whoever has his elsewhere is
// not known.
func hostPower(path string) string {
	for _, power := range hostPowers {
		for pattern := range strings.FieldsSeq(power.patterns) {
			if matchesSocket(pattern, path) {
				return power.what
			}
		}
	}
	return ""
}

func matchesSocket(pattern, path string) bool {
	all, within := strings.CutSuffix(pattern, "/**")
	elements, have := strings.Split(all, "/"), strings.Split(path, "/")
	switch {
	case len(have) < len(elements), within && len(have) == len(elements):
		return false
	case strings.HasPrefix(pattern, "/"):
		have = have[:len(elements)]
		if !within && len(elements) != strings.Count(path, "/")+1 {
			return false
		}
	default:
		have = have[len(have)-len(elements):]
	}
	matches, _ := filepath.Match(strings.Join(elements, "/"), strings.Join(have, "/")) // the patterns are well formed
	return matches
}
