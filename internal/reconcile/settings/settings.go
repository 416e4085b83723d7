// Package settings finds out what the host's own settings say of a workspace: what they name in it, so that the host
// runs or reads it by itself, and what git ignores in it.
package settings

import (
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/reconcile/held"
)

// Settings find out what the host's own settings name in a workspace (package held): git's configuration, the hooks
// that are installed, what sets up shells, and links of the user's in places that the host runs what is in. They are
// read once a run, those of a directory when something in it is to change. What cannot be read says nothing: the
// program that it is for cannot read it either.
type Settings struct {
	top   string // the workspace
	known bool
	Homes []string // the caller's, and the owner's of the workspace
	names *held.Names
	seen  map[string]bool // files of git's configuration, and directories
}

// New returns what the settings say of the workspace at a path.
func New(workspace string) *Settings {
	homes := homesOf(workspace)
	return &Settings{top: workspace, Homes: homes, names: held.NewNames(workspace, homes, resolve), seen: map[string]bool{}}
}

// homesOf returns the caller's home, and that of the workspace's owner: root may pull for another one, who
// works in it afterwards.
func homesOf(workspace string) (homes []string) {
	if home, err := os.UserHomeDir(); err == nil {
		homes = append(homes, home)
	}
	var st unix.Stat_t
	if unix.Stat(workspace, &st) == nil && int(st.Uid) != os.Geteuid() {
		if owner, err := user.LookupId(strconv.FormatUint(uint64(st.Uid), 10)); err == nil && filepath.IsAbs(owner.HomeDir) {
			homes = append(homes, owner.HomeDir)
		}
	}
	return homes
}

// Why says why a path is held back, or nothing.
func (s *Settings) Why(rel string, isDir bool) string {
	if !s.known {
		s.known = true
		s.readAll()
	}
	for dir := filepath.Dir(rel); dir != "."; dir = filepath.Dir(dir) {
		if s.seen[dir] {
			break // and so are those above
		}
		s.seen[dir] = true
		s.directory(filepath.Join(s.top, dir))
	}
	return s.names.Why(rel, isDir)
}

// readAll reads what there is but for directories in the workspace.
func (s *Settings) readAll() {
	for _, file := range s.global() {
		s.git(file, "")
	}
	for dir := s.top; ; dir = filepath.Dir(dir) { // it may be a part of a repository
		s.directory(dir)
		if dir == filepath.Dir(dir) {
			break
		}
	}
	s.links()
	for _, place := range config.UserPlaces(os.Getenv) {
		s.names.Add(place, "art takes the user's settings from it", true)
	}
}

// global returns the files of git's configuration that are for all repositories (git-config(1), FILES).
func (s *Settings) global() []string {
	list := []string{"/etc/gitconfig", filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "git/config"), os.Getenv("GIT_CONFIG_SYSTEM"), os.Getenv("GIT_CONFIG_GLOBAL")}
	for _, home := range s.Homes {
		list = append(list, filepath.Join(home, ".config/git/config"), filepath.Join(home, ".gitconfig"))
	}
	return list
}

// git reads a file of git's configuration, and those that it includes.
func (s *Settings) git(file, top string) (hooks []string) {
	if s.seen[file] || !filepath.IsAbs(file) {
		return nil
	}
	s.seen[file] = true
	data := read(file)
	for _, included := range s.names.AddGit(data, file, top) {
		hooks = append(hooks, s.git(included, top)...)
	}
	return append(hooks, held.HooksPath(data)...)
}

// directory reads what a directory of the host has: the configuration of its repository, and what sets up
// shells there.
func (s *Settings) directory(dir string) {
	if _, err := os.Stat(dir); err != nil {
		return
	}
	for _, name := range held.Environments {
		file := filepath.Join(dir, name)
		if data := read(file); data != nil {
			s.names.AddEnvironment(data, file)
		}
	}
	git, common, ok := gitDirs(dir)
	if !ok {
		return
	}
	hooks := append(s.git(filepath.Join(common, "config"), dir), s.git(filepath.Join(git, "config.worktree"), dir)...)
	s.hooks(filepath.Join(common, "hooks"), dir)
	for _, at := range hooks {
		places := []string{absolute(dir, at)}
		if rest, ok := strings.CutPrefix(at, "~/"); ok {
			places = nil
			for _, home := range s.Homes {
				places = append(places, filepath.Join(home, rest))
			}
		}
		for _, place := range places {
			s.hooks(place, dir)
			if filepath.Base(place) == "_" { // husky's, which call those beside
				s.hooks(filepath.Dir(place), dir)
			}
		}
	}
}

