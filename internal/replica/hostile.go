package replica

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/benbjohnson/litestream"
	"github.com/benbjohnson/litestream/file"
	"github.com/superfly/ltx"
	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
)

// What is at a place may be anything that somebody has put there: no file but a pipe, or one of a hundred gigabytes, which a decoder takes into memory.

// errNoFile is what opening something else ends in.
var errNoFile = &refused{"something there is no regular file", "remove it, or name another place"}

// openFile opens a file of a directory for copies.
func openFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENXIO) {
		return nil, errNoFile
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNoFile
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// files is Litestream's way to a directory.
type files struct{ *file.ReplicaClient }

func (c files) OpenLTXFile(_ context.Context, level int, from, to ltx.TXID, offset, size int64) (io.ReadCloser, error) {
	f, err := openFile(filepath.Clean(c.LTXFilePath(level, from, to)))
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		f.Close()
		return nil, cli.Reason(err)
	}
	if size > 0 {
		return struct {
			io.Reader
			io.Closer
		}{io.LimitReader(f, size), f}, nil
	}
	return f, nil
}

// guarded is Litestream's way to a generation where the reading of a file ends with its context, and with the bounds of its form.
type guarded struct {
	litestream.ReplicaClient

	mu  sync.Mutex
	all map[guardedFile]*frames // of files that are being read. GUARDED_BY(mu)
}

type guardedFile struct {
	level    int
	from, to ltx.TXID
}

func guard(c litestream.ReplicaClient) litestream.ReplicaClient {
	return &guarded{ReplicaClient: c, all: map[guardedFile]*frames{}}
}

func (c *guarded) SetLogger(l *slog.Logger) { c.ReplicaClient.SetLogger(l) }

func (c *guarded) OpenLTXFile(ctx context.Context, level int, from, to ltx.TXID, offset, size int64) (io.ReadCloser, error) {
	var seen *frames // a part is as long as was asked for
	if size == 0 {
		var err error
		if seen, err = c.framesAt(guardedFile{level, from, to}, offset); err != nil {
			return nil, err
		}
	}
	r, err := c.ReplicaClient.OpenLTXFile(ctx, level, from, to, offset, size)
	if err != nil {
		return nil, err
	}
	return &guardedReader{ReadCloser: r, ctx: ctx, frames: seen}, nil
}

// framesAt returns how far a file was looked at, which has to be to an offset: a connection that was lost is made anew there.
func (c *guarded) framesAt(f guardedFile, offset int64) (*frames, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if offset == 0 {
		c.all[f] = &frames{want: ltx.HeaderSize}
	}
	switch seen := c.all[f]; {
	case seen != nil && seen.err != nil:
		return nil, seen.err
	case seen == nil || seen.offset != offset:
		return nil, errors.New("it is read from the middle on")
	default:
		return seen, nil
	}
}

type guardedReader struct {
	io.ReadCloser
	ctx    context.Context
	frames *frames // or nil
}

func (r *guardedReader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	n, err := r.ReadCloser.Read(p)
	if r.frames != nil {
		if bad := r.frames.look(p[:n]); bad != nil {
			return 0, bad
		}
	}
	return n, err
}

// errFrames is what a file ends in that has not the form of Litestream's.
var errFrames = errors.New("it is no file of Litestream's")

// indexEntry is the most that a page takes in the index behind the pages: three numbers. indexEnd is what follows the index.
const indexEntry, indexEnd = 3 * binary.MaxVarintLen64, 1 + 8 + ltx.TrailerSize

// frames follows the form of a file as far as it says how long its parts are (superfly/ltx, Decoder): a header, pages, each with the size of what it is
// compressed to, an empty one, and their index.
type frames struct {
	offset   int64
	part     []byte // of the header, or of one of a page
	want     int    // so long will that be
	skip     int64  // bytes of a page
	pageSize int64  // 0: the header was not read
	pages    int64
	sized    bool // the size of a page comes next
	ended    bool // the pages have; skip is the most that may follow
	err      error
}

// look looks at the next bytes.
func (f *frames) look(p []byte) error {
	for f.offset += int64(len(p)); len(p) > 0 && f.err == nil; {
		if f.skip > 0 {
			n := min(f.skip, int64(len(p)))
			f.skip -= n
			p = p[n:]
			continue
		}
		if f.ended {
			f.err = errFrames
			break
		}
		n := min(f.want-len(f.part), len(p))
		f.part, p = append(f.part, p[:n]...), p[n:]
		if len(f.part) == f.want {
			f.err = f.next(f.part)
			f.part = f.part[:0]
		}
	}
	return f.err
}

// next takes a part that is whole.
func (f *frames) next(part []byte) error {
	switch {
	case f.pageSize == 0:
		var h ltx.Header
		if err := h.UnmarshalBinary(part); err != nil || !ltx.IsValidPageSize(h.PageSize) {
			return errFrames
		}
		f.pageSize, f.want = int64(h.PageSize), ltx.PageHeaderSize
	case f.sized:
		f.skip = int64(binary.BigEndian.Uint32(part))
		if f.skip > f.pageSize+f.pageSize/255+16 { // the most that LZ4 makes of it
			return errFrames
		}
		f.sized, f.want = false, ltx.PageHeaderSize
	default:
		var h ltx.PageHeader
		if err := h.UnmarshalBinary(part); err != nil {
			return errFrames
		}
		if h.IsZero() {
			f.ended, f.skip = true, f.pages*indexEntry+indexEnd
			return nil
		}
		if h.Flags&ltx.PageHeaderFlagSize == 0 {
			return errFrames
		}
		f.pages++
		f.sized, f.want = true, 4
	}
	return nil
}
