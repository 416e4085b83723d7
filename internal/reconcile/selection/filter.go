package selection

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/reconcile/ignore"
	"github.com/riverlytech/art/internal/reconcile/settings"
)

// Patterns name what push, pull, diff and the summary leave out: those of --exclude, those in ignoreFile at
// the top of the workspace, and with --no-ignored those that git ignores files by.
//
// All of them are read on the host. What a guest writes into its own .artignore or .gitignore leaves nothing
// out until the user has pulled it: otherwise it could take its changes out of a review. How much was left
// out, and by what, is reported at the end.

// ignoreFile at the top of a workspace names, in the syntax of gitignore(5), what is left out.
const ignoreFile = ".artignore"

// maxPatterns bounds a file with patterns, in bytes.
const maxPatterns = 1 << 20

// Filter tells what is left out.
type Filter struct {
	exclude, ignored ignore.List
	git              *settings.Ignored // nil: what git ignores stays

	mu   sync.Mutex // push looks ahead while it works
	dirs map[string]string
}

// Patterns are where the patterns come from.
type Patterns struct {
	Exclude   []string
	NoIgnored bool                               // what git ignores is left out
	Workspace string                             // its path
	Open      func(rel string) (*os.File, error) // opens a file of it
}

// NewFilter reads what there is in the workspace.
func NewFilter(from Patterns) (*Filter, error) {
	list, err := from.read(ignoreFile)
	if err != nil && !errors.Is(err, unix.ENOENT) { // then nobody knows what is to be left out
		return nil, fmt.Errorf("read %s: %w", ignoreFile, hostfs.Unwrap(err))
	}
	f := &Filter{exclude: ignore.Parse(from.Exclude), ignored: list, dirs: map[string]string{".": ""}}
	if from.NoIgnored {
		f.git = settings.NewIgnored(from.Workspace, from.read)
	}
	return f, nil
}

// read reads a file with patterns.
func (p *Patterns) read(rel string) (ignore.List, error) {
	f, err := p.Open(rel)
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

// By says what leaves a path out, or nothing.
func (f *Filter) By(rel string, isDir bool) string {
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

// own says what of the patterns that are art's own leaves a path out: what is in a directory that is left
// out is, too.
func (f *Filter) own(rel string, isDir bool) string {
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
