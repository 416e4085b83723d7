package reconcile

import (
	"errors"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/live"
	"github.com/riverlytech/art/sqlvfs"
	"github.com/riverlytech/art/sqlvfs/lock"
)

// A database, the one that it is a fork of, and the other forks of that show one workspace. What a pull from one of them changes there, the
// checkpoints of the others show as well.

// relatives returns the databases that this one is a fork of, and all forks of these and of its own, that are where they were made.
func (p *puller) relatives() (paths []string, err error) {
	seen := map[string]bool{p.store.Path(): true}
	var below func(s *sqlvfs.Store) error
	look := func(path string) error {
		if seen[path] {
			return nil
		}
		seen[path] = true
		s, err := sqlvfs.Open(path, sqlvfs.Options{ReadOnly: true})
		if err != nil {
			return nil // it is told of where it is used
		}
		defer s.Close()
		paths = append(paths, path)
		return below(s)
	}
	below = func(s *sqlvfs.Store) error {
		forks, err := s.Forks()
		for i := range forks {
			if err == nil && forks[i].IsThere() {
				err = look(forks[i].Path)
			}
		}
		return err
	}
	err = below(p.store)
	for _, path := range p.store.Parents() {
		if err == nil {
			err = look(path)
		}
	}
	return paths, err
}

// keepForRelatives has the checkpoints of the other databases keep what they show of what changes in a directory of the host, too. Where
// one cannot be written, its checkpoints show what the host has, as after any other change there.
func (p *puller) keepForRelatives(on *planner, list []sqlvfs.HostChange) error {
	paths, err := p.relatives()
	if err != nil {
		return p.opt.reading(err)
	}
	for _, path := range paths {
		switch err := p.keepFor(path, on, list); {
		case errors.Is(err, errInterrupted):
			return err
		case err != nil:
			p.report.Note(path, "its checkpoints show what this pull brings: "+err.Error())
		}
	}
	return nil
}

// keepFor is keepForRelatives for one of them.
func (p *puller) keepFor(path string, on *planner, list []sqlvfs.HostChange) error {
	if _, inUse, _ := lock.Writer(path); inUse && p.opt.SessionOf != nil {
		sock, err := p.opt.SessionOf(path)(p.ctx)
		if err == nil {
			client := live.NewClient(sock)
			defer client.Close()
			return client.Keep(on.id, list)
		}
		if !errors.Is(err, live.ErrNone) {
			return err
		}
	}
	st, err := hostfs.Stat(on.host.dir)
	if err != nil {
		return err
	}
	s, err := sqlvfs.Open(path, sqlvfs.Options{Checkpoint: sqlvfs.BeforePull})
	if err != nil {
		return err
	}
	all, err := s.Checkpoints()
	if err == nil && len(all) > 0 {
		err = s.KeepHost(on.id, hostTree{on.host, st.Dev}, list, func(string, int64, error) error { return p.interrupted() })
	}
	return errors.Join(err, s.Close())
}
