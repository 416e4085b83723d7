package replica

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"

	"github.com/benbjohnson/litestream"
	"github.com/superfly/ltx"
)

// A generation may go on from a file of an earlier one, its base, in place of a whole copy. Its numbers go on from there. With its base it
// is read as one.

// mostBases bounds how many generations one goes on from, one after the other: each is to be listed to bring the copy back. There is one more where
// the copy was brought back and nothing was written since.
const mostBases = 8

// generation returns Litestream's way to a generation together with all that it goes on from.
func (s *store) generation(h *Head, g Generation) (litestream.ReplicaClient, error) {
	return s.chain(h, g, mostBases+1)
}

func (s *store) chain(h *Head, g Generation, most int) (litestream.ReplicaClient, error) {
	own, err := s.client(g.dir())
	if err != nil || g.Base == "" {
		return own, err
	}
	id, last := parsePosition(g.Base)
	base, ok := h.generation(id)
	if !ok || last == 0 || most == 0 {
		return nil, &refused{headName + " there is damaged: a state that a later one goes on from is missing", "name another place; art restore --at may have an older state"}
	}
	before, err := s.chain(h, base, most-1)
	if err != nil {
		return nil, err
	}
	return &chained{ReplicaClient: own, base: before, last: last}, nil
}

// needs tells whether g goes on from another generation, or from one that does.
func (h *Head) needs(g Generation, id string) bool {
	for range mostBases + 2 {
		base, _ := parsePosition(g.Base)
		if base == id {
			return true
		}
		var ok bool
		if g, ok = h.generation(base); !ok {
			return false
		}
	}
	return false
}

// shortest returns a position as one in the generation that has written it, and not in one that has gone on from there and written nothing.
func (h *Head) shortest(at string) string {
	for range len(h.Generations) {
		id, txid := parsePosition(at)
		g, ok := h.generation(id)
		if _, base := parsePosition(g.Base); !ok || base != txid || txid == 0 {
			break
		}
		at = g.Base
	}
	return at
}

// bases counts the generations that g goes on from.
func (h *Head) bases(g Generation) (n int) {
	for ok := true; ok && g.Base != "" && n <= mostBases+1; n++ {
		id, _ := parsePosition(g.Base)
		g, ok = h.generation(id)
	}
	return n
}

// chained is Litestream's way to a generation that goes on from another one.
type chained struct {
	litestream.ReplicaClient                          // of its own files
	base                     litestream.ReplicaClient // read only
	last                     ltx.TXID                 // of the base's files

	mu     sync.Mutex
	listed map[listKey][]*ltx.FileInfo // of the base. GUARDED_BY(mu)
}

// listKey is what is asked for in a list: which level, and whether times are to be those of what files hold.
type listKey struct {
	level    int
	accurate bool
}

func (c *chained) Init(ctx context.Context) error {
	return errors.Join(c.ReplicaClient.Init(ctx), c.base.Init(ctx))
}

func (c *chained) SetLogger(l *slog.Logger) {
	c.ReplicaClient.SetLogger(l)
	c.base.SetLogger(l)
}

func (c *chained) LTXFiles(ctx context.Context, level int, seek ltx.TXID, accurate bool) (ltx.FileIterator, error) {
	var all []*ltx.FileInfo
	if seek <= c.last {
		before, err := c.before(ctx, level, accurate)
		if err != nil {
			return nil, err
		}
		for _, f := range before {
			if f.MinTXID >= seek {
				all = append(all, f)
			}
		}
	}
	own, err := collect(ctx, c.ReplicaClient, level, seek, accurate)
	for _, f := range own {
		if c.own(f) {
			all = append(all, f)
		}
	}
	return ltx.NewFileInfoSliceIterator(all), err
}

// before returns the files of the base. They are listed once. A session that was taken over may still write and merge
// there; what is behind the last one is left out.
func (c *chained) before(ctx context.Context, level int, accurate bool) ([]*ltx.FileInfo, error) {
	key := listKey{level, accurate}
	c.mu.Lock()
	files, ok := c.listed[key]
	c.mu.Unlock()
	if ok {
		return files, nil
	}
	files, err := collect(ctx, c.base, level, 0, accurate)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	files = slices.DeleteFunc(files, func(f *ltx.FileInfo) bool { return f.MaxTXID > c.last })
	if c.listed == nil {
		c.listed = map[listKey][]*ltx.FileInfo{}
	}
	c.listed[key] = files
	return files, nil
}

// collect lists the files of a level.
func collect(ctx context.Context, client litestream.ReplicaClient, level int, seek ltx.TXID, accurate bool) (all []*ltx.FileInfo, err error) {
	files, err := client.LTXFiles(ctx, level, seek, accurate)
	if err != nil {
		return nil, err
	}
	for files.Next() {
		all = append(all, files.Item())
	}
	return all, errors.Join(files.Err(), files.Close())
}

// own tells whether a file is none of the base's.
func (c *chained) own(f *ltx.FileInfo) bool { return f.MaxTXID > c.last }

func (c *chained) OpenLTXFile(ctx context.Context, level int, from, to ltx.TXID, offset, size int64) (io.ReadCloser, error) {
	if to <= c.last {
		return c.base.OpenLTXFile(ctx, level, from, to, offset, size)
	}
	return c.ReplicaClient.OpenLTXFile(ctx, level, from, to, offset, size)
}

// WriteLTXFile writes no file that the base has in parts already: it would not be found among the generation's own.
func (c *chained) WriteLTXFile(ctx context.Context, level int, from, to ltx.TXID, r io.Reader) (*ltx.FileInfo, error) {
	if to <= c.last {
		return nil, litestream.ErrNoCompaction
	}
	return c.ReplicaClient.WriteLTXFile(ctx, level, from, to, r)
}

func (c *chained) DeleteLTXFiles(ctx context.Context, files []*ltx.FileInfo) error {
	var own []*ltx.FileInfo
	for _, f := range files {
		if c.own(f) {
			own = append(own, f)
		}
	}
	if len(own) == 0 {
		return nil
	}
	return c.ReplicaClient.DeleteLTXFiles(ctx, own)
}
