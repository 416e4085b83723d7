package reconcile

import (
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"

	"github.com/riverlytech/art/internal/git"
	"github.com/riverlytech/art/internal/quote"
)

// gitDir returns the git directory that a path is in, and the path in there: the innermost directory that is called .git,
// or that is one on the host, as those of submodules and bare repositories are. What is git's own in one is no other.
func (p *planner) gitDir(rel string) (dir, in string) {
	up, name := parent(rel)
	if dir = p.gitDirOver(up); dir != "" {
		in = strings.TrimPrefix(rel, dir+"/")
	}
	if name == ".git" && !git.Owns(in) {
		return rel, ""
	}
	return dir, in
}

// gitDirOver returns the git directory that a directory is, or is in.
func (p *planner) gitDirOver(at string) (dir string) {
	if at == "." {
		return ""
	}
	dir, ok := p.gitDirs[at]
	if ok {
		return dir
	}
	dir, in := p.gitDir(at)
	if (dir == "" || in != "" && !git.Owns(in)) && p.isOther(at, dir != "") {
		dir = at
	}
	if p.gitDirs == nil {
		p.gitDirs = map[string]string{}
	}
	p.gitDirs[at] = dir
	return dir
}

// isOther reports whether a directory of the host that is not called .git is a git directory, by its configuration too.
// Others that look like one are files: of a project, as those that programs for git are tested with, or of a repository
// that is new and whose configuration was held back.
func (p *planner) isOther(dir string, within bool) bool {
	if !p.isRepo(dir) {
		return false
	}
	bare, top, err := p.worktree(dir)
	return err == nil && (within || bare || top != "")
}

// worktree returns what the host's configuration says of what is checked out from a git directory.
func (p *planner) worktree(dir string) (bare bool, top string, err error) {
	f, err := p.host.openFile(join(dir, "config"))
	if err != nil {
		return false, "", err
	}
	defer f.Close()
	bare, top = git.Worktree(f)
	return bare, top, nil
}

// isRepo reports whether a directory of the host is a git directory (gitrepository-layout(5)).
func (p *planner) isRepo(dir string) bool {
	for _, part := range []string{"HEAD", "objects", "refs"} {
		if _, err := p.host.stat(join(dir, part)); err != nil {
			return false
		}
	}
	return true
}

// checkedOut returns the directory with what is checked out from a git directory; "" is none. As git itself, it takes
// another one than that which .git lies in only where each of the two leads to the other (git-submodule(1)).
func (p *planner) checkedOut(dir string) (top string, err error) {
	up, name := parent(dir)
	bare, at, _ := p.worktree(dir)
	switch {
	case at == "" && name == ".git":
		return up, nil
	case at == "" && bare:
		return "", nil
	case at == "":
		return "", errors.New("the host's configuration does not say where its working tree is")
	}
	if top, err = p.below(dir, at); err != nil {
		return "", fmt.Errorf("its working tree, %s, is outside of the workspace", quote.Name(at, true))
	}
	if name == ".git" {
		return top, nil
	}
	f, err := p.host.openFile(join(top, ".git"))
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxPath))
	back, _ := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ")
	if back, berr := p.below(top, back); err != nil || berr != nil || back != dir {
		return "", fmt.Errorf("its working tree, %s, belongs to another repository", quote.Name(top, true))
	}
	return top, nil
}

// below returns the path below the workspace that a path means which the host names in a directory.
func (p *planner) below(dir, at string) (rel string, err error) {
	if path.IsAbs(at) {
		rel, err = filepath.Rel(p.host.dir.Name(), at)
	} else {
		rel = path.Join(dir, at)
	}
	if err == nil && !filepath.IsLocal(rel) {
		err = errors.New("it is outside of the workspace")
	}
	return rel, err
}
