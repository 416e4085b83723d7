package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/term"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/identity"
	"github.com/riverlytech/art/internal/overview"
	where "github.com/riverlytech/art/internal/replica/place"
	"github.com/riverlytech/art/internal/replica/remote"
	"github.com/riverlytech/art/internal/seccomp"
	"github.com/riverlytech/art/internal/workspace"
	"github.com/riverlytech/art/sqlvfs"
)

// asArt reports whether art has become this program. Then a database need not be named.
func asArt() bool { return len(os.Args) > 0 && os.Args[0] == "art" }

// place is what a command line says of where to work.
type place struct {
	dir, db string
	agent   string // of the user's own; "" is none
	makes   bool   // a database that is not there may be made,
	session bool   // as that of a session, which is not run in a home that nobody has named
	fresh   bool   // and is to be
	named   bool   // the directory was named
	adopt   bool   // the database may be that of a workspace that was moved,
	writes  bool   // which then becomes this one's,
	dry     bool   // or would
	reads   bool   // it may be a copy at another place, which is open until end is called
	end     func(*error)
}

// close ends the reading of a copy at another place, and has err say why that has failed, if it has.
func (p *place) close(err *error) {
	if p.end != nil {
		p.end(err)
	}
}

// variables are what the flags about a place set.
func (p *place) variables() map[string]any {
	return map[string]any{"mount": &p.dir, "db": &p.db, "agent": &p.agent}
}

// find fills in what the command line leaves out: the database that is kept for a workspace, and that workspace, which is
// the agent's, or the one that the directory lies in.
func (p *place) find() error {
	if p.named = p.dir != ""; !p.named {
		p.dir = "."
	}
	if p.db != "" && p.agent == "" {
		return p.open()
	}
	user, err := readUser()
	if err != nil {
		return err
	}
	var agent *config.Agent // whose workspace it is
	if p.agent != "" {
		if agent, err = config.FindAgent(os.Getenv, p.agent, seccomp.Options); err != nil {
			return err
		}
	}
	switch {
	case p.named:
		agent = nil
	case agent != nil:
		p.dir = agent.Settings.Workspace.Value
	case user.Workspace.Value != "":
		p.dir = user.Workspace.Value
	}
	if p.db != "" {
		return p.open()
	}
	databases, err := workspace.Directory(user)
	if err != nil {
		return err
	}
	look := workspace.Nearest
	if agent != nil {
		look = workspace.At
	}
	w, err := look(databases, p.dir)
	if err == nil && !w.Known {
		err = p.unknown(databases, &w, agent)
	}
	if err != nil {
		return err
	}
	p.dir, p.db = w.Dir, w.Database
	// The workspace has no links in its path now, and so must the current directory, which paths are relative to.
	return os.Unsetenv("PWD")
}

// open begins to read the copy that the database is named by, if it is.
func (p *place) open() (err error) {
	if !p.reads {
		return where.Here(p.db)
	}
	p.end, err = remote.Open(prog, p.db)
	return err
}

// unknown is what becomes of a workspace that no database is kept for: it takes that of one that was moved, or it gets a
// new one, or there is nothing to work on.
func (p *place) unknown(databases string, w *workspace.Workspace, agent *config.Agent) (err error) {
	switch {
	case p.adopt:
		moved, err := overview.Moved(databases, *w)
		switch {
		case err == nil && p.writes:
			var waiting func(pid int)
			if term.IsTerminal(int(os.Stderr.Fd())) {
				waiting = cli.Waiting(os.Stderr, prog, moved)
			}
			return overview.Adopt(moved, *w, waiting)
		case err == nil && p.dry:
			err = overview.MayAdopt(moved)
		}
		w.Database = moved
		return err
	case agent != nil && (!agent.Enabled || agent.Settings.Mode.Value == "direct"):
		return cli.WithHint(fmt.Errorf("find the database of the agent %s: it has none, and works in %s itself, as %s says", p.agent, w.Dir, agent.File),
			"there is nothing to bring there, or to give up; --db DB names a database")
	case inSession():
		return fmt.Errorf("find the database of %s: %w", w.Dir, errInSession)
	case p.makes && (!p.session || p.named || !workspace.HoldsHome(w.Dir)):
		p.fresh = true
		return workspace.Make(databases)
	case agent != nil:
		return cli.WithHint(fmt.Errorf("find the database of the agent %s: nothing was run in %s yet", p.agent, w.Dir), "`art "+p.agent+"` makes one")
	}
	return cli.WithHint(fmt.Errorf("find the database of %s: nothing was run here yet", w.Dir), "`art run` makes one; --db DB names another, `art list` shows all, and if the workspace was moved here, `art pull --adopt` takes its own")
}

// begin makes the database of a workspace in which nothing was run yet, as its first session would.
func (p *place) begin(ctx context.Context) error {
	if !p.fresh {
		return nil
	}
	dir, err := os.Open(p.dir)
	if err != nil {
		return fmt.Errorf("open workspace: %w", err)
	}
	defer dir.Close()
	s, err := sqlvfs.Open(p.db, sqlvfs.Options{Create: true, Root: sqlvfs.NewRoot()})
	if err == nil {
		err = errors.Join(identity.Claim(ctx, s, dir, p.dir, filepath.Base(p.dir), identity.Options{Learn: true}), s.Close())
	}
	if err != nil {
		return fmt.Errorf("make database %s: %w", p.db, err)
	}
	return nil
}

// inSession tells whether what runs this is a guest.
func inSession() bool { return os.Getenv("ART_SANDBOX") == "1" }

var (
	// errInSession says that there is no database to work on because what runs this is a guest.
	errInSession = cli.WithHint(errors.New("this is a session of art: what is pending is seen from the host"),
		"run this on the host, where `art run` was run; in here, programs only ask for checkpoints: `art checkpoint -m LABEL`")
	// errNoCheckpoints says why a guest has nobody to ask for a checkpoint. What its session is, the guest is not told.
	errNoCheckpoints = cli.WithHint(errors.New("make a checkpoint of this session: programs cannot ask for one here"),
		"that is turned off with \"checkpoints\": {\"guest\": false} in a sandbox.json, or the session is in direct mode, which has no checkpoints")
)

func readUser() (*config.Settings, error) {
	return config.ReadUser(config.UserFile(os.Getenv), os.Getenv("HOME"), seccomp.Options)
}
