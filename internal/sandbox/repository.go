package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/gitdir"
	"github.com/riverlytech/art/internal/paths"
	"github.com/riverlytech/art/internal/sandbox/view"
)

// A workspace whose git directory lies outside of it, as a linked worktree's does, is at its path on the host in the
// guest, and so is the git directory: git finds the one from the other by paths that are written down in both. In an
// overlay what the guest changes there goes to the database; without one it is read-only.

// findRepository looks for such a git directory, and decides where the workspace is to be: it returns the path at which
// the command starts.
func (p *prepared) findRepository(o *request, s *config.Settings, guest string, homes []string) (start string, err error) {
	real := paths.Resolve(p.plan.Workspace)
	if s.Path.Value == "home" && s.Path.Origin != config.Default {
		return guest, nil
	}
	if s.Path.Value == "host" {
		start = real
	}
	dir, err := gitdir.Find(real, homes)
	if err == nil && dir != nil {
		err = checkRepository(s, guest, real, dir)
	}
	switch {
	case err != nil:
		tell(o, "git does not find its directory in this session: %v", err)
	case dir == nil:
	case p.plan.Database != "":
		p.repository, start = dir, real
	case dir.Root.Path == real:
		p.repository, start = dir, real
		tell(o, "git commits nothing in this session, since its directory %s is outside of the workspace, and read-only: start one with --db DB for that", dir.Common.Path)
	default:
		tell(o, "git does not find its directory in this session, since %s is outside of the workspace: start one with --db DB for that", dir.Common.Path)
	}
	if start == "" {
		return guest, nil
	}
	return start, checkPath(s, guest, start)
}

// tell says what somebody should know who has not asked for quiet.
func tell(o *request, format string, args ...any) {
	if !o.Quiet {
		fmt.Fprintf(os.Stderr, "art: %s\n", cli.Printable(fmt.Sprintf(format, args...)))
	}
}

// tellUnset names the variables that --env is to pass on and nobody has set: a name may be misspelt.
func tellUnset(env []string) {
	for _, name := range env {
		if _, set := os.LookupEnv(name); !set && !strings.Contains(name, "=") {
			fmt.Fprintf(os.Stderr, "art: --env %s: there is no such variable here\n", cli.Printable(name))
		}
	}
}

// checkRepository checks that a git directory, and the tree around the workspace, can be at their paths in the guest.
func checkRepository(s *config.Settings, guest, real string, dir *gitdir.Dir) error {
	places := []config.Mount{{Guest: dir.Common.Path, Origin: filepath.Join(dir.Root.Path, ".git")}}
	if dir.Root.Path != real {
		places = append([]config.Mount{{Guest: dir.Root.Path, Origin: places[0].Origin}}, places...)
	}
	err := config.CheckGuests(places, view.Home, guest)
	if err == nil {
		err = checkPath(s, guest, real)
	}
	return err
}

// addRepository adds what belongs to the repository to the view.
func (p *prepared) addRepository() {
	dir, v := p.repository, &p.plan.View
	switch {
	case dir == nil:
	case p.plan.Database == "":
		v.Layers = []view.Mount{{Source: p.source(dir.Common.Path), Guest: dir.Common.Path, ReadOnly: true}}
	default:
		v.Layers = append(v.Layers, view.Mount{Source: p.addLayer(control.Git, dir.Common), Guest: dir.Common.Path})
		if p.within() {
			v.Layers = append(v.Layers, view.Mount{Source: p.addLayer(control.Tree, dir.Root), Guest: dir.Root.Path})
		}
	}
}

// within says whether the workspace is a directory within a repository.
func (p *prepared) within() bool {
	return p.repository != nil && p.repository.Root.Path != paths.Resolve(p.plan.Workspace)
}

// gitEnv are variables for git: the workspace is a mount of its own, which it takes for the end of the working tree.
func (p *prepared) gitEnv() []string {
	if p.within() {
		return []string{"GIT_DISCOVERY_ACROSS_FILESYSTEM=1"}
	}
	return nil
}
