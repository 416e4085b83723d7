package reconcile

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/live"
	"github.com/riverlytech/art/sqlvfs"
	"github.com/riverlytech/art/sqlvfs/lock"
)

// A database, the one that it is a fork of, and the other forks of that show one workspace. What a pull from one of them changes there, the
// checkpoints of the others show as well.

// findRelatives returns the databases that this one is a fork of, and all forks of these and of its own, that are where they were made.
func (p *puller) findRelatives() (paths []string, err error) {
	seen := map[string]bool{}
	first := func(path string) (real string, is bool) { // by whatever links it is found
		real = path
		if to, err := filepath.EvalSymlinks(path); err == nil {
			real = to
		}
		is = !seen[real]
		seen[real] = true
		return real, is
	}
	first(p.store.Path())
	var below func(s *sqlvfs.Store) error
	look := func(path string) error {
		path, is := first(path)
		if !is {
			return nil
		}
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
	paths, err := p.findRelatives()
	if err != nil {
		return p.opt.reading(err)
	}
	for _, path := range paths {
		err := p.keepFor(path, on, list)
		if errors.Is(err, live.ErrGone) { // its session has just ended
			err = p.keepFor(path, on, list)
		}
		switch {
		case errors.Is(err, errInterrupted):
			return err
		case err != nil:
			p.report.Note(path, "its checkpoints show what this pull brings: "+err.Error())
		}
	}
	return nil
}

// relative is another database of which the checkpoints show what this pull changes. It is held until the pull has ended: a checkpoint that
// was made there meanwhile would show a part of that.
type relative struct {
	path   string
	store  *sqlvfs.Store // nil: a session writes it
	client *live.Client  // of that session
	newest int64         // the checkpoint that was the newest when all was kept, with a session
}

// keepFor is keepForRelatives for one of them.
func (p *puller) keepFor(path string, on *planner, list []sqlvfs.HostChange) error {
	r, err := p.relative(path)
	if err != nil {
		return err
	}
	if err = p.keepWith(r, on, list); err != nil {
		p.relatives = slices.DeleteFunc(p.relatives, func(is *relative) bool { return is == r })
		_ = r.close()
	}
	return err
}

func (p *puller) keepWith(r *relative, on *planner, list []sqlvfs.HostChange) error {
	if r.client != nil {
		err := r.client.Keep(on.id, list)
		if err == nil {
			r.newest, err = newestCheckpoint(r.path)
		}
		return err
	}
	st, err := hostfs.Stat(on.host.dir)
	if err != nil {
		return err
	}
	all, err := r.store.Checkpoints()
	if err == nil && len(all) > 0 {
		err = r.store.KeepHost(on.id, hostTree{on.host, st.Dev}, list, func(string, int64, error) error { return p.interrupted() })
	}
	return err
}

// relative holds a database, by the session that writes it if there is one.
func (p *puller) relative(path string) (*relative, error) {
	if i := slices.IndexFunc(p.relatives, func(r *relative) bool { return r.path == path }); i >= 0 {
		return p.relatives[i], nil
	}
	r := &relative{path: path}
	if _, inUse, _ := lock.Writer(path); inUse && p.opt.SessionOf != nil {
		sock, err := p.opt.SessionOf(path)(p.ctx)
		if err == nil {
			r.client = live.NewClient(sock)
		} else if !errors.Is(err, live.ErrNone) {
			return nil, err
		}
	}
	if r.client == nil {
		var err error
		if r.store, err = sqlvfs.Open(path, sqlvfs.Options{Checkpoint: sqlvfs.BeforePull}); err != nil {
			return nil, err
		}
	}
	p.relatives = append(p.relatives, r)
	return r, nil
}

// leaveRelatives lets go of the databases that are held. The pull has ended: nothing of it fails by that.
func (p *puller) leaveRelatives() {
	for _, r := range slices.Backward(p.relatives) { // a fork before what it is a fork of
		if err := r.leave(); err != nil {
			p.report.Note(r.path, err.Error())
		}
	}
	p.relatives = nil
}

func (r *relative) leave() (err error) {
	if r.client != nil { // which is left afterwards: until then there is nothing new in a session that goes on
		var newest int64
		if newest, err = newestCheckpoint(r.path); newest > r.newest {
			err = fmt.Errorf("its session has ended meanwhile: its checkpoints after %d show some of what this pull brings", r.newest)
		}
	}
	if cerr := r.close(); err == nil {
		err = cerr
	}
	return err
}

func (r *relative) close() error {
	if r.client != nil {
		return r.client.Close()
	}
	r.store.EndPull() // history may be thinned again, as it is by closing
	return r.store.Close()
}

// newestCheckpoint returns the number of a database's newest checkpoint, or 0.
func newestCheckpoint(path string) (int64, error) {
	s, err := sqlvfs.Open(path, sqlvfs.Options{ReadOnly: true})
	if err != nil {
		return 0, err
	}
	defer s.Close()
	all, err := s.Checkpoints()
	if err != nil || len(all) == 0 {
		return 0, err
	}
	return all[0].ID, nil
}