// gitDirs finds the directory of the repository whose working tree a directory is, and the one that it
// shares with its other working trees.
func gitDirs(dir string) (git, common string, ok bool) {
	git = filepath.Join(dir, ".git")
	if _, err := os.Stat(git); err != nil {
		return "", "", false
	}
	if at, ok := strings.CutPrefix(string(read(git)), "gitdir: "); ok { // a worktree, or a submodule
		git = absolute(dir, strings.TrimSpace(at))
	}
	if at := read(filepath.Join(git, "commondir")); at != nil {
		return git, absolute(git, strings.TrimSpace(string(at))), true
	}
	return git, git, true
}

func absolute(dir, at string) string {
	if filepath.IsAbs(at) {
		return filepath.Clean(at)
	}
	return filepath.Join(dir, at)
}

// hooks reads the hooks in a directory, which git runs in top.
func (s *Settings) hooks(dir, top string) {
	entries, err := os.ReadDir(dir)
	if err != nil || dir == top {
		return
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".sample") {
			continue
		}
		file := filepath.Join(dir, e.Name())
		const why = "a hook of the host names it"
		if e.Type()&os.ModeSymlink != 0 {
			s.names.Add(file, "a hook of the host leads to it", true)
		}
		if data := read(file); data != nil {
			s.names.AddScript(data, top, why)
			s.names.AddScript(data, dir, why)
		}
	}
}

// links finds symbolic links at the top of the workspace in places that the host runs what is in.
func (s *Settings) links() {
	const why = "a link of the host leads to it, from where it runs by itself"
	entries, err := os.ReadDir(s.top)
	if err != nil {
		return
	}
	there := map[string]bool{}
	for _, e := range entries {
		there[e.Name()] = true
	}
	for _, rel := range held.Places() {
		at := ""
		for name := range strings.SplitSeq(rel, "/") {
			if at == "" && !there[name] {
				break
			}
			at = filepath.Join(at, name)
			info, err := os.Lstat(filepath.Join(s.top, at))
			if err != nil {
				break
			}
			if info.Mode()&os.ModeSymlink != 0 {
				s.names.Add(filepath.Join(s.top, rel), why, true)
				break
			}
			if at != rel || !info.IsDir() {
				continue
			}
			entries, _ := os.ReadDir(filepath.Join(s.top, rel))
			for _, e := range entries {
				if e.Type()&os.ModeSymlink != 0 {
					s.names.Add(filepath.Join(s.top, rel, e.Name()), why, true)
				}
			}
		}
	}
}

// resolve follows symbolic links, also one that leads to what is not there yet.
func resolve(at string) (string, error) {
	for range 40 {
		real, err := filepath.EvalSymlinks(at)
		if err == nil {
			return real, nil
		}
		dir, err := filepath.EvalSymlinks(filepath.Dir(at))
		if err != nil {
			return filepath.Clean(at), nil
		}
		at = filepath.Join(dir, filepath.Base(at))
		target, err := os.Readlink(at)
		if err != nil {
			return at, nil
		}
		at = absolute(dir, target)
	}
	return "", unix.ELOOP
}

// read reads a file of the host's that settings are in, if it is a regular one and no larger than such
// files are.
func read(file string) []byte {
	f, err := os.OpenFile(file, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(f, held.Limit))
	if err != nil {
		return nil
	}
	return data
}

// Own returns the paths below the workspace where the user's settings of art are,
// and the links that lead there.
func Own(workspace string) map[string]bool {
	paths := map[string]bool{}
	real, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		real = workspace
	}
	for _, place := range config.UserPlaces(os.Getenv) {
		for _, top := range []string{workspace, real} {
			if rel, err := filepath.Rel(top, place); err == nil && filepath.IsLocal(rel) {
				paths[rel] = true
			}
		}
	}
	return paths
}
