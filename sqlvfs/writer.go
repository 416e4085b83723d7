package sqlvfs

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"syscall"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

const (
	// Linger is how long changes may gather before a transaction takes them. Longer saves work
	// that deletions make void; shorter loses less when the process is killed.
	Linger = 200 * time.Millisecond

	batchRows  = 8192     // a batch of this size does not wait for Linger to pass
	batchBytes = 8 << 20  // nor does one with this much content
	maxRows    = 64 << 10 // changes wait when this many rows are not committed
)

// kickLater lets the writer know that there is something to do soon.
func (s *Store) kickLater() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// Ready holds changes back while too many wait for the disk, and refuses them while the disk takes
// none or the store is read-only. Whatever makes the tree larger calls it first. The Store's lock
// must be held; it is let go of while waiting.
func (s *Store) Ready() error {
	if s.readOnly {
		return ErrReadOnly
	}
	for {
		if s.failed != nil {
			return s.failed
		}
		if s.closing {
			return ErrClosed
		}
		if !s.full() {
			return nil
		}
		s.done.Wait()
	}
}

// Room holds changes back as Ready does, but refuses none: for what makes the tree smaller. The
// Store's lock must be held; it is let go of while waiting.
func (s *Store) Room() {
	for s.failed == nil && !s.closing && s.full() {
		s.done.Wait()
	}
}

// full tells whether so much waits for the disk that changes must wait too. The Store's lock must be
// held.
func (s *Store) full() bool {
	bytes, rows := s.gather.weight(), s.gather.size()
	if bytes >= batchBytes || rows >= batchRows {
		s.kickLater()
	}
	if s.inflight != nil {
		bytes += s.inflight.weight()
		rows += s.inflight.size()
	}
	return bytes >= s.maxDirty || rows >= maxRows
}

// Sync returns when everything that happened before the call is durable: it survives a power cut.
// The error is the disk's. Takes the Store's lock.
func (s *Store) Sync() error {
	s.Lock()
	defer s.Unlock()
	if s.readOnly || s.closing {
		return nil
	}
	// The batch that gathers now holds the last change, or follows the one that does: when it is
	// durable, so is everything before it.
	b := s.gather
	b.sync = true
	for seq := b.seq; s.durable < seq; {
		switch {
		case s.failed != nil:
			s.kickLater()
			return s.failed
		case s.turning:
			s.done.Wait()
		default:
			// Here and now: to wake the writer's goroutine, and to be woken by it, takes about as long as
			// a small transaction does.
			if _, ok := s.writer.turn(); !ok {
				s.kickLater()
			}
		}
	}
	return nil
}

// Close commits what is left, folds the log into the database file and closes it. Files without a name
// are gone with it, whoever holds them. The store must not be used afterwards.
func (s *Store) Close() error {
	s.Lock()
	if s.closing {
		s.Unlock()
		return ErrClosed
	}
	s.closing = true
	s.dropNameless()
	s.Unlock()
	if s.lockFile != nil {
		sayLeaving(s.lockFile)
	}
	s.kickLater()
	<-s.stopped
	err := s.failed
	s.shut()
	return err
}

// write commits one batch after the other until the store is closed.
func (s *Store) write() {
	defer close(s.stopped)
	w := s.writer
	for {
		switch wait := s.nextTurn(); {
		case wait < 0:
			select {
			case <-s.kick:
			case <-w.idle():
				w.rest()
			}
		case wait > 0:
			select {
			case <-s.kick:
			case <-time.After(wait):
			}
		default:
			s.Lock()
			closing, ok := w.turn()
			if closing {
				if !ok {
					w.turn() // there may be room now
				}
				w.take()
			}
			s.Unlock()
			switch {
			case closing:
				w.finish()
				return
			case !ok:
				time.Sleep(s.retry)
			}
		}
	}
}

// nextTurn says how long the writer may still wait before it takes the batch; negative: until
// there is something in it.
func (s *Store) nextTurn() time.Duration {
	s.Lock()
	defer s.Unlock()
	switch {
	case s.gather.sync || s.closing || s.gather.weight() >= batchBytes || s.gather.size() >= batchRows:
		return 0
	case s.gather.empty():
		return -1
	}
	return max(0, s.linger-time.Since(s.gather.since))
}

// take has the writer for one's own, until it is given back. The Store's lock must be held.
func (w *writer) take() {
	s := w.store
	for s.turning {
		s.done.Wait()
	}
	s.turning = true
}

// give lets others have the writer. The Store's lock must be held.
func (w *writer) give() {
	w.store.turning = false
	w.store.done.Broadcast()
}

