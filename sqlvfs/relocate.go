package sqlvfs

import (
	"errors"

	"github.com/ncruces/go-sqlite3"
)

// Moved is what has to change when a workspace is another directory of the host than it was: the
// fingerprints of what is the same there, see package identity.
type Moved struct {
	Workspace Workspace            // what it is now
	From      Tree                 // what it was
	Origins   map[Ino]*Origin      // those that are others now
	Baselines map[string]*Baseline // all that the new directory has
}

// Move makes a workspace another directory of the host, in one transaction. A read-only store shows
// from then on what it would have written.
func (tx *Tx) Move(m Moved) error {
	if tx.readOnly {
		tx.moved = &m
		for ino, in := range tx.live {
			in.Origin = m.origin(ino, in.Origin)
		}
		return nil
	}
	for ino, o := range m.Origins {
		in, err := tx.Get(ino)
		switch {
		case errors.Is(err, ErrCorrupt), errors.Is(err, ErrNotExist):
			continue // as a session does, which cannot show it
		case err != nil:
			return err
		}
		tx.SetOrigin(in, o)
		tx.Put(in)
	}
	for path, b := range m.Baselines {
		tx.SetBaseline(m.Workspace.Tree, path, b)
	}
	if err := tx.dropTrees(m.Workspace.Tree, m.From); err != nil {
		return err
	}
	tx.SetWorkspace(m.Workspace)
	return nil
}

// dropTrees takes back the baselines that a workspace has with directories other than two: who moves to
// and fro finds those of both, and what is carried through many places does not grow with each.
func (tx *Tx) dropTrees(now, was Tree) error {
	var others []Tree
	err := tx.each(qTrees, func(q *sqlite3.Stmt) {
		if t := scanTree(q); t.Name == now.Name && t != now && t != was {
			others = append(others, t)
		}
	})
	if err != nil {
		return err
	}
	for _, t := range others {
		list, err := tx.Baselines(t)
		if err != nil {
			return err
		}
		for path := range list {
			tx.SetBaseline(t, path, nil)
		}
	}
	return nil
}

// origin is what an inode has instead of the origin o.
func (m *Moved) origin(ino Ino, o *Origin) *Origin {
	if m != nil && m.Origins[ino] != nil {
		return m.Origins[ino]
	}
	return o
}
