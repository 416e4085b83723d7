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

	"github.com/riverlytech/art/sqlvfs/internal/database"
	"github.com/riverlytech/art/sqlvfs/internal/diskvfs"
	"github.com/riverlytech/art/sqlvfs/lock"
)

const (
	// Linger is how long changes may gather before a transaction takes them. Longer saves work
	// that deletions make void; shorter loses less when the process is killed.
	Linger = 200 * time.Millisecond

	batchRows  = 8192     // a batch of this size does not wait for Linger to pass
	batchBytes = 8 << 20  // nor does one with this much content, but for patches
	maxRows    = 64 << 10 // changes wait when this many rows are not committed

	// lastWait is how long the end waits for who reads beside it, so that no log is left. Most have what they need at once.
	lastWait = 500 * time.Millisecond
)

// kickLater lets the writer know that there is something to do soon.
func (tx *Tx) kickLater() {
	select {
	case tx.kick <- struct{}{}:
	default:
	}
}

// full tells whether so much waits for the disk that changes must wait too.
func (tx *Tx) full() bool {
	if tx.frozen {
		return false // all of it is made at once, by another
	}
	bytes, rows := tx.gather.bytes, tx.gather.size()
	if tx.enough() {
		tx.kickLater()
	}
	if tx.inflight != nil {
		bytes += tx.inflight.bytes
		rows += tx.inflight.size()
	}
	return bytes >= tx.most || rows >= tx.mostRows()
}

// enough tells whether so much has gathered that it is committed at once. Patches gain by waiting: the log gets a page of the
// database for them, once, however many there are of that page.
func (tx *Tx) enough() bool {
	b := tx.gather
	return b.bytes-b.patched >= min(batchBytes, tx.most) || b.bytes >= tx.most/2 || b.size() >= min(batchRows, tx.mostRows())
}

// Sync returns when everything that happened before the call is durable: it survives a power cut.
// The error is the disk's; then nothing is promised, and nothing lost: the writer tries again within a second, and calls
// until then have the same error. Of a store that is read-only there is nothing to make durable; of one that is being
// closed, only Close says when it is, and the error is [ErrClosed].
func (s *Store) Sync() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	tx := &s.tx
	switch {
	case s.readOnly:
		return nil
	case tx.closing:
		return ErrClosed
	case s.frozen:
		return s.pass()
	}
	if tx.inflight == nil && tx.gather.empty() && tx.durable == tx.committed && tx.durable > 0 {
		return nil // as when a program syncs a file and then its directory. Of 0, the log may have what a session left that was killed
	}
	// The batch that gathers now holds the last change, or follows the one that does: when it is
	// durable, so is everything before it.
	b := tx.gather
	b.sync = true
	for seq := b.seq; tx.durable < seq; {
		switch {
		case tx.failed != nil:
			tx.kickLater()
			return tx.failed
		case tx.writing:
			s.done.Wait()
		default:
			// Here and now: to wake the writer's goroutine, and to be woken by it, takes about as long as
			// a small transaction does.
			tx.gather.late = true
			if _, ok := s.commitPending(); !ok {
				tx.kickLater()
			}
		}
	}
	return nil
}

// Close commits what is left, copies the log into the database file and closes it. Files without a name
// are deleted, even those that are referred to. The error is the disk's when not all could be committed, made durable or
// copied, and [ErrClosed] the second time. No other method may be running, or be called afterwards.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.tx.closing {
		s.mu.Unlock()
		return ErrClosed
	}
	s.tx.closing = true
	if s.frozen {
		err := s.pass()
		s.mu.Unlock()
		s.shut()
		return err
	}
	s.tx.dropNameless()
	s.mu.Unlock()
	if s.lockFile != nil {
		lock.SayLeaving(s.lockFile)
	}
	s.tx.kickLater()
	<-s.stopped
	err := s.tx.failed
	if g := s.tx.gather; err != nil && !g.empty() {
		err = fmt.Errorf("%w; what has changed since %s is lost", err, g.since.Format(time.TimeOnly))
	}
	if err == nil {
		s.leave()
	}
	s.shut()
	return err
}

