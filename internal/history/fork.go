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

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/live"
	"github.com/riverlytech/art/internal/quote"
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
		text, err := quote.JSON(forked{absolute(path), absolute(o.DB), c.ID})
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
	path = absolute(path)
	if _, err := os.Lstat(path); err == nil {
		return c, cli.WithHint(fmt.Errorf("%s: %w", path, fs.ErrExist), "take another name, or remove that with art rm")
	}
	secret := sqlvfs.NewSecret()
	c, err = o.atWriter(ctx, func(c *live.Client) (int64, error) { return c.Fork(secret, at, path) },
		func(s *sqlvfs.Store) (sqlvfs.Checkpoint, error) { return s.AddFork(path, secret, at) })
	if err != nil {
		return c, err
	}
	if err = sqlvfs.MakeFork(o.DB, path, secret, c); err != nil {
		err = errors.Join(err, o.forget(ctx, secret))
	}
	return c, err
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// forget has the database know of a fork no more.
func (o *Options) forget(ctx context.Context, secret []byte) error {
	_, err := o.atWriter(ctx, func(c *live.Client) (int64, error) { return -1, c.Forget(secret) },
		func(s *sqlvfs.Store) (sqlvfs.Checkpoint, error) { return sqlvfs.Checkpoint{}, s.DropFork(secret) })
	return err
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
	is, err := os.Stat(filepath.Dir(absolute(path)))
	return err == nil && os.SameFile(was, is) && filepath.Base(made) == filepath.Base(path), err
}

// tellForks says which checkpoints stay for forks, and with gone forgets those forks that are not where they were made.
func tellForks(s *sqlvfs.Store, gone bool, o *Options) error {
	list, err := s.Forks()
	for _, f := range list {
		if err != nil {
			break
		}
		text := fmt.Sprintf("checkpoint %d stays for the fork %s", f.Checkpoint, cli.Printable(f.Path))
		switch there := isFork(&f); {
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

// isFork tells whether a fork is where it was made.
func isFork(f *sqlvfs.Fork) bool {
	_, secret, err := sqlvfs.ForkOf(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	return err != nil || bytes.Equal(secret, f.Secret) // of what cannot be read nobody knows
}
