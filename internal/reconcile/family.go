package reconcile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/live"
	"github.com/riverlytech/art/sqlvfs"
	"github.com/riverlytech/art/sqlvfs/lock"
)

// A database, the one that it is a fork of, and the other forks of that show one workspace. What a pull from one of them changes there, the
// checkpoints of the others show as well.

// holdFamily waits until no other pull from a relative of the database goes on, and has others wait until the file is closed. Where nobody can
// be waited for, as a relative is not there or cannot be written, it returns nil: what needs that says why.
func (o *Options) holdFamily() (*os.File, error) {
	eldest, err := sqlvfs.Eldest(o.DB)
	if err != nil {
		return nil, nil
	}
	if real, err := filepath.EvalSymlinks(eldest); err == nil {
		eldest = real
	}
	f, err := lock.TakeFamily(o.ctx, eldest, func() {
		if !o.Quiet {
			cli.Fprint(o.Stderr, o.prog(), fmt.Errorf("waiting for another pull from %s, or from a relative of it", o.DB))
		}
	})
	if o.ctx.Err() != nil {
		return nil, errInterrupted
	}
	if err != nil {
		return nil, nil
	}
	return f, nil
}

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

// keepForRelatives has the checkpoints of the other databases keep what they show of what changes on the host, too. Where one cannot be
// written, its checkpoints show what the host has, as after any other change there.
func (p *puller) keepForRelatives(all []changedDir) error {
	if len(all) == 0 {
		return nil
	}
	paths, err := p.findRelatives()
	if err != nil {
		return p.opt.reading(err)
	}
	slices.Sort(paths) // of two pulls that wait for each other's, one has the first
	for _, path := range paths {
		err := p.keepFor(path, all)
		if errors.Is(err, live.ErrGone) { // its session has just ended
			err = p.keepFor(path, all)
		}
		switch {
		case errors.Is(err, errInterrupted):
			return err
		case errors.Is(err, errPresent), err != nil && p.readsFromHost(path, all):
			return cli.WithHint(fmt.Errorf("keep what %s shows of that: %w", path, err), "nothing was changed in the workspace. Pull from that one first")
		case err != nil:
			p.report.Note(path, "its checkpoints show what this pull brings: "+err.Error())
		}
	}
	return nil
}

// errPresent says that what another database shows now could not be kept.
var errPresent = errors.New("the workspace is not changed, since a relative reads from it")

// readsFromHost tells whether a database that could not be written reads from the host what is to change there.
func (p *puller) readsFromHost(path string, all []changedDir) bool {
	s, err := sqlvfs.Open(path, sqlvfs.Options{ReadOnly: true})
	if err != nil {
		return false // nobody can use it
	}
	defer s.Close()
	return slices.ContainsFunc(all, func(c changedDir) bool { return s.Reads(c.on.id, c.list) != nil })
}

// relative is another database of which the checkpoints show what this pull changes. It is held until the pull has ended: a checkpoint that
// was made there meanwhile would show a part of that.
type relative struct {
	path   string
	held   *os.File      // nil: a session writes it, or it is open
	store  *sqlvfs.Store // to be changed once more afterwards; nil: it is not
	moved  []movedDirs
	client *live.Client // of that session
	newest int64        // the checkpoint that was the newest when all was kept, with a session
}

// movedDirs are directories that follow what this pull renames in a workspace.
type movedDirs struct {
	on   *planner
	list []sqlvfs.Renamed
}

// keepFor is keepForRelatives for one of them.
func (p *puller) keepFor(path string, all []changedDir) error {
	r := &relative{path: path}
	if _, inUse, _ := lock.Writer(path); inUse && p.opt.SessionOf != nil {
		sock, err := p.opt.SessionOf(path)(p.ctx)
		if err == nil {
			r.client = live.NewClient(sock)
		} else if !errors.Is(err, live.ErrNone) {
			return err
		}
	}
	var err error
	if r.client != nil {
		err = r.keepBeside(all)
	} else {
		err = p.keepAndHold(r, all)
	}
	if err == nil {
		p.relatives = append(p.relatives, r)
	}
	return err
}

// keepBeside has the session of a database keep it.
func (r *relative) keepBeside(all []changedDir) (err error) {
	for _, c := range all {
		if err == nil {
			err = r.client.Keep(c.on.id, c.list, true)
		}
	}
	if err == nil {
		r.newest, err = newestCheckpoint(r.path)
	}
	if err != nil {
		r.client.Close()
	}
	return err
}

// keepAndHold keeps it in a database that no session writes, and holds that.
func (p *puller) keepAndHold(r *relative, all []changedDir) error {
	s, err := sqlvfs.Open(r.path, sqlvfs.Options{Checkpoint: sqlvfs.BeforePull, Waiting: p.opt.waiting(r.path)})
	if err != nil {
		return err
	}
	points, err := s.Checkpoints()
	for _, c := range all {
		var st unix.Stat_t
		if err == nil {
			st, err = hostfs.Stat(c.on.host.dir)
		}
		if err == nil && len(points) > 0 {
			err = s.KeepHost(c.on.id, hostTree{c.on.host, st.Dev}, c.list, func(string, int64, error) error { return p.interrupted() })
		}
		if err == nil {
			var moved []sqlvfs.Renamed
			moved, err = s.KeepPresent(c.on.id, hostTree{c.on.host, st.Dev}, c.list, false, p.interrupted)
			if err != nil && !errors.Is(err, errInterrupted) {
				err = fmt.Errorf("%w: %w", errPresent, err)
			}
			if len(moved) > 0 {
				r.moved = append(r.moved, movedDirs{c.on, moved})
			}
		}
	}
	if err == nil && len(r.moved) > 0 {
		r.store, err = s, s.Sync()
	}
	switch {
	case err != nil:
		return errors.Join(err, s.Close())
	case r.store != nil:
		return nil
	}
	r.held, err = s.CloseHeld()
	return err
}

// leaveRelatives lets go of the databases that are held. The pull has ended: nothing of it fails by that.
func (p *puller) leaveRelatives() {
	for _, r := range p.relatives {
		if err := p.leaveRelative(r); err != nil {
			p.report.Note(r.path, err.Error())
		}
	}
	p.relatives = nil
}

func (p *puller) leaveRelative(r *relative) error {
	switch {
	case r.store != nil:
		return errors.Join(p.follow(r), r.store.Close())
	case r.client == nil:
		return r.held.Close()
	}
	defer r.client.Close() // afterwards: until then there is nothing new in a session that goes on
	newest, err := newestCheckpoint(r.path)
	if err == nil && newest > r.newest {
		err = fmt.Errorf("its session has ended meanwhile: its checkpoints after %d show some of what this pull brings", r.newest)
	}
	return err
}

// follow has the directories of a relative follow what this pull has renamed on the host, with all that is in it.
func (p *puller) follow(r *relative) error {
	for _, m := range r.moved {
		done := map[string]bool{}
		for _, o := range m.on.ops {
			done[o.path] = done[o.path] || o.done && !o.incomplete && o.attr.IsDir()
		}
		list := slices.DeleteFunc(m.list, func(d sqlvfs.Renamed) bool { return !done[d.To] })
		if err := r.store.Follow(list); err != nil {
			return err
		}
	}
	return nil
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
