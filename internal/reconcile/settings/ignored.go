package settings

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/riverlytech/art/internal/gitdir"
	"github.com/riverlytech/art/internal/reconcile/ignore"
)

// Ignored tells what git ignores in a workspace, which may be a part of a repository: what fits the
// patterns in .gitignore files and in info/exclude, and is not in the index. Paths are relative to the top
// of the repository.
type Ignored struct {
	read    func(rel string) (ignore.List, error) // the patterns in a file of the workspace
	top     string                                // of the repository; without one, the workspace
	prefix  string                                // of the workspace in it, or "."
	lists   map[string]ignore.List                // of .gitignore files, by directory
	exclude ignore.List
	dirs    map[string]bool // directories that are ignored, or are not

	index   string
	tracked map[string]bool // files in the index, and directories that hold some; nil: it was not read yet
}

// NewIgnored tells what git ignores in a workspace, of which patterns reads files with patterns.
func NewIgnored(workspace string, patterns func(rel string) (ignore.List, error)) *Ignored {
	g := &Ignored{read: patterns, top: workspace, prefix: ".", lists: map[string]ignore.List{}, dirs: map[string]bool{".": false}}
	for top := workspace; ; top = filepath.Dir(top) {
		if git, common, ok := gitDirs(top); ok {
			g.top, g.index = top, filepath.Join(git, "index")
			g.prefix, _ = filepath.Rel(top, workspace)
			g.exclude = ignore.Parse(strings.Split(string(read(filepath.Join(common, "info/exclude"))), "\n"))
			return g
		}
		if top == filepath.Dir(top) {
			return g // .gitignore files count all the same, as they do for other tools
		}
	}
}

// Has reports whether git ignores a path of the workspace. It never ignores what it tracks, and its own
// directory is none of its business.
func (g *Ignored) Has(rel string, isDir bool) bool {
	at := path.Join(g.prefix, rel)
	return !slices.Contains(strings.Split(rel, "/"), ".git") && g.fits(at, isDir) && !g.tracks(at)
}

// fits reports whether the patterns fit a path: the nearest file counts most, and what is in a directory that
// is ignored is ignored too.
func (g *Ignored) fits(at string, isDir bool) (out bool) {
	if out, known := g.dirs[at]; known {
		return out
	}
	out = g.fits(path.Dir(at), true)
	for dir := at; !out && dir != "."; {
		dir = path.Dir(dir)
		v := g.list(dir).Match(strings.TrimPrefix(at, dir+"/"), isDir)
		if dir == "." && v == ignore.Silent {
			v = g.exclude.Match(at, isDir)
		}
		if v != ignore.Silent {
			out = v == ignore.Out
			break
		}
	}
	if isDir {
		g.dirs[at] = out
	}
	return out
}

// list returns the patterns of a directory's .gitignore.
func (g *Ignored) list(dir string) ignore.List {
	l, known := g.lists[dir]
	if known {
		return l
	}
	const name = ".gitignore"
	if rel, err := filepath.Rel(g.prefix, dir); err == nil && filepath.IsLocal(rel) {
		l, _ = g.read(path.Join(rel, name)) // one that cannot be read, git cannot read either
	} else {
		l = ignore.Parse(strings.Split(string(read(filepath.Join(g.top, dir, name))), "\n"))
	}
	g.lists[dir] = l
	return l
}

func (g *Ignored) tracks(at string) bool {
	if g.tracked == nil {
		g.tracked, _ = gitdir.Files(g.index) // of a damaged one, what could be read
	}
	return g.tracked[at]
}