// turn takes the gathered batch, commits it and lets everyone know. The Store's lock must be held; it is
// let go of meanwhile.
func (w *writer) turn() (closing, ok bool) {
	s := w.store
	w.take()
	b := s.gather
	closing = s.closing
	s.gather = newBatch(b.seq + 1)
	s.inflight = b
	s.changed = s.changed || b.changes()
	s.countDeleted(b)
	b.freeze()
	s.Unlock()

	err := w.apply(b)

	s.Lock()
	s.inflight = nil
	if s.failed = err; err != nil {
		s.merge(b)
		s.gather.sync = s.gather.sync || b.sync
	} else {
		if b.sync {
			s.durable = b.seq
		}
		s.release(b)
		if w.latest = time.Now(); w.rested && w.conn != nil {
			w.rested = false
			s.kickLater() // for the next rest
		}
	}
	w.give()
	return closing, err == nil
}

// rest does what there is time for while nothing happens.
func (w *writer) rest() {
	s := w.store
	s.Lock()
	defer s.Unlock()
	if w.rested = time.Since(w.latest) >= restAfter; !w.rested {
		return
	}
	w.take()
	s.Unlock()
	w.shrink(shrinkIdly)
	s.Lock()
	w.give()
}

// apply does to the database what a batch asks for.
func (w *writer) apply(b *batch) error {
	if b.empty() && !b.sync {
		return nil
	}
	if err := w.connect(); err != nil {
		return err
	}
	err := w.commit(b)
	if err == nil && b.sync {
		err = w.sync()
	}
	if err == nil {
		err = w.checkpoint()
	}
	if err = w.cause(err); err != nil {
		w.makeRoom(err)
	}
	return err
}

// connect opens the connection, if that has not been done.
func (w *writer) connect() error {
	if w.conn != nil {
		return nil
	}
	c, err := w.store.connectWriter()
	if err != nil {
		return err
	}
	if err := c.Exec(fmt.Sprintf("PRAGMA cache_size=-%d", w.store.cache>>10)); err != nil {
		c.Close()
		return err
	}
	w.conn = c
	w.WALHook(func(_ *sqlite3.Conn, _ string, pages int) error {
		if pages < w.logPages {
			w.copied = 0 // the log has begun anew
		}
		w.logPages = pages
		return nil
	})
	return nil
}

func isFull(err error) bool {
	errno := Errno(err)
	return errno == syscall.ENOSPC || errno == syscall.EDQUOT
}

// writer is what belongs to the writing connection. One goroutine at a time has it, see take.
type writer struct {
	*conn    // nil until there is something to write
	store    *Store
	bases    map[string]int64 // art_base, by name
	trees    map[Tree]int64   // art_tree
	wrote    bool             // anything at all was committed
	logPages int              // length of the write-ahead log
	copied   int              // so many of these are in the database too
	beside   *conn            // for checkpoints beside this one; nil until there is one, and after one that failed
	passing  chan passed      // of the checkpoint that runs there; nil: none
	pageSize int              // of the database, in bytes
	latest   time.Time        // when something was committed. GUARDED_BY(Store.Mutex)
	rested   bool             // nothing was since the last rest, or ever. GUARDED_BY(Store.Mutex)
	blob     *sqlite3.Blob    // a row that is being patched; nil: none
}

// sync makes committed transactions durable, and the names of the database's files with them: the
// log's [file] sees to that.
func (w *writer) sync() error {
	// What a checkpoint failed of will fail the next one too. What it means for the log is known here.
	w.settle()
	log, err := w.log()
	if err != nil {
		return err
	}
	if err := log.Sync(vfs.SYNC_FULL | vfs.SYNC_DATAONLY); err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	return nil
}

// idle is for waiting until nothing has been written for a while; nil when nothing was since the last
// rest.
func (w *writer) idle() <-chan time.Time {
	w.store.Lock()
	defer w.store.Unlock()
	if w.rested {
		return nil
	}
	return time.After(restAfter - time.Since(w.latest))
}

// finish leaves one durable file behind, if anything was written. The connection that wrote is the
// last to be closed, because only that one can remove the log.
func (w *writer) finish() {
	fail := func(err error) {
		if err != nil {
			w.store.failed = cmp.Or(w.store.failed, err)
		}
	}
	if w.conn != nil {
		w.settle() // the one below says whether all is well
		w.leaveBeside()
	}
	fail(w.store.closeReaders())
	if w.conn == nil {
		return
	}
	if w.wrote {
		w.shrink(math.MaxInt64)
		_, _, err := w.WALCheckpoint("main", sqlite3.CHECKPOINT_TRUNCATE)
		if err = w.cause(err); errors.Is(err, sqlite3.BUSY) || isFull(err) {
			// A reader needs the log, or the database cannot grow: all is in the log, which stays.
			err = w.sync()
		}
		if err != nil {
			fail(fmt.Errorf("checkpoint: %w", err))
		}
	}
	fail(w.Close())
}
