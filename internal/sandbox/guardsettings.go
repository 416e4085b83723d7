package sandbox

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/paths"
)

// guardSettings refuses a session whose guest could write what the next one reads as
// settings, or read the secrets beside them, whether they are there or not: a guest can
// make what is not.
//
// Where it writes, a mount over them would not do. It can rename the directory that they
// are in, mount and all, and make another one (rename(2) refuses only what is itself a
// mount point).
func guardSettings(o *request, workspace string, mounts []config.Mount) error {
	workspace = paths.Resolve(workspace)
	for _, place := range config.UserPlaces(os.Getenv) {
		if paths.Within(workspace, place) {
			return fmt.Errorf("open the workspace: it lies in %s, which is art's own", place)
		}
		if o.Database == "" && paths.Within(place, workspace) {
			return cli.WithHint(fmt.Errorf("protect %s: it lies in the workspace, where the guest could change it for the next session", place),
				"choose another workspace, or keep what is written apart with --db DB")
		}
		for _, m := range mounts {
			host := m.On(workspace)
			if paths.Within(host, place) || m.Writes() && paths.Within(place, host) {
				return exposes(m, place)
			}
		}
	}
	own := filepath.Join(workspace, config.Dir)
	for _, m := range mounts {
		host := m.On(workspace)
		if paths.Within(host, own) || m.Writes() && paths.Within(own, host) {
			return exposes(m, own)
		}
	}
	return nil
}

func exposes(m config.Mount, place string) error {
	return cli.WithHint(fmt.Errorf("%s: the mount of %s would give the guest %s, with settings of the next session", m.Origin, m.Host, place),
		"mount what is beside it, or make the mount read-only where it holds more than that")
}
