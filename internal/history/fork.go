package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/live"
	"github.com/riverlytech/art/internal/quote"
	"github.com/riverlytech/art/internal/workspace"
	"github.com/riverlytech/art/sqlvfs"
)

// forked is a fork that was made, as JSON has it.
type forked struct {
	Database   string `json:"database"`
	Parent     string `json:"parent"`
	Checkpoint int64  `json:"checkpoint"`
}

// Fork makes a fork of the database at a path, of a checkpoint by number or label, or of the present if that is "". A session that writes the
// database goes on.
func Fork(ctx context.Context, path, at string, o Options) error {
	c, err := o.fork(ctx, path, at)
	if err != nil {
		return fmt.Errorf("make a fork of %s: %w", o.DB, hinted(o.DB, err))
	}
	switch {
	case o.JSON:
		text, err := quote.JSON(forked{workspace.Absolute(path), workspace.Absolute(o.DB), c.ID})
		if err == nil {
			_, err = fmt.Fprintln(o.Stdout, text)
		}
		return err
	case o.Quiet:
		return nil
	}
	_, err = fmt.Fprintf(o.Stdout, "%s  fork of checkpoint %d\n", cli.Printable(path), c.ID)
	return err
}

func (o *Options) fork(ctx context.Context, path, at string) (c sqlvfs.Checkpoint, err error) {
	path = workspace.Absolute(path)
	if _, err := os.Lstat(path); err == nil {
		return c, cli.WithHint(fmt.Errorf("%s: %w", path, fs.ErrExist), "take another name, or remove that with art rm")
	}
	return o.forks(ctx, at, []string{path})
}

// forks makes forks of one moment at some paths, all of them or none.
func (o *Options) forks(ctx context.Context, at string, paths []string) (c sqlvfs.Checkpoint, err error) {
	secrets := make([][]byte, len(paths))
	for i := range secrets {
		secrets[i] = sqlvfs.NewSecret()
	}
	first, err := sqlvfs.BeginFork(paths[0]) // it is being made while the database is told
	if err != nil {
		return c, err
	}
	defer first.Discard()
	known, made := 0, make([]bool, len(paths)) // the database may know of one more than it has said
	c, err = o.atWriter(ctx, func(client *live.Client) (id int64, err error) {
		for i, path := range paths {
			if id, err = client.Fork(secrets[i], at, path); err != nil {
				return 0, err
			}
			known, at = i+1, strconv.FormatInt(id, 10)
		}
		return id, nil
	}, func(s *sqlvfs.Store) (c sqlvfs.Checkpoint, err error) {
		for i := known; i < len(paths); i++ { // a session may know of some, and have ended
			if c, err = s.AddFork(paths[i], secrets[i], at); err != nil {
				return c, errors.Join(err, s.DropFork(secrets[i]))
			}
			known, at = i+1, strconv.FormatInt(c.ID, 10)
		}
		return c, nil
	})
	unanswered := errors.Is(err, live.ErrUnanswered)
	if err == nil {
		var group sync.WaitGroup
		slots, errs := make(chan struct{}, runtime.NumCPU()), make([]error, len(paths))
		for i, path := range paths {
			slots <- struct{}{}
			group.Go(func() {
				if i == 0 {
					errs[i] = first.Make(o.DB, secrets[i], c)
				} else {
					errs[i] = sqlvfs.MakeFork(o.DB, path, secrets[i], c)
				}
				made[i] = errs[i] == nil
				<-slots
			})
		}
		group.Wait()
		err = errors.Join(errs...)
	}
	if err == nil {
		return c, nil
	}
	for i, path := range paths {
		if made[i] {
			err = errors.Join(err, sqlvfs.Remove(path))
		}
	}
	if unanswered {
		known++
	}
	for _, secret := range secrets[:known] {
		err = errors.Join(err, o.forgetSurely(ctx, secret))
	}
	return c, err
}

