package sqlvfs

import (
	"errors"
	"strings"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// A checkpoint shows the host's files where the tree had nothing of its own. What a pull is about to change there, history takes first: as
// rows that the tree had at these checkpoints, and has not any more. A file has all of its content then, and a directory its origin, so
// that what is left alone in it still shows from the host; where the pull makes something, a whiteout. Nothing else needs to know of them:
// they are shown, compared, brought back, thinned and read by forks as all of history.
//
// Their inodes have numbers below 0. No condition on the highest number of a checkpoint excludes these, so they are of inodes
// that were there before it, and are gone.

// ErrPulling says that there can be no checkpoint, since a pull is changing what it would show.
var ErrPulling = errors.New("a pull is going on")

// KeepHost has history take what checkpoints show of a workspace on the host, before a pull changes it there. A store that makes
// checkpoints by itself makes one first, of what is pulled. All is durable when KeepHost returns. Until [Store.EndPull] there is no new
// checkpoint, and none is dropped but for want of room. Steps go on meanwhile. What cannot be read, or has no room, is noted as lost. step
// is told of each file that was copied, and its size, or else why it is lost, and ends the work by an error. Other errors are those of the
// database; then nothing is lost that was there.
func (s *Store) KeepHost(t Tree, host HostTree, list []HostChange, step KeepStep) error {
	unlock, err := s.lockWriter()
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.commitGathered(); err != nil {
		return err
	}
	w := s.writer
	s.mu.Unlock()
	defer s.mu.Lock()
	if err := w.connect(); err != nil {
		return w.Cause(err)
	}
	if !w.found {
		err = w.transact(w.checkpointFound)
	} else if w.store.occasion == AtSession && !w.pulling { // what the pull has looked at, and little that has come since
		err = w.transact(func() error { return w.checkpointIfChanged(PullBeside) })
	}
	if err != nil {
		return w.Cause(err)
	}
	w.pulling = true
	for full := false; ; {
		err := w.Cause(w.keepHost(t, host, list, step, full)) // before other writes, of which the disk may take some
		if errors.Is(err, errDropped) {
			continue
		}
		if isFull(err) { // what was copied is there, and shows no more from the host
			if w.makeRoom() {
				continue
			}
			if !full {
				full = true
				continue
			}
		}
		if err == nil {
			err = w.Cause(w.sync())
		}
		return err
	}
}

// EndPull says that a pull for which [Store.KeepHost] was called has ended.
func (s *Store) EndPull() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writer == nil || s.tx.closing {
		return
	}
	s.acquireWriter()
	s.writer.pulling = false
	s.releaseWriter()
}

// KeepStep is told of a file of the host's.
type KeepStep func(path string, bytes int64, lost error) error

// span is a range of checkpoints, by their index.
type span struct{ lo, hi int }

// spans are the ranges for which something holds.
func spans(holds []bool) (list []span) {
	for i := 0; i < len(holds); i++ {
		if !holds[i] {
			continue
		}
		s := span{i, i}
		for i+1 < len(holds) && holds[i+1] {
			i++
		}
		s.hi = i
		list = append(list, s)
	}
	return list
}

// copier copies what checkpoints show of the host.
type copier struct {
	*history
	tree    Tree
	base    int64
	host    HostTree
	changed *changedPath
	step    KeepStep
	full    bool                 // there was no room for what there seemed to be
	from    int                  // the first checkpoint that copies are for
	objects map[object][]Ino     // inodes by what they stand for; nil: not known yet
	copied  map[object][]*copied // files of the host with several names that are copied, by what they are
	losses  int                  // how often something was lost: a directory in which it was keeps its origin, by which it is known
}

// keepHost is KeepHost, in as many transactions as it takes. After each, all checkpoints show what they have shown before.
func (w *writer) keepHost(t Tree, host HostTree, list []HostChange, step KeepStep, full bool) (err error) {
	all, err := checkpointsOf(w.conn)
	if err != nil || len(all) == 0 {
		return err
	}
	h, err := w.beginHistory(all)
	if err != nil {
		return err
	}
	defer h.end(&err)
	k := &copier{history: h, copied: map[object][]*copied{}, tree: t, host: host, step: step, full: full}
	if k.base, err = w.base(t.Name); err != nil {
		return err
	}
	if err := k.leaveForks(list); err != nil {
		return err
	}
	if list, err = k.withNames(list); err != nil {
		return err
	}
	k.changed = changedPaths(list)
	shows, err := k.showsWorkspace()
	if err != nil {
		return err
	}
	for _, s := range spans(shows) {
		if err := k.copy(RootIno, t.Name, ".", k.changed, s, false); err != nil {
			return err
		}
	}
	return k.copyInto()
}

