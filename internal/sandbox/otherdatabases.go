package sandbox

import (
	"slices"
	"strings"

	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/paths"
)

// hideDatabases hides the databases of other sessions that lie beside this one's, as they do where one directory is for
// all. One that the user mounts stays. A directory that is hidden as a whole, as art's own is, hides also what comes
// there later.
func (p *prepared) hideDatabases(mounts []config.Mount) {
	if slices.ContainsFunc(p.plan.Hide, func(hidden string) bool { return paths.Within(p.plan.Database, hidden) }) {
		return
	}
	workspace := paths.Resolve(p.plan.Workspace)
	for _, path := range <-p.beside {
		if slices.ContainsFunc(mounts, func(m config.Mount) bool { return paths.Resolve(m.On(workspace)) == path }) {
			continue
		}
		if paths.Within(path, workspace) {
			p.hideInWorkspace(strings.TrimPrefix(path, workspace))
		}
		for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
			p.plan.Hide = append(p.plan.Hide, path+suffix)
		}
	}
}
