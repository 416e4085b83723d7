package sqlvfs

import (
	"errors"
	"syscall"
	"time"
)

// staleAfter is for how long a read-only store may show what was true before the writer's last
// commit.
const staleAfter = time.Second

// refresh reloads an inode of a read-only store when a writer has changed the database since it
// was loaded. The Store's lock must be held.
func (s *Store) refresh(in *Inode) error {
	if !s.readOnly {
		return nil
	}
	if time.Since(s.looked) > staleAfter {
		v, err := pragmaInt(s.meta.Conn, "data_version")
		if err != nil {
			return err
		}
		if v != s.version {
			s.version = v
			s.epoch++
		}
		s.looked = time.Now()
	}
	if in.epoch == s.epoch {
		return nil
	}
	in.Origin = nil
	s.drop(in)
	err := s.load(in)
	if errors.Is(err, ErrNotExist) {
		return syscall.ESTALE
	}
	return err
}

// Refresh makes sure that an inode's fields are not older than a second when another process
// writes to the database. The Store's lock must be held.
func (s *Store) Refresh(in *Inode) error { return s.refresh(in) }
