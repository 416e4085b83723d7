package sync

import (
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing/format/index"
	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/sync/ignore"
)

// Patterns name what push, pull, diff and the summary leave out: those of --exclude, those in ignoreFile at
// the top of the workspace, and with --no-ignored those that git ignores files by.
//
// All of them are read on the host. What a guest writes into its own .artignore or .gitignore leaves nothing
// out until the user has pulled it: otherwise it could take its changes out of a review. How much was left
// out, and by what, is told at the end.

// ignoreFile at the top of a workspace names, in the syntax of gitignore(5), what is left out.
const ignoreFile = ".artignore"

// maxPatterns bounds a file with patterns, in bytes.
const maxPatterns = 1 << 20

// filter tells what is left out.
type filter struct {
	exclude, ignored ignore.List
	git              *gitIgnored // nil: what git ignores stays

	mu   sync.Mutex // push looks ahead while it works
	dirs map[string]string
}

func newFilter(h *host, opt *Options) (*filter, error) {
	list, err := h.patterns(ignoreFile)
	if err != nil && err != unix.ENOENT { // then nobody knows what is to be left out
		return nil, fmt.Errorf("read %s: %w", ignoreFile, unwrap(err))
	}
	f := &filter{exclude: ignore.Parse(opt.Exclude), ignored: list, dirs: map[string]string{".": ""}}
	if opt.NoIgnored {
		f.git = newGitIgnored(h, h.dir.Name())
	}
	return f, nil
}

// patterns reads a file with patterns.
func (h *host) patterns(rel string) (ignore.List, error) {
	f, err := h.openFile(rel)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxPatterns+1))
	if err == nil && len(data) > maxPatterns {
		err = unix.EFBIG
	}
	return ignore.Parse(strings.Split(string(data), "\n")), err
}

// by says what leaves a path out, or nothing.
func (f *filter) by(rel string, isDir bool) string {
	if f == nil || f.exclude == nil && f.ignored == nil && f.git == nil || rel == "." {
		return ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	why := f.own(rel, isDir)
	if why == "" && f.git != nil && f.git.ignores(rel, isDir) {
		why = "--no-ignored"
	}
	return why
}

// wants tells whether the user asked for a path: with those that were named, and without those that
// patterns leave out, which are counted.
func (p *planner) wants(a *item) bool {
	if !p.limit.has(a.path) {
		return false
	}
	by := p.filter.by(a.path, a.isDir())
	if by != "" {
		p.report.leftOut(by)
	}
	return by == ""
}

// own says what of the patterns that are art's own leaves a path out: what is in a directory that is left
// out is, too.
func (f *filter) own(rel string, isDir bool) string {
	why, known := f.dirs[rel]
	if known {
		return why
	}
	if why = f.own(path.Dir(rel), true); why == "" {
		switch v := f.exclude.Match(rel, isDir); {
		case v == ignore.Out:
			why = "--exclude"
		case v == ignore.Silent && f.ignored.Match(rel, isDir) == ignore.Out:
			why = ignoreFile
		}
	}
	if isDir {
		f.dirs[rel] = why
	}
	return why
}

// gitIgnored knows what git ignores in a workspace, which may be a part of a repository: what fits the
// patterns in .gitignore files and in info/exclude, and is not in the index. Paths are relative to the top
// of the repository.
type gitIgnored struct {
	host    *host
	top     string                 // of the repository; without one, the workspace
	prefix  string                 // of the workspace in it, or "."
	lists   map[string]ignore.List // of .gitignore files, by directory
	exclude ignore.List
	dirs    map[string]bool // directories that are ignored, or are not

	index   string
	tracked map[string]bool // files in the index, and directories that hold some; nil: it was not read yet
}

func newGitIgnored(h *host, workspace string) *gitIgnored {
	g := &gitIgnored{host: h, top: workspace, prefix: ".", lists: map[string]ignore.List{}, dirs: map[string]bool{".": false}}
	for top := workspace; ; top = filepath.Dir(top) {
		if git, common, ok := gitDirs(top); ok {
			g.top, g.index = top, filepath.Join(git, "index")
			g.prefix, _ = filepath.Rel(top, workspace)
			g.exclude = ignore.Parse(strings.Split(string(readSetting(filepath.Join(common, "info/exclude"))), "\n"))
			return g
		}
		if top == filepath.Dir(top) {
			return g // .gitignore files count all the same, as they do for other tools
		}
	}
}

// ignores tells whether git ignores a path of the workspace. It never ignores what it tracks, and its own
// directory is none of its business.
func (g *gitIgnored) ignores(rel string, isDir bool) bool {
	at := path.Join(g.prefix, rel)
	return !slices.Contains(strings.Split(rel, "/"), ".git") && g.fits(at, isDir) && !g.tracks(at)
}

// fits tells whether the patterns fit a path: the nearest file counts most, and what is in a directory that
// is ignored is ignored too.
func (g *gitIgnored) fits(at string, isDir bool) (out bool) {
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
func (g *gitIgnored) list(dir string) ignore.List {
	l, known := g.lists[dir]
	if known {
		return l
	}
	const name = ".gitignore"
	if rel, ok := below(path.Join("/", g.prefix), path.Join("/", dir)); ok {
		l, _ = g.host.patterns(join(rel, name)) // one that cannot be read, git cannot read either
	} else {
		l = ignore.Parse(strings.Split(string(readSetting(filepath.Join(g.top, dir, name))), "\n"))
	}
	g.lists[dir] = l
	return l
}

// maxIndex bounds the part of git's index that is read, in bytes: a hundred bytes and its name is a file.
const maxIndex = 512 << 20

func (g *gitIgnored) tracks(at string) bool {
	if g.tracked == nil {
		g.tracked = map[string]bool{}
		for _, e := range readIndex(g.index) {
			for name := path.Clean(e.Name); name != "." && name != "/" && !g.tracked[name]; name = path.Dir(name) {
				g.tracked[name] = true
			}
		}
	}
	return g.tracked[at]
}

// readIndex reads git's index as far as it is one.
func readIndex(file string) (entries []*index.Entry) {
	f, err := os.OpenFile(file, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	if st, err := fstat(f); err != nil || kind(st.Mode) != unix.S_IFREG {
		return nil
	}
	var idx index.Index
	defer func() {
		if recover() != nil { // a damaged one
			entries = idx.Entries
		}
	}()
	// Entries come first. What cannot be read behind them, like a checksum that git was told to skip, is
	// of no matter here.
	_ = index.NewDecoder(io.LimitReader(f, maxIndex)).Decode(&idx)
	return idx.Entries
}
