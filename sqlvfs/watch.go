package sqlvfs

import (
	"slices"
	"time"
)

// A store tells what has been committed while it goes on (Options.OnCommit). Changes are those that the log of processes has, gathered as that
// gathers them: one for each file, process and name in the time between two transactions, however often it was written.

// CommitEvent is what a transaction has brought.
type CommitEvent struct {
	Files       []FileChange
	Unknown     int          // changes that were left out because it is not known where the file is
	Checkpoints []Checkpoint // that were made, or have got another label or kind
}

// FileChange is what one process, or an unknown one, has done to a file or to a name of one.
type FileChange struct {
	Path        string // below the root; of Named and Removed, the name
	What        What
	Process     int64 // see [Process].ID; 0: unknown
	First, Last Timespec
}

const (
	// maxPlaces bounds the names that are known, and scanEvery how often the others are looked for, which reads all names of the tree.
	maxPlaces = 250_000
	scanEvery = time.Second
	// maxScans bounds how often it is read for one transaction: each finds one more directory on the way to the root.
	maxScans = 16
)

// watch is what a store knows for who is told. A nil one is that of a store that tells nobody, and does nothing.
type watch struct {
	tell   func(*CommitEvent)
	places map[Ino]NameIn // GUARDED_BY(Store.mu); where inodes are that somebody has looked up or named
	left   map[Ino]NameIn // GUARDED_BY(Store.mu); where those were that were removed since the last batch, with what was in them
	made   []Checkpoint   // of who has the writer: those that are not told yet
	scan   time.Time      // of who has the writer: the last one
}

// untold is a change in a batch. The path is not known yet if missing is set.
type untold struct {
	FileChange
	ino     Ino    // that is to be found
	name    string // below that, if it is a directory
	missing bool
}

// ByGuest says that the step is one of a guest's, whether it is known of which process or not: see Options.OnCommit.
func (tx *Tx) ByGuest() { tx.told = tx.watch != nil }

// seen notes where an inode is.
func (w *watch) seen(ino Ino, dir *Inode, name string) {
	if w == nil {
		return
	}
	if at, ok := w.places[ino]; ok && at.Dir == dir.Ino && at.Name == name {
		return
	}
	if len(w.places) >= maxPlaces {
		clear(w.places)
	}
	w.places[ino] = NameIn{dir.Ino, name}
}

// gone notes that it is there no more.
func (w *watch) gone(ino Ino, dir *Inode, name string) {
	if at := (NameIn{dir.Ino, name}); w != nil && w.places[ino] == at {
		delete(w.places, ino)
		if w.left == nil {
			w.left = map[Ino]NameIn{}
		}
		if len(w.left) < maxPlaces {
			w.left[ino] = at
		}
	}
}

// path returns the path of an inode, as far as it is known; else what is to be found. known has those of directories.
func (w *watch) path(ino Ino, known map[Ino]string) (path string, missing Ino) {
	if ino == RootIno {
		return "", 0
	}
	if path, ok := known[ino]; ok {
		return path, 0
	}
	at, ok := w.places[ino]
	if !ok {
		at, ok = w.left[ino]
	}
	if !ok {
		return "", ino
	}
	// A damaged tree may lead in circles.
	known[ino] = ""
	dir, missing := w.path(at.Dir, known)
	delete(known, ino)
	if missing != 0 || dir == "" && at.Dir != RootIno {
		return "", ino
	}
	if len(dir)+len(at.Name) >= maxPathRead {
		return "", ino
	}
	return dir + "/" + at.Name, 0
}

