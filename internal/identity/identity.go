// Package identity makes sure that a workspace in a database is the directory of the host that it is
// used with.
//
// A database remembers the path of each of its workspaces, and which directory that was
// ([sqlvfs.Workspace]). A directory of another path is another project until the user says that the
// workspace was moved. Under the same path, a directory that is another object, as after `cp -a` to
// another machine, continues.
//
// Either way, what the database says of the host's objects (origins and baselines) speaks of objects
// that are elsewhere now. So it is given the fingerprints of those that are in their places and have
// the same content, by size and time, or else by hash; all the rest of the program then works as if
// nothing had happened. What is not the same stays as it is, and so counts as changed on the host.
package identity

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/quote"
	"github.com/riverlytech/art/sqlvfs"
)

// Options say what Claim may do.
type Options struct {
	Adopt bool // a workspace that was another directory is this one from now on
	Learn bool // a workspace that the database does not know yet is this directory
	// Beside says what else has to hold where the database knows other workspaces.
	Beside Beside
}

// Beside says when a workspace may be new in a database that knows others: the guest sees nothing there of what those have, which is
// not meant where the database was brought from another machine, and the directory has another name here.
type Beside int

const (
	// Always is when the user has named it, or pushes it.
	Always Beside = iota
	// WithOthers is when the directory of another one is there.
	WithOthers
	// Never is in a database that goes with one directory, or with a copy elsewhere.
	Never
)

// Claim makes sure that the workspace name of a database is the directory that is open as dir, to
// which path leads. Of a read-only store nothing is changed, but what it shows.
func Claim(ctx context.Context, s *sqlvfs.Store, dir *os.File, path, name string, opt Options) error {
	here, err := sqlvfs.WorkspaceAt(int(dir.Fd()), path, name)
	if err != nil {
		return fmt.Errorf("workspace %s: %w", path, err)
	}
	moved, err := sqlvfs.Query(s, func(tx *sqlvfs.Tx) (bool, error) { return claim(ctx, tx, dir, here, opt) })
	if err == nil && moved {
		err = s.Sync() // before anything is told that relies on it
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.Path(), err)
	}
	return nil
}

func claim(ctx context.Context, tx *sqlvfs.Tx, dir *os.File, here sqlvfs.Workspace, opt Options) (moved bool, err error) {
	list, err := tx.Workspaces()
	if err != nil {
		return false, err
	}
	var was *sqlvfs.Workspace
	for i, w := range list {
		switch {
		case w.Name == here.Name:
			was = &list[i]
		case w.Path == here.Path && !sqlvfs.IsLayer(w.Name) && !sqlvfs.IsLayer(here.Name): // several may share a repository
			return false, cli.WithHint(fmt.Errorf("%s is its workspace %s, not %s", quoted(here.Path), quoted(w.Name), quoted(here.Name)),
				"use its name: --name "+quoted(w.Name))
		}
	}
	switch {
	case was == nil:
		if err := mayBeNew(list, &here, opt.Beside); err != nil {
			return false, err
		}
		if opt.Learn && !tx.ReadOnly() {
			here.Whole, err = pushed(tx, here.Name)
			tx.SetWorkspace(here)
		}
		return false, err
	case was.Path != here.Path && !opt.Adopt:
		return false, cli.WithHint(fmt.Errorf("its workspace %s is %s, not %s", quoted(here.Name), quoted(was.Path), quoted(here.Path)),
			"if it was moved, use --adopt; if it is another one, give another database, or another name with --name")
	case was.Path == here.Path && was.SameDirectory(&here):
		return false, nil
	}
	here.Whole = was.Whole
	m := sqlvfs.Moved{Workspace: here, From: was.Tree}
	if !was.SameDirectory(&here) {
		c := carrier{ctx: ctx, dir: dir, was: was, here: &here, database: tx.Path()}
		if err := c.carry(tx, &m); err != nil {
			return false, err
		}
	}
	return true, tx.Move(m)
}

// mayBeNew makes sure that a workspace may be new beside those of a list.
func mayBeNew(list []sqlvfs.Workspace, here *sqlvfs.Workspace, when Beside) error {
	if when == Always || sqlvfs.IsLayer(here.Name) {
		return nil
	}
	var first string
	more := 0
	for _, w := range list {
		if sqlvfs.IsLayer(w.Name) {
			continue
		}
		if info, err := os.Stat(w.Path); when == WithOthers && err == nil && info.IsDir() {
			return nil
		}
		if first == "" {
			first = quoted(w.Name)
		} else {
			more++
		}
	}
	if first == "" {
		return nil
	}
	has, name := first, quoted(here.Name)
	if more > 0 {
		has += fmt.Sprintf(" and %d more", more)
	}
	return cli.WithHint(fmt.Errorf("it has no workspace %s: it has %s", name, has),
		fmt.Sprintf("if this directory is %s, --name %[1]s --adopt; for a new workspace beside it, --name %s", first, name))
}

// pushed tells whether a workspace came into a database by a push, as far as one tells that did not write
// it down: the rows of sessions have an origin.
func pushed(tx *sqlvfs.Tx, name string) (bool, error) {
	c, ok, _, err := tx.Child(tx.Root(), name)
	if !ok || err != nil {
		return false, err
	}
	top, err := tx.Get(c.Ino)
	if err != nil {
		return false, err
	}
	defer tx.Put(top)
	return top.Origin == nil, nil
}

// NamesOf returns the names of the workspaces that a path leads to, by what a database says; those of mounts of mode
// overlay last.
func NamesOf(s *sqlvfs.Store, path string) ([]string, error) {
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list, err := sqlvfs.Query(s, (*sqlvfs.Tx).Workspaces)
	var names, mounts []string
	for _, w := range list {
		switch {
		case w.Path != real:
		case sqlvfs.IsMountLayer(w.Name):
			mounts = append(mounts, w.Name)
		case !sqlvfs.IsLayer(w.Name):
			names = append(names, w.Name)
		}
	}
	return append(names, mounts...), err
}

// quoted is a name or a path of the database's in a form that is safe to print anywhere.
func quoted(s string) string { return quote.Name(s, true) }
