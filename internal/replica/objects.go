package replica

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"path/filepath"
	"time"

	"github.com/benbjohnson/litestream"
	"github.com/benbjohnson/litestream/file"
	"github.com/superfly/ltx"

	"github.com/riverlytech/art/internal/replica/place"
)

// objects are the small ones at a place that are art's own, beside Litestream's. Each has a tag, which is another one after each change.
type objects interface {
	// get returns one, and its tag. The error is fs.ErrNotExist if there is none.
	get(ctx context.Context, name string) (data []byte, tag string, err error)
	// swap writes one in the place of that with a tag, or, with none, where there is none. It returns the new tag. The error is
	// fs.ErrExist if another one is there, also where two swap it at once, and fs.ErrNotExist if the one with the tag is gone. After any
	// other error it may have been written, or be written later: but only in the place of that one.
	swap(ctx context.Context, name string, data []byte, tag string) (next string, err error)
	// entries returns what is there, and below returns the objects of a directory of that.
	entries(ctx context.Context) (dirs, files []string, err error)
	below(dir string) objects
}

// answerTime bounds how long an answer that is short is waited for.
const answerTime = 30 * time.Second

// maxObject bounds what is read of one, in bytes.
const maxObject = 256 << 10

// readObject reads one.
func readObject(name string, r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxObject+1))
	if err == nil && len(data) > maxObject {
		err = damaged(name)
	}
	return data, err
}

// damaged says that an object has not what art writes.
func damaged(name string) error {
	return &refused{name + " there is damaged", "name another place, or remove what is there"}
}

// store is a place.
type store struct {
	own objects
	// client returns Litestream's way to a directory below the place; "" is the place itself.
	client func(dir string) (litestream.ReplicaClient, error)
}

// open returns a place.
func open(ctx context.Context, text string) (*store, error) {
	u, err := place.Parse(text)
	if err != nil {
		return nil, err
	}
	return openURL(ctx, u)
}

func openURL(ctx context.Context, u *url.URL) (s *store, err error) {
	switch u.Scheme {
	case place.File:
		s = &store{directory{local{}, u.Path}, func(dir string) (litestream.ReplicaClient, error) {
			return files{file.NewReplicaClient(filepath.Join(u.Path, dir))}, nil
		}}
	case place.SFTP:
		s, err = openServer(u)
	default:
		s, err = openBucket(ctx, u)
	}
	if err != nil {
		return nil, err
	}
	client := s.client
	s.client = func(dir string) (litestream.ReplicaClient, error) {
		c, err := client(dir)
		if err != nil {
			return nil, err
		}
		return guard(c), nil
	}
	return s, nil
}

// last is the number of the last file that Litestream has put into a directory; 0: there is none. Of an empty directory, as each new session's
// place is, it asks once, and not for each level: with many sessions that begin, a store has these requests to answer before all others.
func (s *store) last(ctx context.Context, dir string) (last ltx.TXID, err error) {
	switch dirs, _, err := s.own.below(dir).entries(ctx); {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(dirs) == 0:
		return 0, nil
	case err != nil:
		return 0, err
	}
	client, err := s.client(dir)
	if err != nil {
		return 0, err
	}
	files, err := list(ctx, client, false)
	if err != nil {
		return 0, explain(err)
	}
	return files.last(), nil
}