// take adds to a batch what is to be told of it, with the places where files are now.
func (w *watch) take(b *batch) {
	if w == nil {
		return
	}
	b.untold = nil // where it could not be committed
	known := map[Ino]string{}
	dir := func(ino Ino) (string, Ino) {
		path, missing := w.path(ino, known)
		if missing == 0 {
			known[ino] = path
		}
		return path, missing
	}
	for _, n := range b.noted {
		for i := range n.notes {
			o := &n.notes[i]
			if o.what == 0 {
				continue
			}
			c := untold{FileChange: FileChange{What: o.what, Process: o.process, First: fromNanoseconds(o.first), Last: fromNanoseconds(o.last)}}
			at := o
			if at.dir == 0 && n.in != nil && n.in.Attr.Nlink == 0 { // it was where its last name has been
				at = n.removed()
			}
			var missing Ino
			switch {
			case at == nil:
				continue // it never had one that anybody could know
			case at.dir != 0:
				c.Path, missing = dir(at.dir)
				c.ino, c.name = at.dir, "/"+at.name
			default:
				c.Path, missing = w.path(n.ino, known)
				c.ino = n.ino
			}
			c.missing = missing != 0
			c.Path += c.name
			b.untold = append(b.untold, c)
		}
	}
	w.left = nil
}

// removed returns what is noted of the last name that an inode has lost; nil: nothing.
func (n *noted) removed() *note {
	for i := range slices.Backward(n.notes) {
		if n.notes[i].what&Removed != 0 {
			return &n.notes[i]
		}
	}
	return nil
}

// tellCommitted tells of a batch that was committed. b may be nil: there are checkpoints alone.
func (w *writer) tellCommitted(b *batch) {
	t := w.store.watch
	if t == nil || b == nil && len(t.made) == 0 {
		return
	}
	c := &CommitEvent{}
	for i := range t.made {
		if t.made[i].ID <= w.newest.ID {
			c.Checkpoints = append(c.Checkpoints, t.made[i])
		}
	}
	t.made = nil
	if b != nil {
		w.find(b)
		for i := range b.untold {
			if o := &b.untold[i]; o.missing {
				c.Unknown++
			} else {
				c.Files = append(c.Files, o.FileChange)
			}
		}
		b.untold = nil
	}
	if len(c.Files)+len(c.Checkpoints)+c.Unknown > 0 {
		t.tell(c)
	}
}

// find looks for the files in a batch whose place is not known. It does not do so often: then they stay unknown.
func (w *writer) find(b *batch) {
	t := w.store.watch
	wanted := map[Ino]bool{}
	for i := range b.untold {
		if b.untold[i].missing {
			wanted[b.untold[i].ino] = true
		}
	}
	if len(wanted) == 0 || time.Since(t.scan) < scanEvery {
		return
	}
	t.scan = time.Now()
	found := map[Ino]NameIn{}
	for range maxScans {
		more := map[Ino]bool{}
		q := w.Prep("SELECT ino, parent_ino, name FROM main.fs_dentry")
		for w.Step(q) {
			ino := Ino(q.ColumnInt64(0))
			if !wanted[ino] {
				continue
			}
			at := NameIn{Ino(q.ColumnInt64(1)), string(q.ColumnRawText(2))}
			if !ValidName(at.Name) || at.Dir == ino {
				continue
			}
			if found[ino] = at; at.Dir != RootIno {
				more[at.Dir] = true
			}
		}
		if w.Done(q) != nil {
			return
		}
		for ino := range found {
			delete(more, ino)
		}
		if wanted = more; len(more) == 0 {
			break
		}
	}
	b.found = found
	all := &watch{places: found}
	for i := range b.untold {
		if o := &b.untold[i]; o.missing {
			path, missing := all.path(o.ino, map[Ino]string{})
			o.Path, o.missing = path+o.name, missing != 0
		}
	}
}

// learn takes in where the files of a batch have been found.
func (w *watch) learn(b *batch) {
	if w == nil {
		return
	}
	for ino, at := range b.found {
		if _, there := w.places[ino]; !there && len(w.places) < maxPlaces {
			w.places[ino] = at
		}
	}
}

// madeCheckpoint notes one that is told once it is committed.
func (w *watch) madeCheckpoint(c *Checkpoint) {
	if w == nil {
		return
	}
	w.made = slices.DeleteFunc(w.made, func(old Checkpoint) bool { return old.ID >= c.ID })
	w.made = append(w.made, *c)
}

// failed forgets checkpoints that were not committed.
func (w *watch) failed() {
	if w != nil {
		w.made = nil
	}
}

// moved forgets where files are, as the tree has become another one.
func (w *watch) moved() {
	if w != nil {
		clear(w.places)
		w.left = nil
	}
}