// write commits one batch after the other until the store is closed.
func (s *Store) write() {
	defer close(s.stopped)
	w := s.writer
	for {
		switch wait := s.nextCommit(); {
		case wait < 0:
			select {
			case <-s.kick:
			case <-w.idle():
				s.maintain()
			}
		case wait > 0:
			select {
			case <-s.kick:
			case <-time.After(wait):
			}
		default:
			s.mu.Lock()
			closing, ok := s.commitPending()
			if closing {
				if !ok {
					s.commitPending() // there may be room now
				}
				s.acquireWriter()
			}
			s.mu.Unlock()
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

// nextCommit says how long the writer may still wait before it takes the batch; negative: until
// there is something in it.
func (s *Store) nextCommit() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.tx.gather
	switch {
	case b.sync || s.tx.closing || s.tx.enough():
		return 0
	case b.empty() && (len(b.noted) > 0 || s.processes.waiting()):
		return max(0, s.linger-time.Since(s.writer.latest))
	case b.empty() && time.Since(s.writer.latest) < s.linger:
		// Whoever writes goes on to: to wake this goroutine for each batch takes as long as to gather a small one.
		return s.linger
	case b.empty():
		s.tx.asleep = true
		return -1
	}
	return max(0, s.linger-time.Since(b.since))
}

// acquireWriter waits until nobody else has the writer. LOCKS_REQUIRED(mu), which it unlocks while it waits.
func (s *Store) acquireWriter() {
	for s.tx.writing {
		s.done.Wait()
	}
	s.tx.writing = true
}

// releaseWriter lets others have the writer. LOCKS_REQUIRED(mu)
func (s *Store) releaseWriter() {
	s.tx.writing = false
	s.done.Broadcast()
}

// lockWriter locks the store and acquires the writer, for who changes the database beside the tree's steps, until unlock is called. The
// error is [ErrReadOnly] or [ErrClosed]. ACQUIRES(mu)
func (s *Store) lockWriter() (unlock func(), err error) {
	s.mu.Lock()
	switch {
	case s.tx.readOnly || s.tx.frozen:
		err = ErrReadOnly
	case s.tx.closing:
		err = ErrClosed
	default:
		s.acquireWriter()
		return func() {
			s.releaseWriter()
			s.mu.Unlock()
		}, nil
	}
	s.mu.Unlock()
	return nil, err
}

// commitPending takes the gathered batch, commits it and lets everyone know. LOCKS_REQUIRED(mu), which it unlocks
// meanwhile.
func (s *Store) commitPending() (closing, ok bool) {
	s.acquireWriter()
	closing = s.tx.closing
	err := s.commitGathered()
	s.releaseWriter()
	return closing, err == nil
}

// commitGathered is commitPending for who has the writer. LOCKS_REQUIRED(mu), which it unlocks meanwhile.
func (s *Store) commitGathered() error {
	return s.finishCommit(s.tx.take(), func(b *batch) error {
		s.mu.Unlock()
		defer s.mu.Lock()
		return s.writer.apply(b)
	})
}

// finishCommit commits a batch that was taken, and takes in what has come of that. LOCKS_REQUIRED(mu)
func (s *Store) finishCommit(b *batch, apply func(*batch) error) error {
	w, tx := s.writer, &s.tx
	err := apply(b)
	tx.inflight = nil
	tx.learn(err)
	tx.dropped += w.dropped
	w.dropped = 0
	switch tx.failed = err; {
	case err == nil && b.sync:
		tx.durable = b.seq
	case err != nil && b.committed:
		tx.gather.sync = true // all that is left to do
		tx.kickLater()
	case err != nil:
		tx.merge(b)
		return err
	}
	tx.release(b)
	tx.watch.learn(b)
	if w.latest = time.Now(); w.maintained && w.conn != nil {
		w.maintained = false
		tx.kickLater() // for the next maintenance
	}
	return err
}

// maintain does what there is time for while nothing happens.
func (s *Store) maintain() {
	w := s.writer
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.maintained = time.Since(w.latest) >= maintainAfter; !w.maintained {
		return
	}
	s.acquireWriter()
	s.mu.Unlock()
	w.rest()
	w.thinWhile(func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.tx.gather.empty() && !s.tx.gather.sync && !s.tx.closing
	})
	w.shrink(shrinkIdly)
	s.mu.Lock()
	s.releaseWriter()
}

// apply does to the database what a batch asks for. With an error, it may be committed, and is not durable.
func (w *writer) apply(b *batch) error {
	if b.empty() && !b.sync && !b.logs() {
		return nil
	}
	if err := w.connect(); err != nil {
		return err
	}
	err := w.attempt(b, 0)
	if isFull(err) && w.makeRoom() {
		err = w.attempt(b, 0)
	}
	if isFull(err) && !b.empty() {
		err = w.withoutHistory(b, err)
	}
	if err == nil {
		w.tellCommitted(b)
		err = w.afterCommit(b)
	}
	return err
}

// attempt commits a batch, at the cost of some of the oldest checkpoints.
func (w *writer) attempt(b *batch, drop int) error {
	err := w.bound()
	if err == nil {
		err = w.commit(b, drop)
	}
	b.committed = err == nil
	return w.Cause(err)
}

// afterCommit makes a batch durable, if it is to be.
func (w *writer) afterCommit(b *batch) error {
	if b.sync {
		if err := w.sync(); err != nil {
			return w.Cause(err)
		}
	}
	w.checkpoint()
	return nil
}

// connect opens the connection, if that has not been done.
func (w *writer) connect() error {
	if w.conn != nil {
		return nil
	}
	c, err := w.store.stack.Overlaid(w.store.connectWriter, database.Everything...)
	if err != nil {
		return err
	}
	if err := c.Exec(fmt.Sprintf("PRAGMA cache_size=-%d", w.store.cache>>10)); err != nil {
		c.Close()
		return err
	}
	if w.moment, err = momentOf(c); err != nil {
		c.Close()
		return err
	}
	if log, err := diskvfs.Log(c.Conn); err == nil && w.newLog {
		log.Fresh()
	}
	w.newLog = false // from now on, what it holds may be cut off again
	w.found = w.store.occasion == ""
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

// disconnect drops a connection that cannot be used any more. The next use connects anew.
func (w *writer) disconnect() {
	_ = w.conn.Close()
	w.conn, w.functions, w.bounded, w.kept = nil, false, 0, keptRows{}
}

// Cause is that of the connection, if there is one.
func (w *writer) Cause(err error) error {
	if w.conn == nil {
		return err
	}
	return w.conn.Cause(err)
}

func isFull(err error) bool {
	errno := Errno(err)
	return errno == syscall.ENOSPC || errno == syscall.EDQUOT
}

// writer is what belongs to the writing connection. One goroutine at a time has it, see acquireWriter.
type writer struct {
	*conn         // nil until there is something to write
	store         *Store
	bases         map[string]int64  // art_base, by name
	trees         map[Tree]int64    // art_tree
	moment                          // of history
	kept          keptRows          // same
	pulling       bool              // a pull changes the host: checkpoints stay as they are
	checkpointed  time.Time         // when the newest checkpoint was made, if this session has
	dropped       int64             // checkpoints that were dropped for want of room, of which the store does not know
	awaited       time.Time         // when awaitReader was last of no use
	more          int64             // bytes that the database may grow by
	bounded       int64             // pages that it may have; 0: nobody has said
	wrote         bool              // anything at all was committed
	newLog        bool              // the log is a new file, see [diskvfs.File.Fresh]
	logPages      int               // length of the write-ahead log
	copied        int               // so many of these are in the database too
	uncopied      time.Time         // when that last failed
	checkpointer  *conn             // for checkpoints beside this one; nil until there is one, and after one that failed
	checkpointing chan checkpointed // of the checkpoint that runs there; nil: none
	pageSize      int               // of the database, in bytes
	latest        time.Time         // when something was committed. GUARDED_BY(Store.mu)
	maintained    bool              // nothing was since the last maintenance, or ever. GUARDED_BY(Store.mu)
	there         map[string]bool   // tables of the log of processes; what is not there may be in the database
	quiet         quiet             // processes
	calls         calls             // those of them that the format has a table for
	logThinned    time.Time         // when thinLog was last at work
	functions     bool              // the connection has those of conditions
	blob          *sqlite3.Blob     // a row that is being patched; nil: none
}

// sync makes committed transactions durable, and the names of the database's files with them: the
// log's [diskvfs.File] sees to that.
func (w *writer) sync() error {
	log, err := diskvfs.Log(w.Conn)
	if err != nil {
		return err
	}
	if err := log.Sync(vfs.SYNC_FULL | vfs.SYNC_DATAONLY); err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	return nil
}

// idle is for waiting until nothing has been written for a while; nil when nothing was since the last
// maintenance.
func (w *writer) idle() <-chan time.Time {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	if w.maintained {
		return nil
	}
	return time.After(maintainAfter - time.Since(w.latest))
}

// finish leaves one durable file behind, if anything was written. The connection that wrote is the
// last to be closed, because only that one can remove the log.
func (w *writer) finish() {
	fail := func(err error) {
		if err != nil {
			w.store.tx.failed = cmp.Or(w.store.tx.failed, err)
		}
	}
	if w.conn != nil {
		w.awaitCheckpoint() // the one below says whether all is well
		w.closeCheckpointer()
	}
	_ = w.sealSession() // it is then as one that was killed: what it has changed counts
	if w.conn == nil {
		w.store.leaving = leavingAs(w.store.tx.meta)
	}
	fail(w.store.closeReaders())
	if w.conn == nil {
		return
	}
	w.tellCommitted(nil)
	if w.wrote {
		end := time.Now().Add(thinAtEnd)
		w.thinWhile(func() bool { return time.Now().Before(end) })
		w.shrink(math.MaxInt64)
	}
	if w.wrote && w.store.replicated {
		fail(w.sync()) // the log is another process's to copy, unless that has ended
	} else if w.wrote {
		fail(w.Exec(fmt.Sprintf("PRAGMA busy_timeout=%d", lastWait.Milliseconds())))
		err := w.truncateLog()
		if full := isFull(err); full || errors.Is(err, sqlite3.BUSY) {
			// A reader needs the log, or the database cannot grow: all is in the log, which stays.
			if err = w.sync(); err == nil && full {
				_, err = w.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true)
			}
		}
		if err != nil {
			fail(fmt.Errorf("checkpoint: %w", err))
		}
	}
	w.store.leaving = leavingAs(w.conn)
	fail(w.Close())
}
