package sqlvfs

import "github.com/ncruces/go-sqlite3"

// Committed reads what the database holds of files' content, as one commit has left it. It neither
// loads inodes nor is a step, and asks for the database's locks once instead of for
// each read, so it is for reading many files that do not change. One goroutine at a time may
// use it, beside others that use the Store. Errors are the database's.
type Committed struct {
	s *Store
	c *conn // nil: each call borrows one of those that read the commit which the store shows
}

// Committed begins to read, on a connection of its own. It must be closed before the Store is.
func (s *Store) Committed() (*Committed, error) {
	if s.frozen {
		return &Committed{s: s}, nil
	}
	c, err := s.readers.open()
	if err != nil {
		return nil, err
	}
	if err := c.Exec("BEGIN"); err != nil {
		c.Close()
		return nil, err
	}
	return &Committed{s, c}, nil
}

// with calls f with a connection.
func (r *Committed) with(f func(*conn) error) error {
	c := r.c
	if c == nil {
		var err error
		if c, err = r.s.readers.get(); err != nil {
			return err
		}
		defer r.s.readers.put(c)
	}
	return f(c)
}

// ReadAt reads content at an offset, in bytes. What has no row reads as zeros: a hole, what is behind
// the end, and what only an [Origin] supplies.
func (r *Committed) ReadAt(ino Ino, p []byte, off int64) error {
	return r.with(func(c *conn) error { return r.s.readRowsOf(c, ino, off, p) })
}

// Next returns the first offset from off on, before size, that lies in a chunk which has a row, or size
// if there is none: what is in between is a hole.
func (r *Committed) Next(ino Ino, off, size int64) (next int64, err error) {
	err = r.with(func(c *conn) error {
		next, err = r.next(c, ino, off, size)
		return err
	})
	return next, err
}

func (r *Committed) next(c *conn, ino Ino, off, size int64) (int64, error) {
	q := c.Prep("SELECT min(chunk_index) FROM fs_data WHERE ino=? AND chunk_index BETWEEN ? AND ?")
	q.BindInt64(1, int64(ino))
	q.BindInt64(2, off/r.s.chunkSize)
	q.BindInt64(3, (size-1)/r.s.chunkSize)
	next := size
	if c.Step(q) && q.ColumnType(0) == sqlite3.INTEGER {
		// A damaged index finds rows that were not asked for.
		next = min(max(q.ColumnInt64(0), off/r.s.chunkSize), (size-1)/r.s.chunkSize) * r.s.chunkSize
	}
	return max(next, off), c.Done(q)
}

// Close ends it.
func (r *Committed) Close() error {
	if r.c == nil {
		return nil
	}
	return r.c.Close()
}

// Held returns how many chunks of a file's content the database holds, and how many bytes are in them.
func (r *Committed) Held(ino Ino) (chunks, bytes int64, err error) {
	err = r.with(func(c *conn) error {
		q := c.Prep("SELECT count(*), ifnull(sum(length(data)), 0) FROM fs_data WHERE ino=?")
		q.BindInt64(1, int64(ino))
		if c.Step(q) {
			chunks, bytes = q.ColumnInt64(0), q.ColumnInt64(1)
		}
		return c.Done(q)
	})
	return chunks, bytes, err
}
