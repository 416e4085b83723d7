package replica

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/sqlvfs"
)

// At its end a job copies what is left, makes sure that the copy leads there, and lets the database and the place go.

// goneError says that files of a copy were removed while a session wrote it.
type goneError struct{ error }

// awaitServer waits until the session's server has committed all and closed the database, and keeps others from writing it, as [lock.Take]
// does. It returns false if that is too long: then what there is by now is copied.
func (j *Job) awaitServer() bool {
	for end := time.Now().Add(leaving); time.Now().Before(end) && j.ctx.Err() == nil; time.Sleep(serverPoll) {
		err := unix.Flock(int(j.file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return err == nil
		}
	}
	return false
}

// finish lets Litestream, the place and the database go. Alone says that nobody else has that, and err why not all is copied.
func (j *Job) finish(alone bool, err error) error {
	err = j.leave(alone, err)
	_ = sqlvfs.ForgetLeft(j.file)
	j.file.Close()
	if alone {
		if serr := j.busy(func() error { return settle(j.what.Database) }); err == nil && serr != nil {
			err = fmt.Errorf("all is copied, but the database was left with its log: %w", serr)
		}
	}
	return err
}

// leave lets Litestream and the place go.
func (j *Job) leave(alone bool, err error) error {
	how := j.ending()
	if err == nil && alone && !how.Drop {
		if nerr := j.busy(func() error { return j.notePages(j.ctx) }); nerr != nil {
			_ = forgetPages(j.what.Kept) // the next session copies the whole database
		}
	}
	removed := map[string]bool{}
	if err == nil && !how.Drop {
		ctx, cancel := context.WithTimeout(j.ctx, claimTime)
		removed = j.tenure.prune(ctx, time.Now().Add(-retention)) // of a short session, nothing has yet
		cancel()
	}
	last := ""
	if pos, perr := j.db.Pos(); perr == nil {
		last = position(j.tenure.generation.ID, pos.TXID)
	}
	j.release()
	if err == nil && !how.Drop {
		ctx, cancel := context.WithTimeout(j.ctx, claimTime)
		err = j.tenure.end(ctx, func(h *Head) {
			j.current(h)
			h.forget(removed)
			h.State, h.Last, h.Pending = Ended, last, nil
			if how.Counted {
				h.Pending = &Pending{how.Pending, j.counted}
			}
		})
		cancel()
	}
	// It tries once more to copy what is left: of nothing, or for no time.
	ctx, cancel := context.WithTimeout(context.Background(), look)
	defer cancel()
	if cerr := j.store.Close(ctx); err == nil && cerr != nil && !errors.Is(cerr, context.DeadlineExceeded) {
		err = cerr
	}
	if how.Drop {
		ctx, cancel := context.WithTimeout(j.ctx, claimTime)
		err = j.tenure.remove(ctx)
		cancel()
	}
	_ = j.forgetKept() // the next one does it
	var no *refused
	if errors.As(err, &no) {
		return no
	}
	return explain(err)
}

// copyRest copies all that there is. It gives up when nothing more is taken for a while.
func (j *Job) copyRest(up *uploading) error {
	if err := j.busy(func() error { return j.db.Sync(j.ctx) }); err != nil {
		up.abandon()
		return fmt.Errorf("read the log: %w", err)
	}
	close(up.rest)
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for taken, at := j.taken.now(), time.Now(); ; {
		select {
		case err := <-up.done:
			if j.ctx.Err() != nil {
				return context.Cause(j.ctx)
			}
			return err
		case <-every.C:
		}
		s := j.state()
		s.Waits = j.waiting()
		s.Behind = max(s.Behind, 1)
		if j.sends {
			j.taken.sending(j.written())
		}
		j.say(s)
		if now := j.taken.now(); now != taken {
			taken, at = now, time.Now()
		}
		if time.Since(at) > stuck {
			up.abandon()
			j.mu.Lock()
			defer j.mu.Unlock()
			if j.remote == nil {
				return errTakesNothing
			}
			return j.remote
		}
	}
}

// verify makes sure that the copy can be brought back as it is now.
func (j *Job) verify() error {
	ctx, cancel := context.WithTimeout(j.ctx, claimTime)
	defer cancel()
	client, err := j.place.generation(j.tenure.says(), j.tenure.generation)
	if err != nil {
		return err
	}
	files, err := list(ctx, client, false)
	if err != nil {
		return fmt.Errorf("look whether it is whole: %w", explain(err))
	}
	pos, err := j.db.Pos()
	if err != nil {
		return err
	}
	if _, err := files.reaches(ctx, pos.TXID); err != nil {
		return &goneError{fmt.Errorf("files of it were removed there: %w", err)}
	}
	return nil
}

// giveUp lets Litestream and all that waits go.
func (j *Job) giveUp() error {
	j.release()
	ctx, cancel := context.WithTimeout(context.Background(), look)
	defer cancel()
	_ = j.store.Close(ctx) // which tries once more to copy something
	j.file.Close()
	return j.forgetKept()
}

// settle has the database be one file again, and says how it was left: what Litestream has written in it, and that it has made
// checkpoints, is not another program's doing.
func settle(path string) error {
	s, err := sqlvfs.Open(path, sqlvfs.Options{})
	switch {
	case errors.As(err, new(*sqlvfs.InUseError)), errors.Is(err, fs.ErrNotExist):
		return nil // the next session has it, and sees to that; or it was removed
	case err != nil:
		return cli.Reason(err)
	}
	return s.Close()
}
