package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/locate"
	"github.com/riverlytech/art/internal/paths"
	"github.com/riverlytech/art/internal/private"
	"github.com/riverlytech/art/internal/sandbox/view"
)

// see adds what is to be seen to the view, whose homes are known: each path that is hidden, and what the links on the way
// to it lead through.
func (p *prepared) see(entries []config.Entry, mounts []config.Mount, workspace string) error {
	if len(entries) == 0 {
		return nil
	}
	s := newSeeing(p.plan.View.Hides(), p.plan.View.PersonalDirs, writable(workspace, mounts))
	hidden := func(path string) string {
		i := slices.IndexFunc(p.plan.Hide, func(hidden string) bool { return paths.Within(path, hidden) })
		if i < 0 {
			return ""
		}
		return p.plan.Hide[i]
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Origin, ofTool) && hidden(paths.Resolve(e.Value)) != "" {
			continue // nobody has named it
		}
		if err := s.add(e); err != nil {
			return err
		}
	}
	for _, seen := range s.seen() {
		if slices.ContainsFunc(mounts, func(m config.Mount) bool { return paths.Within(seen.Path, m.Guest) }) {
			continue // a mount shows there what it is to show
		}
		if dir := hidden(seen.Path); dir != "" {
			return cli.WithHint(fmt.Errorf("see %s: %s is to be hidden", seen.Path, dir), "take one of the two out")
		}
		if seen.Text == "" {
			p.source(seen.Path)
		}
		p.plan.View.Seen = append(p.plan.View.Seen, seen)
	}
	return nil
}

// seeing is what has been found to be seen so far.
type seeing struct {
	hides  func(path string) bool
	homes  []string
	writes []string // directories that this session's guest may write
	state  string
	links  map[string]string // what each says
	paths  []string          // without links
}

func newSeeing(hides func(path string) bool, homes, writes []string) *seeing {
	return &seeing{hides: hides, homes: homes, writes: writes, state: config.StateDir(os.Getenv), links: map[string]string{}}
}

// writable returns the directories of the host, without links, in which a guest may have made a link: the workspace, and
// mounts that it writes.
func writable(workspace string, mounts []config.Mount) []string {
	dirs := []string{workspace}
	for _, m := range mounts {
		if m.Writes() {
			dirs = append(dirs, paths.Resolve(m.On(workspace)))
		}
	}
	return dirs
}

// noteWritten remembers for later sessions what this one's guest may write of the host. Where that cannot be, they do not know,
// which the user is told.
func (p *prepared) noteWritten(o *request, workspace string, mounts []config.Mount) {
	dirs := writable(paths.Resolve(workspace), mounts)
	if o.Database != "" {
		dirs = dirs[1:] // the workspace
	}
	for _, dir := range dirs {
		if err := config.NoteWritten(config.StateDir(os.Getenv), dir); err != nil {
			tell(o, "later sessions will not know that a guest could write %s, and follow links in it: %v", dir, cli.Reason(err))
			return
		}
	}
}

// planted returns the directory in which a link is that a guest may have made, or "".
func (s *seeing) planted(link string) string {
	for _, dir := range s.writes {
		if paths.Within(link, dir) {
			return dir
		}
	}
	return config.Written(s.state, link)
}

// add adds a path, and what it leads through.
func (s *seeing) add(e config.Entry) error {
	fail := func(err error, hint string) error {
		return cli.WithHint(fmt.Errorf("%s: see %s: %w", e.Origin, e.Value, err), hint)
	}
	if !filepath.IsAbs(e.Value) {
		return fail(errors.New("it is not an absolute path"), "")
	}
	links, real, err := locate.Hops(e.Value)
	if err != nil {
		return fail(err, "take it out, or see what is there")
	}
	for _, link := range links {
		if dir := s.planted(link.Path); dir != "" {
			return fail(fmt.Errorf("%s is a symbolic link, which a guest may have made: guests write %s", link.Path, dir),
				"if what it leads to is meant, write that path: "+real)
		}
	}
	info, err := os.Lstat(real)
	switch {
	case err != nil:
		return fail(cli.Reason(err), "")
	case !info.IsDir() && !info.Mode().IsRegular():
		return fail(errors.New("it is neither a directory nor a regular file"), "")
	case paths.Within(real, "/proc") || paths.Within(real, "/dev"):
		return fail(errors.New("the guest has its own"), "")
	}
	if !s.hides(real) && !slices.ContainsFunc(links, func(l locate.Link) bool { return s.hides(l.Path) }) {
		return nil // it is seen anyway
	}
	named := []string{filepath.Clean(e.Value)} // by any of these names it may be private
	for _, link := range links {
		named = append(named, link.Path)
	}
	if what, holds := s.private(real, named...); what != "" {
		const hint = "name what of it is needed, or mount it (\"mounts\" in man art-config), if that is meant"
		if holds {
			return fail(fmt.Errorf("it holds %s", what), hint)
		}
		return fail(fmt.Errorf("%s is nobody else's to see", what), hint)
	}
	for _, link := range links {
		if s.hides(link.Path) {
			s.links[link.Path] = link.Text
		}
	}
	if s.hides(real) {
		s.paths = append(s.paths, real)
	}
	return nil
}

// private returns what of somebody's secrets a path lies in, or holds, or is one of by another name.
func (s *seeing) private(path string, named ...string) (what string, holds bool) {
	for _, home := range s.homes {
		home = paths.Resolve(home)
		if view.System(home) {
			continue
		}
		if paths.Within(home, path) {
			return home, path != home
		}
		for _, name := range private.Names() {
			secret := filepath.Join(home, name)
			if _, err := os.Lstat(secret); err == nil && secret != path && paths.Within(secret, path) {
				return secret, true
			}
		}
	}
	if secret := private.Inside(path); secret != "" {
		return secret, true
	}
	for _, dir := range []string{"/home", "/root", "/run"} {
		if path == dir {
			return dir, false
		}
	}
	for _, at := range append([]string{path}, named...) {
		if secret := private.Login(at); secret != "" {
			return secret, false
		}
	}
	return "", false
}

// seen returns what has been found, sorted, and nothing that lies in what is shown.
func (s *seeing) seen() (list []view.Seen) {
	slices.Sort(s.paths)
	var shown []string
	within := func(path string) bool {
		return slices.ContainsFunc(shown, func(dir string) bool { return paths.Within(path, dir) })
	}
	for _, path := range s.paths {
		if !within(path) {
			shown = append(shown, path)
			list = append(list, view.Seen{Path: path})
		}
	}
	var links []view.Seen
	for path, text := range s.links {
		if !within(path) {
			links = append(links, view.Seen{Path: path, Text: text})
		}
	}
	slices.SortFunc(links, func(a, b view.Seen) int { return strings.Compare(a.Path, b.Path) })
	return append(list, links...)
}