// forget has the database know of a fork no more.
func (o *Options) forget(ctx context.Context, secret []byte) error {
	_, err := o.atWriter(ctx, func(c *live.Client) (int64, error) { return -1, c.Forget(secret) },
		func(s *sqlvfs.Store) (sqlvfs.Checkpoint, error) { return sqlvfs.Checkpoint{}, s.DropFork(secret) })
	return err
}

// endsWithin is how long the art-fuse of a session that was killed may take to end.
const endsWithin = 10 * time.Second

// removeFork removes a fork, and has its parent forget it.
func (o *Options) removeFork(ctx context.Context, path string) error {
	_, secret, err := sqlvfs.ForkOf(path)
	if err != nil {
		return err
	}
	for until := time.Now().Add(endsWithin); ; time.Sleep(endsWithin / 100) {
		err = sqlvfs.Remove(path)
		if _, inUse := errors.AsType[*sqlvfs.InUseError](err); !inUse || time.Now().After(until) {
			break
		}
	}
	if err != nil {
		return err
	}
	return o.forgetSurely(ctx, secret)
}

// forgetSurely is forget where a session may just be about to end. It is for what nobody else will clear away: also after a signal.
func (o *Options) forgetSurely(ctx context.Context, secret []byte) (err error) {
	ctx = context.WithoutCancel(ctx)
	for until := time.Now().Add(endsWithin); ; time.Sleep(endsWithin / 100) {
		err = o.forget(ctx, secret)
		if _, inUse := errors.AsType[*sqlvfs.InUseError](err); !inUse && !errors.Is(err, live.ErrGone) || time.Now().After(until) {
			return err
		}
	}
}

// Forget has the parent of a fork that was removed from a path know of it no more. A copy of a fork has its secret too: what was not at the path
// where the fork was made is none that the parent knows of.
func Forget(ctx context.Context, path string, secret []byte, o Options) error {
	known, err := forkAt(o.DB, path, secret)
	if err == nil && known {
		err = o.forget(ctx, secret)
	}
	if err != nil {
		return fmt.Errorf("have %s forget the fork: %w", o.DB, hinted(o.DB, err))
	}
	return nil
}

// forkAt tells whether a database knows of a fork that was made at a path, at which there is nothing any more.
func forkAt(db, path string, secret []byte) (bool, error) {
	s, err := sqlvfs.Open(db, sqlvfs.Options{ReadOnly: true})
	if err != nil {
		return false, err
	}
	defer s.Close()
	list, err := s.Forks()
	i := slices.IndexFunc(list, func(f sqlvfs.Fork) bool { return bytes.Equal(f.Secret, secret) })
	if err != nil || i < 0 {
		return false, err
	}
	made := list[i].Path
	if _, err := os.Lstat(made); !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	was, err := os.Stat(filepath.Dir(made))
	if err != nil {
		return false, nil // it was made in a directory that is gone
	}
	is, err := os.Stat(filepath.Dir(workspace.Absolute(path)))
	return err == nil && os.SameFile(was, is) && filepath.Base(made) == filepath.Base(path), err
}

// tellForks says which checkpoints stay for forks, and with gone forgets those forks that are not where they were made.
func tellForks(s *sqlvfs.Store, gone bool, o *Options) error {
	say := func(text string) {
		if !o.Quiet {
			fmt.Fprintln(o.Stdout, cli.Printable(text))
		}
	}
	old, err := left(o.DB, s)
	for i := range old {
		if err == nil {
			err = removeLeft(&old[i], say, s.DropFork)
		}
	}
	if err != nil {
		return err
	}
	list, err := s.Forks()
	for _, f := range list {
		if err != nil {
			break
		}
		text := fmt.Sprintf("checkpoint %d stays for the fork %s", f.Checkpoint, cli.Printable(f.Path))
		switch there := f.IsThere(); {
		case !there && gone:
			err = s.DropFork(f.Secret)
			text = "forgot the fork " + cli.Printable(f.Path)
		case !there:
			text += ", which is not there (--gone forgets it)"
		}
		if err == nil && !o.Quiet {
			_, err = fmt.Fprintln(o.Stdout, text)
		}
	}
	return err
}
