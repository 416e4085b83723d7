package sync

import (
	"fmt"
	"io"
	"path"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostdir"
	"github.com/riverlytech/art/internal/sync/ignore"
	"github.com/riverlytech/art/internal/sync/settings"
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
	git              *settings.Ignored // nil: what git ignores stays

	mu   sync.Mutex // push looks ahead while it works
	dirs map[string]string
}

func newFilter(h *host, opt *Options) (*filter, error) {
	list, err := h.patterns(ignoreFile)
	if err != nil && err != unix.ENOENT { // then nobody knows what is to be left out
		return nil, fmt.Errorf("read %s: %w", ignoreFile, hostdir.Unwrap(err))
	}
	f := &filter{exclude: ignore.Parse(opt.Exclude), ignored: list, dirs: map[string]string{".": ""}}
	if opt.NoIgnored {
		f.git = settings.NewIgnored(h.dir.Name(), h.patterns)
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
	if why == "" && f.git != nil && f.git.Has(rel, isDir) {
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
