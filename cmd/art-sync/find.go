package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/overview"
	"github.com/riverlytech/art/internal/sandbox/seccomp"
	"github.com/riverlytech/art/internal/workspace"
)

// asArt tells whether art has become this program. Then a database need not be named.
func asArt() bool { return len(os.Args) > 0 && os.Args[0] == "art" }

// find fills in the database that is kept for the workspace which dir lies in, and that workspace. One that is not
// there is an error, unless it may be made. With adopt, it may be that of a workspace that was moved, which stays where
// it is unless the command writes.
func find(set *flag.FlagSet, dir, db *string, makes, adopt, writes bool) error {
	user, err := readUser()
	if err != nil {
		return err
	}
	databases, err := workspace.Directory(user)
	if err != nil {
		return err
	}
	named := *dir != "." // in the environment
	set.Visit(func(f *flag.Flag) { named = named || f.Name == "m" || f.Name == "mount" || f.Name == "workspace" })
	if !named && user.Workspace.Value != "" {
		*dir = user.Workspace.Value
	}
	w, err := workspace.Nearest(databases, *dir)
	if err == nil && !w.Known && adopt {
		var moved string
		if moved, err = overview.Moved(databases, w); err == nil && writes {
			err = overview.Adopt(moved, w)
		} else {
			w.Database = moved
		}
		w.Known = err == nil
	}
	switch {
	case err != nil:
		return err
	case !w.Known && !makes:
		return cli.WithHint(fmt.Errorf("find the database of %s: nothing was run here yet", w.Dir), "`art run` makes one; --db DB names another, `art list` shows all, and if the workspace was moved here, `art pull --adopt` takes its own")
	case !w.Known:
		if err := workspace.Make(databases); err != nil {
			return err
		}
	}
	*dir, *db = w.Dir, w.Database
	// The workspace has no links in its path now, and so must the current directory, which paths are relative to.
	return os.Unsetenv("PWD")
}

func readUser() (*config.Settings, error) {
	return config.ReadUser(config.UserFile(os.Getenv), os.Getenv("HOME"), seccomp.Options)
}
