package overview

import (
	"fmt"
	"strings"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/workspace"
	"github.com/riverlytech/art/sqlvfs"
)

// maxForks bounds the forks that are looked for: another program may have written who knows of which.
const maxForks = 1000

// forksOf returns the paths of the forks that read from a database and are where they were made, also of those that are forks of forks.
func forksOf(database string) (paths []string) {
	seen := map[string]bool{workspace.Absolute(database): true}
	for next := []string{database}; len(next) > 0; next = next[1:] {
		for _, f := range knownForks(next[0]) {
			if !seen[f.Path] && len(paths) < maxForks && f.IsThere() {
				seen[f.Path] = true
				paths, next = append(paths, f.Path), append(next, f.Path)
			}
		}
	}
	return paths
}

// knownForks returns the forks that a database knows of, or none if it cannot be read, as one of an older layout.
func knownForks(database string) []sqlvfs.Fork {
	s, err := openDatabase(database)
	if err != nil {
		return nil
	}
	defer s.Close()
	forks, err := s.Forks()
	if err != nil {
		return nil
	}
	return forks
}

// isFork tells whether a database is a fork.
func isFork(database string) bool {
	parent, _, err := sqlvfs.ForkOf(database)
	return err == nil && parent != ""
}

// unused makes sure that no session uses a fork of a database that is to be removed: what it does would be lost.
func unused(database string, forks []string) error {
	for _, f := range forks {
		if pid, open, err := sqlvfs.Writer(f); err == nil && open {
			return cli.WithHint(fmt.Errorf("remove database %s: its fork %s reads from it: %w", database, f, &sqlvfs.InUseError{PID: pid}), endFirst(f, pid))
		}
	}
	return nil
}

// needed says that forks read from a database, and what there is in it beside that.
func needed(database string, forks []string, what string) error {
	if what != "" {
		what = "; and it " + what
	}
	return cli.WithHint(fmt.Errorf("remove database %s: %w: %s%s", database, sqlvfs.ErrHasForks, strings.Join(forks, ", "), what),
		"remove these first, or copy them with art-fuse backup; --force removes it all the same, and they cannot be used any more")
}
