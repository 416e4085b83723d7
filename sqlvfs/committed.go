package sqlvfs

// Committed reads what the database holds of files' content, as one commit has left it. It neither
// loads inodes nor takes the Store's lock, and asks for the database's locks once instead of for
// each read, so it is for whoever reads many files that nobody changes. One goroutine at a time may
// use it.
type Committed struct {
	s *Store
	c *conn
}

// Committed begins to read, on a connection of its own. It must be closed before the Store is.
func (s *Store) Committed() (*Committed, error) {
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

// ReadAt reads content at an offset, in bytes. What has no row reads as zeros: a hole, what is behind
// the end, and what only an [Origin] supplies.
func (r *Committed) ReadAt(ino Ino, p []byte, off int64) error {
	return r.s.readRowsOf(r.c, ino, off, p)
}

// Close ends it.
func (r *Committed) Close() error { return r.c.Close() }
