package sqlvfs

import (
	"runtime"
	"time"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// A database has one writer. Another process that wants to change it meanwhile, as a pull does, decides on the state of one
// commit, and has the writer make the changes:
//
//	Freeze          the writer commits all that has happened, and nothing more until the other process has opened the database
//	Options.Beside  the other process reads that commit for as long as it needs to, and gathers what it changes
//	Changes         are what it has gathered, with the state that each inode has in that commit
//	Intake          receives the content of new files ahead of the other changes
//	Tx.Amend        makes the changes as one step, where an inode is still what it was; inodes that were made since follow their
//	                origins to the new [Place]

// openBeside opens what Options.Beside describes. All connections begin to read now.
func (s *Store) openBeside() (err error) {
	if s.tx.meta, err = s.connectFrozen(); err != nil {
		return err
	}
	if _, _, err := admit(s.tx.meta.Conn); err != nil {
		return err
	}
	if s.stack, err = descend(s.tx.meta); err != nil {
		return err
	}
	if s.stack.Forked() { // ATTACH is no part of a transaction
		if err = s.tx.meta.Close(); err != nil {
			return err
		}
		if s.tx.meta, err = s.connectFrozen(); err != nil {
			return err
		}
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
	c, err := s.stack.Overlaid(func() (*conn, error) { return database.ConnectReadOnly(s.path, s.query) })
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

// passContents passes the complete chunks of new files to Options.Beside ahead of the rest, when there are many. LOCKS_REQUIRED(mu)
func (s *Store) passContents() error {
	tx := &s.tx
	if tx.gather.bytes < tx.gather.passAt+batchBytes {
		return nil
	}
	c := &Changes{FirstIno: tx.session.firstIno}
	var passed []chunkKey
	for k, chunk := range tx.gather.chunks {
		// Who makes a file writes it from its beginning, and names it when it is complete.
		if chunk.patch != nil || k.in.Ino < tx.session.firstIno || k.in.Attr.Nlink == 0 && (k.index+1)*tx.chunkSize > k.in.Attr.Size {
			continue
		}
		if len(chunk.data) > 0 {
			c.Contents = append(c.Contents, Content{k.in.Ino, k.index * tx.chunkSize, chunk.data})
		}
		passed = append(passed, k)
	}
	if err := s.beside(c); err != nil {
		return err
	}
	for _, k := range passed {
		chunk := k.in.chunks[k.index]
		delete(k.in.chunks, k.index)
		delete(tx.gather.chunks, k)
		tx.discard(chunk)
	}
	tx.gather.passAt = tx.gather.bytes
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
