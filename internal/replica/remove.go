package replica

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/riverlytech/art/internal/cli"
)

// Remove removes the copy, once nobody writes it. wait is told for whom it waits.
func (c *Copy) Remove(ctx context.Context, wait func(string)) error {
	who := claimant{lease: leaseOf("", rand.Text())}
	t, err := who.await(ctx, c.store, wait)
	var no *refused
	if held := c.Who.Lease; errors.As(err, &no) && held != nil && !held.Ended {
		return cli.WithHint(errors.New(no.says), "end that one first")
	}
	if err != nil {
		return err
	}
	return t.remove(ctx)
}

// Release gives back the lease that [Fetch] has taken for the session with a token, and that the session has not come to use.
func Release(ctx context.Context, url, token string) error {
	c, err := Find(ctx, url)
	if err != nil {
		return err
	}
	l := c.Who.Lease
	if l == nil || l.Ended || l.Token != token {
		return nil
	}
	next := c.Who.next()
	next.Lease.Ended = true
	_, err = c.store.own.swap(ctx, headName, next.marshal(), c.tag)
	return cli.Reason(err)
}

// remove removes the copy, and gives the place back as one that holds none.
func (t *tenure) remove(ctx context.Context) error {
	release := t.holding(func(*Head) {})
	err := t.clear(ctx)
	release()
	if err == nil {
		err = t.vacate(ctx)
	}
	if err != nil {
		t.leave()
	}
	return err
}

// clear removes all that is copied there. Nobody who takes the place over meanwhile is to go on from that.
func (t *tenure) clear(ctx context.Context) error {
	if err := t.renew(ctx, func(h *Head) { h.Generations = []Generation{{ID: t.generation.ID, Began: t.generation.Began}} }); err != nil {
		return err
	}
	dirs, _, err := t.store.own.entries(ctx)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if !isGeneration(dir) {
			continue
		}
		client, err := t.store.client(dir)
		if err == nil {
			err = client.Init(ctx)
		}
		if err == nil {
			err = client.DeleteAll(ctx)
		}
		if err != nil {
			return explain(err)
		}
	}
	return nil
}

// vacate gives the place back.
func (t *tenure) vacate(ctx context.Context) error {
	err := t.end(ctx, (*Head).vacate)
	if errors.Is(err, errNoHead) { // the answer to an earlier attempt was lost
		return nil
	}
	return err
}

// leave gives back a place with what is there, or the lease runs out.
func (t *tenure) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = t.end(ctx, func(*Head) {})
}
