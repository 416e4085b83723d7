package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/workspace"
	"github.com/riverlytech/art/sqlvfs"
	"github.com/riverlytech/art/sqlvfs/lock"
)

// left are the scratch forks that a database knows of, of commands that were killed: nobody holds them any more. The newest are first: the
// one of a search that the checkpoint of the present goes with comes after others of that.
func left(db string, s *sqlvfs.Store) (list []sqlvfs.Fork, err error) {
	all, err := s.Forks()
	for _, f := range all {
		if _, _, ok := workspace.ScratchOf(f.Path); !ok || err != nil {
			continue
		}
		var held bool
		if held, err = lock.ScratchHeld(db, filepath.Base(f.Path)); err == nil && !held {
			list = append(list, f)
		}
	}
	slices.Reverse(list)
	return list, err
}

// scratch makes a scratch fork at a path, which nobody takes for left until the file is closed.
func (o *Options) scratch(ctx context.Context, path, at string) (c sqlvfs.Checkpoint, held *os.File, err error) {
	if held, err = lock.HoldScratch(o.DB, filepath.Base(path)); err != nil {
		return c, nil, fmt.Errorf("hold the fork: %w", err)
	}
	if c, err = o.forks(ctx, at, []string{path}); err != nil {
		held.Close()
		return c, nil, err
	}
	return c, held, nil
}

// removeLeft removes a scratch fork that was left, says so, and has its parent forget it. One that a session still uses waits for the next
// time.
func removeLeft(f *sqlvfs.Fork, say func(string), forget func(*control.Forks) error) error {
	command, nth, _ := workspace.ScratchOf(f.Path)
	gone := forgotten(command == bisectWord && nth != presentFork, f.Secret)
	_, secret, err := sqlvfs.ForkOf(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !bytes.Equal(secret, f.Secret):
		return forget(gone) // what is there is another's
	default:
		err = sqlvfs.Remove(f.Path)
		if _, inUse := errors.AsType[*sqlvfs.InUseError](err); inUse {
			return nil
		}
		if err != nil {
			return fmt.Errorf("remove the fork %s: %w", f.Path, err)
		}
	}
	say(fmt.Sprintf("removed the fork %s, which a %s that was killed had left", f.Path, command))
	return forget(gone)
}

// sweep removes the scratch forks that commands have left which were killed.
func (o *Options) sweep(ctx context.Context, say func(string)) error {
	s, err := sqlvfs.Open(o.DB, sqlvfs.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	list, err := left(o.DB, s)
	s.Close()
	for i := range list {
		if err == nil {
			err = removeLeft(&list[i], say, func(f *control.Forks) error { return o.forget(ctx, f) })
		}
	}
	return err
}
