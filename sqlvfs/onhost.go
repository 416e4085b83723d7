package sqlvfs

import "slices"

// OnHost returns the workspaces, and the directories of the host that a session lies over beside them, of which the database does not hold all: what no
// session has changed shows through from there. Of changes, those that are committed count. What paths say is as with [Tx.Workspaces]; a base of
// which nothing more is known has none.
func (tx *Tx) OnHost() ([]Workspace, error) {
	list, err := tx.Workspaces()
	if err != nil {
		return nil, err
	}
	origins, err := tx.Origins()
	if err != nil {
		return nil, err
	}
	hidden, err := tx.Whiteouts(tx.Root())
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(w Workspace) bool {
		needed := origins[w.Name] > 0
		delete(origins, w.Name)
		return !needed && slices.Contains(hidden, w.Name)
	})
	for name := range origins {
		list = append(list, Workspace{Tree: Tree{Name: name}})
	}
	return list, nil
}
