package sqlvfs

import (
	"cmp"
	"errors"
	"time"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// A store makes checkpoints by itself (Options.Checkpoint): of what it finds, with the first change of that; and, if it is a session's,
// whenever nothing has been written for a moment after a change, and after a minute of changes without such a moment; or, with
// Options.Every, at most so often, also while it changes. Where nothing has changed there is none.

// thinAtEnd is how long the end of a session may take to drop checkpoints of which there are too many.
const thinAtEnd = 200 * time.Millisecond

// checkpointFound makes the checkpoint of Options.Checkpoint, before anything of the tree is changed.
func (w *writer) checkpointFound() error {
	if w.pulling {
		return nil // what it would show is changing
	}
	w.found, w.checkpointed = true, time.Now()
	return w.checkpointIfChanged(w.store.occasion)
}

// checkpointIfChanged makes a checkpoint in a transaction, if the tree has changed since the newest one.
func (w *writer) checkpointIfChanged(kind Occasion) error {
	changed, err := w.changedFor(kind)
	if w.newest.Kind == ByGuest && kind != AtRest {
		changed = true // as far as others are concerned: the guest's may go
	}
	if err != nil || !changed {
		return err
	}
	c := Checkpoint{Kind: kind, Session: w.store.tx.session.id}
	switch err := w.insertCheckpoint(&c); {
	case errors.Is(err, ErrCorrupt):
		return nil // there can be none
	case err != nil:
		return err
	}
	w.newest = c
	return nil
}

// due tells whether it is time for a checkpoint of a session that goes on changing.
func (w *writer) due() bool {
	f := w.store.fixed
	return f.occasion == AtSession && !w.pulling && time.Since(w.checkpointed) >= cmp.Or(f.every, f.busy)
}

// rest makes a checkpoint of a session that has been still for a moment. What fails of it, the next transaction tells.
func (w *writer) rest() {
	if w.conn == nil || w.pulling || w.store.occasion != AtSession || w.store.every > 0 && !w.due() {
		return
	}
	if w.transact(func() error { return w.checkpointIfChanged(AtRest) }) == nil {
		w.checkpointed = time.Now()
		w.tellCommitted(nil)
	}
}

// transact runs a function in a transaction of its own.
func (w *writer) transact(do func() error) (err error) {
	if err := w.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	w.wrote = true
	before := w.moment
	defer func() {
		if err != nil {
			w.moment = before
			w.store.watch.failed()
		}
	}()
	defer database.End(w.Conn, &err)
	return do()
}

// Automatic tells whether the store makes checkpoints by itself.
func (s *Store) Automatic() bool { return s.occasion != "" }

// thinWhile drops checkpoints of which there are too many as long as there is time for it.
func (w *writer) thinWhile(idle func() bool) {
	if w.conn == nil || w.store.keepHistory == (Keep{}) {
		return
	}
	for idle() {
		if more, err := w.thin(&w.store.keepHistory); err != nil || !more {
			return
		}
	}
}
