package replica

import (
	"context"
	"io"
	"time"

	"github.com/benbjohnson/litestream"
	"github.com/superfly/ltx"
)

// fenced is Litestream's way to a generation: nothing is written by it once the lease has run out. It counts what the place takes.
type fenced struct {
	litestream.ReplicaClient
	tenure *tenure
	taken  *taken
}

// lasting returns a context that ends with the lease.
func (c *fenced) lasting(ctx context.Context) (context.Context, context.CancelFunc, error) {
	if _, err := c.tenure.valid(); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		for {
			until, err := c.tenure.valid()
			if err != nil {
				cancel(err)
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-c.tenure.gone:
			case <-time.After(time.Until(until)):
			}
		}
	}()
	return ctx, func() { cancel(context.Canceled) }, nil
}

func (c *fenced) WriteLTXFile(ctx context.Context, level int, from, to ltx.TXID, r io.Reader) (*ltx.FileInfo, error) {
	ctx, done, err := c.lasting(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	// A connection may be gone without a word, as after a laptop's sleep, and the kernel tries for a quarter of an hour (tcp(7), tcp_retries2).
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(underWay, func() { cancel(errTakesNothing) })
	defer idle.Stop()
	take := c.taken.attempt(level, to)
	count := func(bytes int) {
		idle.Reset(underWay)
		take(bytes)
	}
	leased := leasedReader{r, ctx, count}
	r = leased
	if seeker, ok := leased.Reader.(io.Seeker); ok {
		r = leasedFile{leased, seeker}
	}
	info, err := c.ReplicaClient.WriteLTXFile(ctx, level, from, to, r)
	if err == nil {
		count(1)
	} else if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return info, err
}

func (c *fenced) DeleteLTXFiles(ctx context.Context, files []*ltx.FileInfo) error {
	ctx, done, err := c.lasting(ctx)
	if err != nil {
		return err
	}
	defer done()
	return c.ReplicaClient.DeleteLTXFiles(ctx, files)
}

// leasedReader ends with the lease.
type leasedReader struct {
	io.Reader
	ctx   context.Context
	count func(bytes int)
}

func (r leasedReader) Read(p []byte) (int, error) {
	if err := context.Cause(r.ctx); err != nil {
		return 0, err
	}
	n, err := r.Reader.Read(p)
	r.count(n)
	return n, err
}

// leasedFile is what a client asks for the size by seeking.
type leasedFile struct {
	leasedReader
	io.Seeker
}
