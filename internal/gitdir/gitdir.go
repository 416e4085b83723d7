// Package gitdir finds the git directory of a workspace where that lies outside: of a linked worktree, of a
// submodule, or of a directory within a repository. What names it lies in the workspace, and may be a guest's: so
// nothing is taken for a workspace's git directory that does not itself say so.
package gitdir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/paths"
)

// Dir is a git directory outside of the workspace that uses it. Its paths are absolute and without symbolic links.
type Dir struct {
	// Common is the directory with the objects and references, where git in the workspace looks for it.
	Common Place
	// Own is the directory with HEAD and the index: Common, or in it.
	Own string
	// Root is where the working tree begins: the workspace, or a directory above it.
	Root Place
}

// Place is a directory, and which one it was when it was looked at.
type Place struct {
	Path     string
	Dev, Ino uint64
}

// Index is the path of the index.
func (d *Dir) Index() string { return filepath.Join(d.Own, "index") }

// Find returns the git directory of the workspace at an absolute path without symbolic links, or nil if it has none
// or that lies in it. What lies above one of the directories homes is nobody's repository but its owner's. An error
// says why what is named as the git directory is not taken for it.
func Find(workspace string, homes []string) (*Dir, error) {
	root := workspace
	info, err := os.Lstat(filepath.Join(root, ".git"))
	for err != nil {
		if root == filepath.Dir(root) {
			return nil, nil
		}
		root = filepath.Dir(root)
		info, err = os.Lstat(filepath.Join(root, ".git"))
	}
	d := &Dir{Root: Place{Path: root}}
	git := filepath.Join(root, ".git")
	switch {
	case info.Mode().IsRegular():
		err = d.follow(git)
	case info.IsDir() && root != workspace:
		d.Own, d.Common.Path = git, git
	default:
		return nil, nil
	}
	if err == nil && (paths.Within(d.Common.Path, workspace) || above(root, d.Common.Path, homes)) {
		return nil, nil
	}
	if err == nil {
		err = d.check(workspace)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", git, err)
	}
	if root == workspace {
		return d, nil
	}
	rel, err := filepath.Rel(root, workspace)
	if err != nil || !sameDevice(root, workspace) {
		return nil, nil
	}
	files, err := Files(d.Index())
	switch {
	case errors.Is(err, errSplit):
		return nil, fmt.Errorf("%s: %w", git, err)
	case err != nil || !files[rel]:
		return nil, nil // a directory that is merely within another's working tree
	}
	return d, nil
}

// above says whether a home lies in the working tree or in the git directory.
func above(root, common string, homes []string) bool {
	for _, home := range homes {
		if paths.Within(home, root) || paths.Within(home, common) {
			return true
		}
	}
	return false
}

// follow finds what the file .git of a linked worktree or a submodule names (gitrepository-layout(5)), if that says
// itself that it belongs there.
func (d *Dir) follow(git string) error {
	own, err := named(git)
	if err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(own); err != nil || real != own {
		return fmt.Errorf("the directory that it names, %q, is not there, or there is a symbolic link on the way", own)
	}
	d.Own, d.Common.Path = own, own
	common, err := line(filepath.Join(own, "commondir"))
	if errors.Is(err, os.ErrNotExist) {
		return d.followSubmodule()
	}
	if err != nil {
		return err
	}
	// git worktree add makes it .git/worktrees/NAME, with the way back in its file gitdir.
	d.Common.Path = filepath.Dir(filepath.Dir(own))
	if filepath.Base(filepath.Dir(own)) != "worktrees" || absolute(own, common) != d.Common.Path {
		return fmt.Errorf("%q, which it names, is not in the directory worktrees of its repository", own)
	}
	back, err := line(filepath.Join(own, "gitdir"))
	if err != nil {
		return err
	}
	if !same(absolute(own, back), git) {
		return fmt.Errorf("%q, which it names, belongs to %q", own, back)
	}
	return nil
}

// followSubmodule looks for the way back in the configuration (git-submodule(1): core.worktree).
func (d *Dir) followSubmodule() error {
	text, err := read(filepath.Join(d.Own, "config"))
	if err != nil {
		return err
	}
	back := worktree(text)
	if back == "" || !same(absolute(d.Own, back), d.Root.Path) {
		return fmt.Errorf("%q, which it names, does not say that it belongs there", d.Own)
	}
	return nil
}

// worktree returns core.worktree as git itself writes it, of a configuration.
func worktree(text string) (value string) {
	core := false
	for each := range strings.Lines(text) {
		each = strings.TrimSpace(each)
		if strings.HasPrefix(each, "[") {
			core = strings.EqualFold(each, "[core]")
		}
		name, rest, ok := strings.Cut(each, "=")
		if core && ok && strings.EqualFold(strings.TrimSpace(name), "worktree") {
			value = strings.TrimSpace(rest)
		}
	}
	if strings.ContainsAny(value, `"\#;`) {
		return ""
	}
	return value
}

// check looks whether these are what git takes for a git directory, and the caller's own.
func (d *Dir) check(workspace string) error {
	owner, err := lstat(workspace)
	if err != nil {
		return err
	}
	common := d.Common.Path
	for _, dir := range []string{d.Root.Path, d.Own, common, filepath.Join(common, "objects"), filepath.Join(common, "refs")} {
		st, err := lstat(dir)
		if err != nil {
			return fmt.Errorf("%q is no git directory: %w", common, err)
		}
		if st.Mode&unix.S_IFMT != unix.S_IFDIR {
			return fmt.Errorf("%q is no git directory: %q is not a directory", common, dir)
		}
		if st.Uid != uint32(os.Geteuid()) && (os.Geteuid() != 0 || st.Uid != owner.Uid) {
			return fmt.Errorf("%q belongs to another user", dir)
		}
		for _, p := range []*Place{&d.Root, &d.Common} {
			if p.Path == dir {
				p.Dev, p.Ino = st.Dev, st.Ino
			}
		}
	}
	if head, err := line(filepath.Join(d.Own, "HEAD")); err != nil || head == "" {
		return fmt.Errorf("%q is no git directory: it has no HEAD", d.Own)
	}
	return nil
}

// named returns the directory that a file .git names.
func named(file string) (string, error) {
	text, err := line(file)
	if err != nil {
		return "", err
	}
	dir, ok := strings.CutPrefix(text, "gitdir: ")
	if !ok {
		return "", errors.New("it does not name a git directory")
	}
	return absolute(filepath.Dir(file), dir), nil
}

// absolute returns a path that may be relative to a directory.
func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// same says whether two paths lead to one place, the first through links.
func same(path, real string) bool {
	at, err := filepath.EvalSymlinks(path)
	return err == nil && at == real
}

func sameDevice(a, b string) bool {
	first, err := lstat(a)
	if err != nil {
		return false
	}
	second, err := lstat(b)
	return err == nil && first.Dev == second.Dev
}

func lstat(path string) (*unix.Stat_t, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return nil, err
	}
	return &st, nil
}

// line reads a file of one line.
func line(file string) (string, error) {
	text, err := read(file)
	text = strings.TrimRight(text, "\r\n")
	if err == nil && (len(text) >= unix.PathMax || strings.ContainsAny(text, "\n\x00")) {
		err = errors.New("it is damaged")
	}
	return text, err
}

// read reads a small regular file.
func read(file string) (string, error) {
	const most = 1 << 20
	f, err := os.OpenFile(file, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > most {
		return "", &os.PathError{Op: "read", Path: file, Err: unix.EINVAL}
	}
	text, err := io.ReadAll(io.LimitReader(f, most))
	return string(text), err
}
