package sqlvfs

import (
	"runtime"
	"time"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// A database has one writer. What another process decides to change in it meanwhile, as a pull does, it decides on what
// one commit has left, and has the writer make it:
//
//	Freeze       the writer commits all that has happened, and nothing more until the other one has opened the database
//	Beside       the other process shows that commit for as long as it needs to; what it changes, it gathers
//	Changes      are what it has gathered, and of each inode how it was in that commit
//	Tx.Amend     the writer makes them as one step, where an inode is still as it was; inodes that were made since follow
//	             what they refer to to its new [Place]

// openBeside opens what Options.Beside describes. All connections begin to read now.
func (s *Store) openBeside() (err error) {
	if s.tx.meta, err = s.connectFrozen(); err != nil {
		return err
	}
	if _, _, err := admit(s.tx.meta.Conn); err != nil {
		return err
	}
	n := runtime.GOMAXPROCS(0)
	s.readers = newConnPool(n, s.connectFrozen)
	for range n {
		c, err := s.connectFrozen()
		if err != nil {
			return err
		}
		s.readers.idle = append(s.readers.idle, c)
	}
	close(s.stopped)
	return s.tx.start()
}

// connectFrozen opens a connection that reads what the database holds now.
func (s *Store) connectFrozen() (*conn, error) {
	c, err := database.ConnectReadOnly(s.path, s.query)
	if err != nil {
		return nil, err
	}
	// A transaction sees what was there at its first read (https://sqlite.org/lang_transaction.html).
	if err = c.Exec("BEGIN"); err == nil {
		_, err = database.QueryInt(c.Conn, "SELECT count(*) FROM sqlite_schema")
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// pass passes what has gathered to Options.Beside. LOCKS_REQUIRED(mu)
func (s *Store) pass() error {
	tx := &s.tx
	if tx.gather.empty() {
		return nil
	}
	b := tx.take()
	c, err := tx.changesOf(b)
	if err == nil {
		err = s.beside(c)
	}
	tx.inflight = nil
	if err != nil {
		tx.merge(b)
		return err
	}
	tx.release(b)
	return nil
}

// Abandon gives up what has gathered beside the writer since it was passed last. The Store can only be closed then.
func (s *Store) Abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tx.gather = newBatch(s.tx.gather.seq + 1)
}

// Freeze makes all that happened before the call durable, and calls f, while nothing is committed. Steps go on meanwhile,
// and what changes an inode after the commit gives it a later change time than any in it.
func (s *Store) Freeze(f func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tx.closing {
		return ErrClosed
	}
	s.acquireWriter()
	defer s.releaseWriter()
	// Change times go by a clock that ticks every few milliseconds.
	for now := Now(); Now() == now; {
		time.Sleep(time.Millisecond / 4)
	}
	s.tx.gather.sync = true
	if err := s.commitGathered(); err != nil {
		return err
	}
	s.mu.Unlock()
	defer s.mu.Lock()
	f()
	return nil
}
