package sqlvfs

import (
	"errors"
	"fmt"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// Other tools of the format write rows without history knowing what they were (art-db(5)): an older checkpoint then seems to have had the
// change. That they have written the database is found when it is opened for writing the next time ([database.Left]). There is a checkpoint
// of what they have left, so that history is right from there on.

// Other tells of what another program has changed in a database since art closed it.
type Other struct {
	Made int64 // the checkpoint of what it has left; 0: there is none yet
	UpTo int64 // the newest one before that
}

func (o Other) String() string {
	text := fmt.Sprintf("another program has changed it since art closed it: checkpoints up to %d may show what they did not have", o.UpTo)
	if o.Made != 0 {
		text += fmt.Sprintf(", and %d is what it has left", o.Made)
	}
	return text
}

// OtherProgram tells what Open has found of another program's; nil: nothing.
func (s *Store) OtherProgram() *Other { return s.other }

// noteOther makes the checkpoint of what another program has left, if one has written the database and there are checkpoints.
func (s *Store) noteOther(left *database.Left, written bool) error {
	if !written {
		s.left = left
		return nil
	}
	err := s.noteWritten(left)
	if isFull(err) { // there may be room the next time, which then finds what this one has found
		s.unnoted = true
		_ = left.PutBack(s.lockFile) // else the next time does not
		return nil
	}
	s.left = left
	return err
}

func (s *Store) noteWritten(left *database.Left) error {
	upTo, err := left.History(s.tx.meta)
	if err != nil {
		return err
	}
	w := s.writer
	if err := w.connect(); err != nil {
		return err
	}
	if err := w.transact(w.dropUnowned); err != nil {
		return w.Cause(err)
	}
	if upTo == 0 {
		return nil
	}
	s.other = &Other{UpTo: upTo}
	c := Checkpoint{Kind: AfterOther}
	err = w.transact(func() error { return w.insertCheckpoint(&c) })
	if errors.Is(err, ErrCorrupt) {
		return nil // there can be none
	}
	if err == nil {
		w.newest, s.other.Made = c, c.ID
	}
	return w.Cause(err)
}

// dropUnowned deletes what art's own tables have of inodes that another program has removed: that knows the format's tables alone. No older
// checkpoint has those inodes any more either.
func (w *writer) dropUnowned() error {
	for _, k := range []*database.Kept{database.KeptXattr, database.KeptBirth, database.KeptOrigin, database.KeptWhiteout} {
		ino := k.Key[0]
		err := w.Exec("DELETE FROM main." + k.Table + " WHERE " + ino + " NOT IN (SELECT ino FROM fs_inode) AND " + ino + " NOT IN (SELECT ino FROM art_orphan)")
		if err != nil {
			return err
		}
	}
	return nil
}

// leavingAs is how a database is left that a connection reads; nil: that cannot be told.
func leavingAs(c *conn) *database.Left {
	session, checkpoint, err := database.NewestIDs(c)
	if err != nil {
		return nil
	}
	return &database.Left{Session: session, Checkpoint: checkpoint}
}

// leave writes down how the database is left, when no connection is open any more.
func (s *Store) leave() {
	if s.leaving != nil && s.lockFile != nil && !s.unnoted {
		_ = s.leaving.Leave(s.lockFile, s.path, s.left) // else nobody can tell later whether another program wrote it
	}
}
