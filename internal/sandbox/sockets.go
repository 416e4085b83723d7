package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/paths"
	sessions "github.com/riverlytech/art/internal/session"
)

// socketVariables tell programs of the caller where agents, engines and desktops
// listen. Most of those sockets are in directories that the guest does not have;
// a mount of the directory read-only would not stop connect(2).
var socketVariables = []string{
	"SSH_AUTH_SOCK", "DOCKER_HOST", "CONTAINER_HOST", "CONTAINERD_ADDRESS",
	"DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS", "WAYLAND_DISPLAY", "PULSE_SERVER", "TMUX",
}

// namedSockets returns the sockets that the caller's environment names, but for
// those that the user binds.
func namedSockets(getenv func(string) string, mounts []config.Mount) []string {
	var found []string
	for _, name := range socketVariables {
		path := socketPath(getenv(name))
		if path == "" {
			continue
		}
		if info, err := os.Stat(path); err != nil || info.Mode()&os.ModeSocket == 0 {
			continue
		}
		bound := false
		for _, m := range mounts {
			bound = bound || m.Host == paths.Resolve(path)
		}
		if !bound {
			found = append(found, path)
		}
	}
	return found
}

// socketPath returns the path in an address such as /path, unix:///path,
// unix:path=/path,guid=0 (D-Bus) or /path,1,2 (tmux), or "".
func socketPath(address string) string {
	address = strings.TrimPrefix(strings.TrimPrefix(address, "unix:"), "path=")
	if !strings.HasPrefix(address, "/") {
		return "" // over the network, or abstract
	}
	path, _, _ := strings.Cut(address, ",")
	path, _, _ = strings.Cut(path, ";")
	return filepath.Clean(path)
}

// sessionsHidden returns the directories where sessions listen. The one for new sessions is made, so that it is there to be
// hidden when this session begins to.
func sessionsHidden() []string {
	_, _ = sessions.Make(os.Getenv) // who listens there is told
	hidden := config.UserDirs(os.Getenv)
	return slices.DeleteFunc(sessions.Directories(os.Getenv), func(dir string) bool { return paths.WithinAny(dir, hidden) })
}
