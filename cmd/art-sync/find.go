package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/overview"
	"github.com/riverlytech/art/internal/seccomp"
	"github.com/riverlytech/art/internal/workspace"
)

// asArt tells whether art has become this program. Then a database need not be named.
func asArt() bool { return len(os.Args) > 0 && os.Args[0] == "art" }

// place is what a command line says of where to work.
type place struct {
	set     *flag.FlagSet
	dir, db *string
	agent   string // of the user's own; "" is none
	makes   bool   // a database that is not there may be made
	adopt   bool   // the database may be that of a workspace that was moved,
	writes  bool   // which then becomes this one's
}

// find fills in what the command line leaves out: the database that is kept for a workspace, and that workspace, which is
// the agent's, or the one that the directory lies in.
func (p *place) find() error {
	user, err := readUser()
	if err != nil {
		return err
	}
	var agent *config.Agent
	if p.agent != "" {
		if agent, err = config.FindAgent(os.Getenv, p.agent, seccomp.Options); err != nil {
			return err
		}
	}
	ofAgent := agent != nil && !p.named()
	if ofAgent {
		*p.dir = agent.Settings.Workspace.Value
	}
	if *p.db != "" {
		return nil
	}
	databases, err := workspace.Directory(user)
	if err != nil {
		return err
	}
	var w workspace.Workspace
	if ofAgent {
		w, err = workspace.At(databases, *p.dir)
	} else {
		if !p.named() && user.Workspace.Value != "" {
			*p.dir = user.Workspace.Value
		}
		w, err = workspace.Nearest(databases, *p.dir)
	}
	if err == nil && !w.Known && p.adopt {
		var moved string
		if moved, err = overview.Moved(databases, w); err == nil && p.writes {
			err = overview.Adopt(moved, w)
		} else {
			w.Database = moved
		}
		w.Known = err == nil
	}
	switch {
	case err != nil:
		return err
	case !w.Known && ofAgent && (!agent.Enabled || agent.Settings.Mode.Value == "direct"):
		return cli.WithHint(fmt.Errorf("find the database of the agent %s: what it does is in %s at once, as %s says", p.agent, w.Dir, agent.File),
			"there is nothing to bring there, or to give up; --db DB names a database")
	case !w.Known && !p.makes && ofAgent:
		return cli.WithHint(fmt.Errorf("find the database of the agent %s: nothing was run in %s yet", p.agent, w.Dir), "`art "+p.agent+"` makes one")
	case !w.Known && !p.makes:
		return cli.WithHint(fmt.Errorf("find the database of %s: nothing was run here yet", w.Dir), "`art run` makes one; --db DB names another, `art list` shows all, and if the workspace was moved here, `art pull --adopt` takes its own")
	case !w.Known:
		if err := workspace.Make(databases); err != nil {
			return err
		}
	}
	*p.dir, *p.db = w.Dir, w.Database
	// The workspace has no links in its path now, and so must the current directory, which paths are relative to.
	return os.Unsetenv("PWD")
}

// named says whether the command line, or the environment, names a directory.
func (p *place) named() bool {
	named := os.Getenv("ART_MOUNT") != "" || os.Getenv("ART_WORKSPACE") != ""
	p.set.Visit(func(f *flag.Flag) { named = named || f.Name == "m" || f.Name == "mount" || f.Name == "workspace" })
	return named
}

func readUser() (*config.Settings, error) {
	return config.ReadUser(config.UserFile(os.Getenv), os.Getenv("HOME"), seccomp.Options)
}
