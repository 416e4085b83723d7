package reconcile

import (
	"errors"
	"fmt"
	"os"

	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/reconcile/hidden"
	"github.com/riverlytech/art/internal/workspace"
	"github.com/riverlytech/art/sqlvfs"
)

// What is hidden in sessions (package hidden) stays where it is on the host, though the guest has renamed or removed what
// it lies in: no guest has seen it, so none has meant it. Each file whose content is on the host at a path that the
// database gives goes through openSource, and each directory through gatherRenamed.

var errHidden = errors.New("it is hidden from guests")

// loadHidden finds out what is hidden.
func (p *planner) loadHidden() error {
	workspaces := []string{p.host.dir.Name()}
	if p.store != nil {
		list, err := sqlvfs.Query(p.store, (*sqlvfs.Tx).Workspaces)
		if err != nil {
			return fmt.Errorf("read %s: %w", p.opt.DB, err)
		}
		for _, w := range list { // it may be a mount of theirs
			if !sqlvfs.IsLayer(w.Name) && w.Path != "" {
				workspaces = append(workspaces, w.Path)
			}
		}
	}
	paths, err := config.Hidden(os.Getenv, workspaces...)
	if err != nil {
		return err
	}
	p.hidden, err = hidden.Of(p.host.dir.Name(), append(paths, workspace.Beside(p.database())...))
	return err
}

// hides tells whether a path of the host is hidden where the guest does not have it at the same one.
func (p *planner) hides(rel string, version sqlvfs.Fingerprint) bool {
	return p.hidden.Has(rel) || p.hidden.Is(version)
}

// leaveHidden leaves what comes from a path that is hidden.
func (p *planner) leaveHidden(a *item, source string) {
	p.stays(a, source)
	p.leave(a)
}

// stays tells that what an item would come from stays where it is.
func (p *planner) stays(a *item, source string) {
	if p.limit.Has(a.path) || p.limit.Has(source) {
		p.policy.unseen(source)
	}
	p.needed[source] = true
}

// unseen implements policy.
func (p *puller) unseen(rel string) {
	p.report.Hidden(p.hostPath(rel), errHidden.Error()+", and stays")
}

// unseen implements policy: it is no difference that the guest has made.
func (d *comparer) unseen(string) {}
