package reconcile

import (
	"path"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/sqlvfs"
)

// place is where a path of the repository's git directory is: below the workspace, or below that directory where it is outside.
func (r *repo) place(at string) string {
	if r.on != nil {
		return at
	}
	return join(r.dir, at)
}

// changesOfHost are the paths at which the pull is going to change git's own files of a repository.
func (r *repo) changesOfHost(h *host) (list []sqlvfs.HostChange) {
	if r.on != nil {
		h = r.on.host
	}
	for _, at := range r.plan.Touched() {
		c := sqlvfs.HostChange{Path: r.place(at), Effect: sqlvfs.Replaces, Type: unix.S_IFREG}
		for up := c.Path; up != "."; up = path.Dir(up) { // with a file come the directories above it
			if _, err := h.stat(up); err == nil {
				break
			}
			c = sqlvfs.HostChange{Path: up, Effect: sqlvfs.Makes, Type: unix.S_IFREG}
		}
		list = append(list, c)
	}
	return list
}

// notePulledRepo is notePulled of git's own files of a repository.
func (p *puller) notePulledRepo(r *repo) error {
	return p.rows().do(func(tx *sqlvfs.Tx) error {
		for _, in := range r.plan.Touched() {
			at := r.place(in)
			var left *sqlvfs.Baseline
			if st, err := p.host.stat(at); err == nil {
				left = &sqlvfs.Baseline{Mode: st.Mode, Fingerprint: hostfs.Fingerprint(&st), Hash: r.plan.Brought(in)}
			}
			tx.NotePulled(p.id, at, left)
		}
		return nil
	})
}
