package sqlvfs

import (
	"fmt"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// Other tools of the format write rows without history knowing what they were (art-db(5)): an older checkpoint then seems to have had the
// change. That they have written the database is found when it is opened for writing the next time ([database.Left]). There is a checkpoint of
// what they have left, so that history is right from there on.

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
		return nil
	}
	upTo, err := left.History(s.tx.meta)
	if err != nil || upTo == 0 {
		return err
	}
	w := s.writer
	if err := w.connect(); err != nil {
		return err
	}
	err = w.transact(func() error {
		c := Checkpoint{Kind: AfterOther}
		if err := w.insertCheckpoint(&c); err != nil {
			return err
		}
		w.newest = c
		return nil
	})
	if err != nil {
		return w.Cause(err)
	}
	s.other = &Other{Made: w.newest.ID, UpTo: upTo}
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
	if s.leaving != nil && s.lockFile != nil {
		_ = s.leaving.Leave(s.lockFile, s.path, s.left) // else nobody can tell later whether another program wrote it
	}
}
