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
	"time"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
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

// Fork makes forks of the database at some paths, of a checkpoint by number or label, or of the present if that is "": all of them or none.
// A session that writes the database goes on.
func Fork(ctx context.Context, paths []string, at string, o Options) error {
	c, err := o.forks(ctx, at, paths)
	if err != nil {
		return fmt.Errorf("make a fork of %s: %w", o.DB, Hinted(o.DB, err))
	}
	for _, path := range paths {
		switch {
		case o.JSON:
			var text string
			if text, err = quote.JSON(forked{workspace.Absolute(path), workspace.Absolute(o.DB), c.ID}); err == nil {
				_, err = fmt.Fprintln(o.Stdout, text)
			}
		case !o.Quiet:
			_, err = fmt.Fprintf(o.Stdout, "%s  fork of checkpoint %d\n", cli.Printable(path), c.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// forks makes forks of one moment at some paths, all of them or none.
func (o *Options) forks(ctx context.Context, at string, paths []string) (c sqlvfs.Checkpoint, err error) {
	var list []sqlvfs.ForkToBe
	f := control.Forks{At: at}
	for _, path := range paths {
		path = workspace.Absolute(path)
		if slices.ContainsFunc(list, func(other sqlvfs.ForkToBe) bool { return other.Path == path }) {
			return c, fmt.Errorf("%s is named twice", path)
		}
		if _, err := os.Lstat(path); err == nil {
			return c, cli.WithHint(fmt.Errorf("%s: %w", path, fs.ErrExist), "take another name, or remove that with art rm")
		}
		secret := sqlvfs.NewSecret()
		list = append(list, sqlvfs.ForkToBe{Path: path, Secret: secret})
		f.List = append(f.List, control.ForkOf{Path: path, Secret: secret})
	}
	making, err := sqlvfs.BeginForks(list) // while the database is told
	if err != nil {
		return c, err
	}
	defer making.Discard()
	if o.Begin != nil {
		if err := o.Begin(ctx); err != nil {
			return c, err
		}
	}
	known := false // whatever fails afterwards
	c, err = o.atWriter(ctx, func(client *live.Client) (int64, error) {
		id, err := client.Fork(&f)
		known = err == nil || errors.Is(err, live.ErrUnanswered)
		return id, err
	}, func(s *sqlvfs.Store) (sqlvfs.Checkpoint, error) {
		c, err := s.AddForks(list, at)
		known = err == nil
		return c, err
	})
	if err == nil {
		err = making.Make(o.DB, c)
	}
	if err != nil && known {
		err = errors.Join(err, o.forgetSurely(ctx, &f))
	}
	return c, err
}

// forgotten are forks that a database is to know no more.
func forgotten(keep bool, secret []byte) *control.Forks {
	return &control.Forks{Keep: keep, List: []control.ForkOf{{Secret: secret}}}
}

// forget has the database know of forks no more.
func (o *Options) forget(ctx context.Context, f *control.Forks) error {
	_, err := o.atWriter(ctx, func(c *live.Client) (int64, error) { return -1, c.Forget(f) }, func(s *sqlvfs.Store) (c sqlvfs.Checkpoint, err error) {
		var secrets [][]byte
		for _, one := range f.List {
			secrets = append(secrets, one.Secret)
		}
		return c, s.DropForks(secrets, f.Keep)
	})
	return err
}

// endsWithin is how long the art-fuse of a session that was killed may take to end.
const endsWithin = 10 * time.Second

// removeFork removes a fork, and has its parent forget it; with keep, but not the checkpoint that was made for it.
func (o *Options) removeFork(ctx context.Context, path string, keep bool) error {
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
	return o.forgetSurely(ctx, forgotten(keep, secret))
}

// forgetSurely is forget where a session may just be about to end. It is for what nobody else will clear away: also after a signal.
func (o *Options) forgetSurely(ctx context.Context, f *control.Forks) (err error) {
	ctx = context.WithoutCancel(ctx)
	for until := time.Now().Add(endsWithin); ; time.Sleep(endsWithin / 100) {
		err = o.forget(ctx, f)
		if _, inUse := errors.AsType[*sqlvfs.InUseError](err); !inUse && !errors.Is(err, live.ErrGone) || time.Now().After(until) {
			return err
		}
	}
}

// Forget has the parent of a fork that was removed from a path know of it no more. A copy of a fork has its secret too: what was not at the
// path where the fork was made is none that the parent knows of.
func Forget(ctx context.Context, path string, secret []byte, o Options) error {
	known, err := forkAt(o.DB, path, secret)
	if err == nil && known {
		err = o.forget(ctx, forgotten(false, secret))
	}
	if err != nil {
		return fmt.Errorf("have %s forget the fork: %w", o.DB, Hinted(o.DB, err))
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
			err = removeLeft(&old[i], say, func(f *control.Forks) error { return s.DropForks([][]byte{f.List[0].Secret}, f.Keep) })
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
