package replica

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync/atomic"
	"time"

	"github.com/benbjohnson/litestream"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/superfly/ltx"
)

const (
	// partSize is what a file of Litestream's is read in, in bytes: a page and its neighbours. It costs a store no more than the page alone.
	partSize = 16 << 10
	// partsAhead is how many parts one request asks for at most, where a file is read in order.
	partsAhead = 64
	// partsGap is how many parts one that is in order may leave out, since what they have is needed later, or was earlier.
	partsGap = 4
	// partsKept is how many parts stay in memory.
	partsKept = 1024
	// partTime bounds an attempt at a request, and partTries the attempts.
	partTime, partTries = 30 * time.Second, 3
)

// parts reads files of Litestream's in parts, and keeps those that were read last. Several goroutines may read different files.
type parts struct {
	client litestream.ReplicaClient
	kept   *lru.Cache[partKey, []byte]
	// bytes and requests are what all reading has taken.
	bytes, requests atomic.Uint64
}

type partKey struct {
	level    int
	min, max ltx.TXID
	number   int64
}

// partFile is a file that is read in parts.
type partFile struct {
	*ltx.FileInfo
	// next is the part behind those that were fetched last in order, and ahead how many those were. A request for others between them, as of where
	// content is, does not end that; other is the part behind these, from which on another order may begin.
	next, ahead, other int64
}

func newParts(client litestream.ReplicaClient) (*parts, error) {
	kept, err := lru.New[partKey, []byte](partsKept)
	return &parts{client: client, kept: kept}, err
}

// errShort says that a file is not as long as the place has said.
var errShort = fmt.Errorf("%w: a file ends too early", errCopyDamaged)

// read reads what is at an offset of a file.
func (p *parts) read(ctx context.Context, f *partFile, data []byte, off int64) error {
	if off < 0 || off > f.Size-int64(len(data)) {
		return errShort
	}
	last := (off + int64(len(data)) - 1) / partSize
	for len(data) > 0 {
		number := off / partSize
		part, ok := p.kept.Get(f.key(number))
		if !ok {
			var err error
			if part, err = p.fetch(ctx, f, number, last); err != nil {
				return err
			}
		}
		n := copy(data, part[min(off-number*partSize, int64(len(part))):])
		if n == 0 {
			return errShort
		}
		data, off = data[n:], off+int64(n)
	}
	return nil
}

func (f *partFile) key(number int64) partKey { return partKey{f.Level, f.MinTXID, f.MaxTXID, number} }

// fetch gets a part and those up to another one, with more behind them where the file is read in order, and returns the first.
func (p *parts) fetch(ctx context.Context, f *partFile, first, last int64) ([]byte, error) {
	ahead := last - first + 1
	follows := func(end int64) bool { return end > 0 && first >= end && first <= end+partsGap }
	inOrder := follows(f.next)
	if inOrder {
		ahead = max(ahead, 2*f.ahead)
	}
	inOrder = inOrder || follows(f.other)
	ahead = min(ahead, partsAhead)
	for n := int64(1); n < ahead; n++ {
		if p.kept.Contains(f.key(first + n)) {
			ahead = n
		}
	}
	off := first * partSize
	data, err := p.request(ctx, f, off, min(ahead*partSize, f.Size-off))
	if err != nil {
		return nil, err
	}
	if inOrder {
		f.next, f.ahead = first+ahead, ahead
	} else {
		f.other = first + ahead
	}
	part := data[:min(partSize, len(data))]
	for number := first; len(data) > 0; number++ {
		n := min(partSize, len(data))
		p.kept.Add(f.key(number), bytes.Clone(data[:n])) // what is kept of a request is not all of it
		data = data[n:]
	}
	return part, nil
}

// request reads a range of a file. What a store refuses, and what is not there any more, is not asked for again.
func (p *parts) request(ctx context.Context, f *partFile, off, size int64) (data []byte, err error) {
	for try := range partTries {
		if data, err = p.attempt(ctx, f, off, size); err == nil {
			return data, nil
		}
		err = explain(err)
		if errors.Is(err, fs.ErrNotExist) || errors.As(err, new(*refused)) || errors.Is(err, errShort) || ctx.Err() != nil {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(look << try):
		}
	}
	return nil, err
}

// attempt is request once. It does not wait for a file server that hangs.
func (p *parts) attempt(ctx context.Context, f *partFile, off, size int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, partTime)
	defer cancel()
	p.requests.Add(1)
	type answer struct {
		data []byte
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		r, err := p.client.OpenLTXFile(ctx, f.Level, f.MinTXID, f.MaxTXID, off, size)
		if err != nil {
			done <- answer{nil, err}
			return
		}
		defer r.Close()
		data := make([]byte, size)
		n, err := io.ReadFull(r, data)
		p.bytes.Add(uint64(n))
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errShort
		}
		done <- answer{data, err}
	}()
	select {
	case a := <-done:
		return a.data, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
