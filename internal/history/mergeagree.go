package history

import (
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// agree takes over what the host's objects were that the fork has hidden or replaced: without that, a pull would not know that the host has
// not changed them since. What the parent knows itself counts. Rows have other numbers here, so none agrees with what the fork has pulled;
// what has the same content then does all the same.
func (a *applier) agree() error {
	list, err := a.theirs.Workspaces()
	if err != nil {
		return err
	}
	left := pendingOf(a.left)
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
			is := path.Join(w.Name, at)
			if was := base[at]; was != nil && was.Fingerprint == b.Fingerprint && !a.pending.covers(is) || left.covers(is) {
				continue
			}
			now := *b
			now.Row, now.RowCtime = 0, a.now
			a.tx.AddBaseline(w.Tree, at, &now)
		}
	}
	if err := a.agreeRemoved(); err != nil {
		return err
	}
	return a.agreePulled()
}

// agreeRemoved writes down what the host had under names that go: what the fork knows of the file is in a row of its, which may be nowhere
// here.
func (a *applier) agreeRemoved() error {
	list, err := a.ours.Workspaces()
	if err != nil {
		return err
	}
	theirs, err := a.linksOf(a.theirs)
	if err != nil {
		return err
	}
	var gone []*entry
	for _, e := range a.hides {
		gone = append(append(gone, e), e.below...)
	}
	for _, e := range gone {
		if !e.ours.ofHost() && e.through == nil {
			continue
		}
		at := e.place.join(e.name)
		f, ok := theirs.at[at]
		i := slices.IndexFunc(list, func(w sqlvfs.Workspace) bool { return w.Name == at.base })
		if !ok || i < 0 {
			continue
		}
		n, err := a.theirs.Node(theirs.rows[f].Ino)
		if err != nil {
			return err
		}
		if n != nil && n.Origin != nil {
			a.tx.AddBaseline(list[i].Tree, at.path, &sqlvfs.Baseline{Mode: n.Origin.ModeOf(n.Attr.Mode), Fingerprint: n.Origin.Fingerprint, RowCtime: a.now})
		}
	}
	return nil
}

// agreePulled writes down again what the parent has pulled, where something else is there now: so the next pull knows that the host has not
// changed it since.
func (a *applier) agreePulled() error {
	list, err := a.ours.Workspaces()
	if err != nil {
		return err
	}
	entries := slices.Clone(a.hides)
	for _, l := range a.links {
		entries = append(entries, l.entry)
	}
	for _, e := range entries {
		if !e.ours.ofHost() || e.ours.let == nil || e.ours.let.host.Mode == 0 {
			continue
		}
		if i := slices.IndexFunc(list, func(w sqlvfs.Workspace) bool { return w.Name == e.ours.place.base }); i >= 0 {
			b := e.ours.let.host
			b.RowCtime = a.now
			a.tx.AddBaseline(list[i].Tree, e.ours.place.path, &b)
			if err := a.agreePulledIn(list[i].Tree, e.ours.place, e.ours.let.was, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// agreePulledIn is agreePulled for what was in a directory that the parent has pulled to a place.
func (a *applier) agreePulledIn(t sqlvfs.Tree, at place, dir *version, depth int) error {
	if !dir.rowDir() || depth > unix.PathMax {
		return nil
	}
	names, err := a.ours.ReleasedNames(dir.row.Ino, a.pulled.since)
	for _, name := range names {
		if err != nil {
			break
		}
		var rel *sqlvfs.Released
		if rel, err = a.ours.Released(dir.row.Ino, name, a.pulled.since, sqlvfs.Forever); rel == nil || rel.Mode == 0 || err != nil {
			continue
		}
		is := at.join(name)
		a.tx.AddBaseline(t, is.path, &sqlvfs.Baseline{Mode: rel.Mode, Fingerprint: rel.Fingerprint, RowCtime: a.now})
		var let *letGo
		if let, err = a.letGoAs(&a.pulled, rel, nil); err == nil {
			err = a.agreePulledIn(t, is, let.was, depth+1)
		}
	}
	return err
}
