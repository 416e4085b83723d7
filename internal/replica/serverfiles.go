package replica

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"path"
	"sync"
	"time"

	"github.com/benbjohnson/litestream"
	"github.com/pkg/sftp"
	"github.com/superfly/ltx"
)

// serverFiles is Litestream's way to a directory of a server. Its own one (litestream/sftp) knows neither the user's keys nor the hosts that the user
// knows.
type serverFiles struct {
	server *server
	path   string

	made sync.Map // of directories, which are there
	left sync.Map // of files that an attempt has left which failed: the connection that would remove them may be gone
}

func (c *serverFiles) Type() string               { return "sftp" }
func (c *serverFiles) Init(context.Context) error { return nil }
func (c *serverFiles) SetLogger(*slog.Logger)     {}

func (c *serverFiles) file(level int, from, to ltx.TXID) string {
	return litestream.LTXFilePath(c.path, level, from, to)
}

// LTXFiles lists files with the times of what they hold, which WriteLTXFile gives them.
func (c *serverFiles) LTXFiles(ctx context.Context, level int, seek ltx.TXID, _ bool) (ltx.FileIterator, error) {
	entries, err := c.server.list(ctx, litestream.LTXLevelDir(c.path, level))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var files []*ltx.FileInfo
	for _, e := range entries {
		from, to, err := ltx.ParseFilename(e.Name())
		if err != nil || from < seek || !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err == nil {
			files = append(files, &ltx.FileInfo{Level: level, MinTXID: from, MaxTXID: to, Size: info.Size(), CreatedAt: info.ModTime().UTC()})
		}
	}
	return ltx.NewFileInfoSliceIterator(files), nil
}

func (c *serverFiles) OpenLTXFile(ctx context.Context, level int, from, to ltx.TXID, offset, size int64) (r io.ReadCloser, err error) {
	err = c.server.do(ctx, func(client *sftp.Client) error {
		f, err := openRegular(client, c.file(level, from, to))
		if err != nil {
			return err
		}
		if size > 0 {
			defer f.Close()
			data := make([]byte, size)
			n, err := f.ReadAt(data, offset)
			r = io.NopCloser(bytes.NewReader(data[:n]))
			if errors.Is(err, io.EOF) { // as a file that is too short is read
				err = nil
			}
			return err
		}
		if _, err := f.Seek(offset, io.SeekStart); err != nil {
			f.Close()
			return err
		}
		r = c.ahead(ctx, f)
		return nil
	})
	return r, err
}

// ahead reads a file ahead of who reads it, since each answer takes its time.
func (c *serverFiles) ahead(ctx context.Context, f *sftp.File) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		defer context.AfterFunc(ctx, func() { w.CloseWithError(context.Cause(ctx)) })() // nobody may read it any more
		err := c.server.do(ctx, func(*sftp.Client) error {
			defer f.Close()
			_, err := f.WriteTo(w)
			return err
		})
		w.CloseWithError(err) // nil: io.EOF
	}()
	return r
}

func (c *serverFiles) WriteLTXFile(ctx context.Context, level int, from, to ltx.TXID, r io.Reader) (*ltx.FileInfo, error) {
	name := c.file(level, from, to)
	info := &ltx.FileInfo{Level: level, MinTXID: from, MaxTXID: to}
	return info, c.server.do(ctx, func(client *sftp.Client) error {
		var header bytes.Buffer
		h, _, err := ltx.PeekHeader(io.TeeReader(r, &header))
		if err != nil {
			return err
		}
		if err := c.makeDirectory(client, path.Dir(name)); err != nil {
			return err
		}
		c.left.Range(func(cut, _ any) bool {
			if err := client.Remove(cut.(string)); err == nil || errors.Is(err, fs.ErrNotExist) {
				c.left.Delete(cut)
			}
			return true
		})
		made := name + "." + rand.Text() + ".tmp" // what is late of an earlier attempt finds another one
		err = create(client, made, func(f *sftp.File) (err error) {
			info.Size, err = f.ReadFromWithConcurrency(io.MultiReader(&header, r), atOnce)
			return err
		})
		// Times are in seconds there. The next one, lest a state be taken for one of a time before it.
		info.CreatedAt = time.Unix((h.Timestamp+999)/1000, 0).UTC()
		if err == nil {
			err = client.Chtimes(made, info.CreatedAt, info.CreatedAt)
		}
		if err == nil {
			err = replaceThere(client, made, name)
		}
		if err != nil {
			c.made.Delete(path.Dir(name)) // it may be gone
			c.left.Store(made, true)
		}
		return err
	})
}

// replaceThere has a file take the place of another one: an attempt at it, whose answer was lost.
func replaceThere(client *sftp.Client, made, name string) error {
	if _, can := client.HasExtension("posix-rename@openssh.com"); can {
		return client.PosixRename(made, name)
	}
	_ = client.Remove(name)
	return client.Rename(made, name)
}

// makeDirectory makes a directory below that of the generation, which is its owner's alone.
func (c *serverFiles) makeDirectory(client *sftp.Client, dir string) error {
	if _, there := c.made.Load(dir); there {
		return nil
	}
	err := makeDirectory(client, c.path)
	if err == nil {
		err = client.MkdirAll(dir)
	}
	if err == nil {
		c.made.Store(dir, true)
	}
	return err
}

func (c *serverFiles) DeleteLTXFiles(ctx context.Context, files []*ltx.FileInfo) error {
	return c.server.do(ctx, func(client *sftp.Client) error {
		for _, f := range files {
			if err := client.Remove(c.file(f.Level, f.MinTXID, f.MaxTXID)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	})
}

func (c *serverFiles) DeleteAll(ctx context.Context) error {
	return c.server.do(ctx, func(client *sftp.Client) error {
		if err := client.RemoveAll(c.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}
