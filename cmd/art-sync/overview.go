package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/peterbourgon/ff/v3/ffcli"
	"golang.org/x/term"

	"github.com/riverlytech/art/internal/overview"
	"github.com/riverlytech/art/internal/workspace"
)

// overviewCommands are those that show what there is in databases. They are art's: what it keeps is what they are
// about. Their flags have no environment variables, but for the database, the workspace and the agent.
func overviewCommands() []*ffcli.Command {
	o := overview.Options{Stdout: os.Stdout, Stderr: os.Stderr, Terminal: term.IsTerminal(int(os.Stdout.Fd()))}
	dir, db, agent := os.Getenv("ART_MOUNT"), os.Getenv("ART_DB"), os.Getenv("ART_AGENT")
	if dir == "" {
		dir = "."
	}
	of := func(name string, set *flag.FlagSet, show func(context.Context) error) *ffcli.Command {
		set.BoolVar(&o.JSON, "json", false, "")
		return &ffcli.Command{Name: name, FlagSet: set, Exec: func(ctx context.Context, args []string) error {
			if len(args) > 0 {
				return wrongUsage(name, fmt.Errorf("%s: unexpected argument", args[0]))
			}
			return show(ctx)
		}}
	}
	ofOne := func(name string, show func(context.Context) error) *ffcli.Command {
		set := newFlagSet(name)
		for _, flag := range []string{"m", "mount"} {
			set.StringVar(&dir, flag, dir, "")
		}
		for _, flag := range []string{"d", "db"} {
			set.StringVar(&db, flag, db, "")
		}
		set.StringVar(&agent, "agent", agent, "")
		return of(name, set, func(ctx context.Context) error {
			if db == "" || agent != "" {
				p := place{set: set, dir: &dir, db: &db, agent: agent}
				if err := p.find(); err != nil {
					return err
				}
			}
			return show(ctx)
		})
	}
	return []*ffcli.Command{
		ofOne("status", func(ctx context.Context) error { return overview.Status(ctx, dir, db, o) }),
		ofOne("log", func(context.Context) error { return overview.Log(db, o) }),
		of("list", newFlagSet("list"), func(context.Context) error {
			databases, err := databaseDir()
			if err != nil {
				return err
			}
			return overview.List(databases, o)
		}),
		removeCommand(dir),
	}
}

// removeCommand returns the command line of art rm.
func removeCommand(dir string) *ffcli.Command {
	o := overview.RemoveOptions{Stderr: os.Stderr}
	if term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stderr.Fd())) {
		o.Answer = os.Stdin
	}
	set := newFlagSet("rm")
	set.BoolVar(&o.Force, "force", false, "")
	for _, flag := range []string{"q", "quiet"} {
		set.BoolVar(&o.Quiet, flag, false, "")
	}
	return &ffcli.Command{Name: "rm", FlagSet: set, Exec: func(ctx context.Context, args []string) (err error) {
		var db string
		switch len(args) {
		case 0:
			p := place{set: set, dir: &dir, db: &db}
			err = p.find()
		case 1:
			var databases string
			if databases, err = databaseDir(); err == nil {
				dir, db, err = overview.Named(databases, args[0])
			}
		default:
			err = wrongUsage("rm", errors.New("only one database is removed at a time"))
		}
		if err != nil {
			return err
		}
		return overview.Remove(ctx, dir, db, o)
	}}
}

// databaseDir returns the directory of the databases of workspaces.
func databaseDir() (string, error) {
	user, err := readUser()
	if err != nil {
		return "", err
	}
	return workspace.Directory(user)
}

const usageOverview = `NAME
  art status, log, list, rm - show what there is in databases, and remove one

SYNOPSIS
  art status [-m DIR | --agent NAME] [-d DB] [--json]
  art log    [-m DIR | --agent NAME] [-d DB] [--json]
  art list   [--json]
  art rm     [--force] [-q] [NAME | DIR | DB]

DESCRIPTION
  status shows what art pull would bring to the workspace, what it would leave, and
  who has the database. log shows the sessions, the latest first: when, how long,
  how each ended, how many files it made, changed and deleted, and its command.
  These are about the database of the workspace that the current directory lies in,
  or DIR, or that of the agent NAME of your own.

  list shows the databases of workspaces, the one that was used last first: name,
  size, when it was used, workspace.

  rm removes the database of the workspace that the current directory lies in, or
  the one that is named: by a name that list shows, by the base name of its
  workspace or the path of that, or by its own path. It asks if that has what the
  workspace has not; where nobody can be asked, that needs --force.

FLAGS
  -m, --mount DIR   the workspace
  -d, --db DB       the database
      --agent NAME      an agent of your own, whose workspace it is
      --json        an object a line
      --force       remove it whatever it has
  -q, --quiet       say nothing but errors
`
