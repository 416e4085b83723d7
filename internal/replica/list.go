package replica

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/replica/place"
)

// askedAtOnce bounds the requests that [List] has under way.
const askedAtOnce = 16

// Listed is a copy below a place.
type Listed struct {
	URL  string
	Head *Head // nil if Err is not
	Err  error
}

// List finds the copies at a place and below it, in the order of their URLs. It reads their heads and no content.
func List(ctx context.Context, url string) ([]Listed, error) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // errors that count are told by this package
	u, err := place.ParseAbove(url)
	if err != nil {
		return nil, err
	}
	s, err := openURL(ctx, u)
	if err != nil {
		return nil, err
	}
	l := &lister{url: url, asked: semaphore.NewWeighted(askedAtOnce)}
	l.walk(ctx, s.own, "")
	l.all.Wait()
	slices.SortFunc(l.found, func(a, b Listed) int { return strings.Compare(a.URL, b.URL) })
	return l.found, l.err
}

// lister walks a place, many directories at once.
type lister struct {
	url   string
	asked *semaphore.Weighted
	all   sync.WaitGroup
	// looked counts directories; endless says that there were too many, which is told once.
	looked  atomic.Int64
	endless atomic.Bool
	err     error // why the place itself could not be listed; all guards it

	mu    sync.Mutex
	found []Listed // GUARDED_BY(mu)
}

// mostDeep is how deep below a place copies are looked for, and mostDirectories in how many directories: a server may invent them without end.
const mostDeep, mostDirectories = 16, 200_000

// walk looks into a directory, and below it, but for the generations of a copy.
func (l *lister) walk(ctx context.Context, o objects, dir string) {
	if strings.Count(dir, "/") >= mostDeep || l.looked.Add(1) > mostDirectories {
		url, _ := place.Below(l.url, dir)
		if !l.endless.Swap(true) {
			l.add(Listed{URL: url, Err: errors.New("there is more than is ever looked at")})
		}
		return
	}
	l.all.Go(func() {
		if l.asked.Acquire(ctx, 1) != nil {
			return
		}
		dirs, files, err := o.entries(ctx)
		if err == nil && slices.ContainsFunc(files, isHead) {
			l.head(ctx, o, dir)
			dirs = slices.DeleteFunc(dirs, isGeneration)
		}
		l.asked.Release(1)
		switch {
		case err != nil && dir == "":
			l.err = l.missing(err)
		case err != nil && !errors.Is(err, fs.ErrNotExist): // otherwise it was just removed
			url, _ := place.Below(l.url, dir)
			l.add(Listed{URL: url, Err: err})
		}
		for _, name := range dirs {
			l.walk(ctx, o.below(name), path.Join(dir, name))
		}
	})
}

// missing says what is not there, of a directory; of a bucket's path, nobody knows that.
func (l *lister) missing(err error) error {
	if u, perr := place.ParseAbove(l.url); perr == nil && u.Scheme != place.S3 && errors.Is(err, fs.ErrNotExist) {
		return cli.WithHint(fmt.Errorf("the directory %s does not exist", place.Remote(u)), "mount what belongs there, or name another one")
	}
	return err
}

// head reads that of a copy.
func (l *lister) head(ctx context.Context, o objects, dir string) {
	url, err := place.Below(l.url, dir)
	found := Listed{URL: url}
	if err == nil {
		found.Head, _, err = readHead(ctx, o)
	}
	if found.Err = err; found.Head == nil && err == nil {
		return // it was just removed
	}
	l.add(found)
}

func (l *lister) add(found Listed) {
	l.mu.Lock()
	l.found = append(l.found, found)
	l.mu.Unlock()
}

// isHead tells whether an object is a head, or in a directory one of its numbers.
func isHead(name string) bool {
	return name == headName || strings.HasPrefix(name, strings.TrimSuffix(headName, ".json")+"-") && strings.HasSuffix(name, ".json")
}
