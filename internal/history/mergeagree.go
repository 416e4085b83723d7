package history

import (
	"path"
	"slices"
)

// agree takes over what the host's objects were that the fork has hidden or replaced: without that, a pull would not know that the host has
// not changed them since. What the parent knows itself counts. Rows have other numbers here, so none agrees with what the fork has pulled;
// what has the same content then does all the same.
func (a *applier) agree() error {
	list, err := a.theirs.Workspaces()
	if err != nil {
		return err
	}
	for _, w := range list {
		theirs, err := a.theirs.Baselines(w.Tree)
		if err != nil {
			return err
		}
		base, err := a.base.Baselines(w.Tree)
		if err != nil {
			return err
		}
		for at, b := range theirs {
			if was := base[at]; was != nil && was.Fingerprint == b.Fingerprint || a.isLeft(path.Join(w.Name, at)) {
				continue
			}
			now := *b
			now.Row, now.RowCtime = 0, a.now
			a.tx.AddBaseline(w.Tree, at, &now)
		}
	}
	return nil
}

// isLeft tells whether a path, or what it is in, was left in conflict.
func (m *merger) isLeft(at string) bool {
	for ; at != "."; at = path.Dir(at) {
		if slices.Contains(m.left, at) {
			return true
		}
	}
	return false
}
