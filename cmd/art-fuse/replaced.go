package main

import (
	"maps"
	"path"
	"slices"

	"github.com/riverlytech/art/fs"
	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/sqlvfs"
)

// leaveOutReplaced has a workspace not show in the place of what it had at a checkpoint what a pull has put there since, and says where.
func leaveOutReplaced(store *sqlvfs.Store, base *fs.Host, name, checkpoint string) error {
	list, err := store.Replaced()
	if err != nil {
		return err
	}
	paths := map[string]bool{}
	for _, r := range list {
		if r.Workspace == name {
			paths[r.Path] = true
		}
	}
	base.Replaced(paths)
	for i, at := range slices.Sorted(maps.Keys(paths)) {
		if i == mostReplaced {
			logf("checkpoint %s: %d more paths", cli.Printable(checkpoint), len(paths)-i)
			break
		}
		logf("checkpoint %s: %s: %v", cli.Printable(checkpoint), cli.Printable(path.Join(name, at)), sqlvfs.ErrReplaced)
	}
	return nil
}

// mostReplaced is how many paths are named that a checkpoint cannot show.
const mostReplaced = 10