// leaveForks leaves out the checkpoints that a fork is of, and those before: a fork reads these, and would take copies for what its guest
// has changed. They show what the host has, as forks do.
func (k *copier) leaveForks(list []HostChange) error {
	held, err := newestHeld(k.w.conn)
	if err != nil || held == 0 {
		return err
	}
	for k.from < len(k.points) && k.points[k.from].ID <= held {
		k.from++
	}
	tree, err := k.w.tree(k.tree)
	for _, c := range list {
		if err == nil && (c.Effect == Replaces || c.Effect == Removes) {
			err = k.w.noteReplaced(tree, c.Path)
		}
	}
	return err
}

// showsWorkspace tells at which checkpoints all of the workspace shows, since it has no row.
func (k *copier) showsWorkspace() ([]bool, error) {
	always := make([]bool, len(k.points))
	for i := range always {
		always[i] = true
	}
	return k.uncovered(RootIno, k.tree.Name, always)
}

// copyInto copies what shows in directories that have a row, and what files have of the host's content.
func (k *copier) copyInto() error {
	var holders, removed []holder
	q := bind(k.w.Prep(`SELECT ino, path FROM art_origin WHERE base=?1 UNION SELECT ino, path FROM main.art_old_origin WHERE there=1 AND base=?1`), k.base)
	for k.w.Step(q) {
		h := holder{Ino(q.ColumnInt64(0)), string(q.ColumnRawBlob(1))}
		if !database.ValidPath(h.path) {
			continue
		}
		if at, _ := k.changed.find(h.path); at != nil {
			holders = append(holders, h)
		}
	}
	if err := k.w.Done(q); err != nil {
		return err
	}
	for _, h := range holders {
		inodes, err := k.inodes(h.ino)
		if err != nil {
			return err
		}
		origins, err := k.origins(h.ino)
		if err != nil {
			return err
		}
		dir, file := make([]bool, len(k.points)), false
		for i, in := range inodes {
			if o := origins[i]; in == nil || o == nil || o.base != k.base || o.path != h.path {
				origins[i] = nil
			} else if i < k.from {
				origins[i] = nil
			} else if dir[i] = in.IsDir(); !dir[i] {
				file = true
			}
		}
		if err := k.copyEntries(h.ino, h.path, dir); err != nil {
			return err
		}
		if at, goes := k.changed.find(h.path); file && (goes || at.here) {
			if err := k.fill(h.ino, h.path, inodes, origins); err != nil {
				return err
			}
			if k.changed.removes(h.path) {
				removed = append(removed, h)
			}
		}
	}
	return k.cutOff(removed)
}

// holder is an inode with an origin at a path.
type holder struct {
	ino  Ino
	path string
}

// cutOff has files with all of their content have no origin where that is removed, as what is agreed on: against nothing on the host, they
// are new.
func (k *copier) cutOff(files []holder) error {
	for _, h := range files {
		origins, err := k.origins(h.ino)
		if err != nil {
			return err
		}
		whole := make([]bool, len(origins))
		for i, o := range origins {
			whole[i] = i >= k.from && o != nil && o.base == k.base && o.path == h.path && o.limit == 0
		}
		for _, s := range spans(whole) {
			if err := k.cutOrigin(h.ino, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyEntries copies what shows in a directory that has a row, at those checkpoints at which it shows that directory of the host.
func (k *copier) copyEntries(dir Ino, path string, shows []bool) error {
	list := spans(shows)
	if len(list) == 0 {
		return nil
	}
	at, goes := k.changed.find(path)
	lost := k.losses
	names, err := k.namesOf(path, at, goes)
	if err != nil {
		return err
	}
	for _, name := range names {
		free, err := k.uncovered(dir, name, shows)
		if err != nil {
			return err
		}
		for _, s := range spans(free) {
			if err := k.copy(dir, name, childPath(path, name), at.below[name], s, goes); err != nil {
				return err
			}
		}
	}
	if goes && k.losses == lost { // all of it is there
		for _, s := range list {
			if err := k.cutOrigin(dir, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// namesOf are the names in a directory of the host at which something is to be copied.
func (k *copier) namesOf(path string, at *changedPath, goes bool) (names []string, err error) {
	if !goes {
		return sortedKeys(at.below, strings.Compare), nil
	}
	names, err = k.host.Names(path)
	if err != nil {
		return nil, k.lost(path, hostError{err})
	}
	return names, nil
}

// uncovered tells at which of some checkpoints a directory has no entry of a name, nor hides it.
func (k *copier) uncovered(dir Ino, name string, of []bool) ([]bool, error) {
	entries, err := k.entries(dir, name)
	if err != nil {
		return nil, err
	}
	hidden, err := k.whiteouts(dir, name)
	if err != nil {
		return nil, err
	}
	free := make([]bool, len(of))
	for i := range of {
		free[i] = i >= k.from && of[i] && entries[i] == nil && hidden[i] == nil
	}
	return free, nil
}
