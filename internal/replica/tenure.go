package replica

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/riverlytech/art/internal/cli"
)

// tenure is the right to write a place.
type tenure struct {
	store      *store
	generation Generation
	lease      Lease
	gone       chan struct{} // closed when another session has the place
	asking     chan struct{} // holds a value while the place is asked or told something: that may take long

	mu    sync.Mutex
	head  *Head     // GUARDED_BY(mu)
	tag   string    // of head. GUARDED_BY(mu)
	swaps string    // [Lease.Swap] of the attempts to replace head, or "" before the first. GUARDED_BY(mu)
	until time.Time // when the lease ends, by this process's clock. GUARDED_BY(mu)
	lost  error     // GUARDED_BY(mu)
}

// goOnFrom has the generation of this lease go on from a position, once nothing more can count there. Until it has files or a base, a generation
// is passed over by who brings the copy back.
func (t *tenure) goOnFrom(ctx context.Context, base string) error {
	t.generation.Base = base
	return t.renew(ctx, func(h *Head) {
		for i := range h.Generations {
			if h.Generations[i].ID == t.generation.ID {
				h.Generations[i] = t.generation
			}
		}
	})
}

// says returns what the head says, as far as this process knows.
func (t *tenure) says() *Head {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.head
}

// granted is the lease from now on.
func (t *tenure) granted() *Lease {
	l := t.lease
	l.Until = now().Add(leaseTime)
	return &l
}

// valid tells whether the lease has not run out, and until when it lasts.
func (t *tenure) valid() (until time.Time, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lost != nil {
		return t.until, t.lost
	}
	if !time.Now().Before(t.until) {
		return t.until, errLapsed
	}
	return t.until, nil
}

// ask has f ask the place for something, when nothing else does.
func (t *tenure) ask(ctx context.Context, f func(context.Context) error) error {
	select {
	case t.asking <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-t.asking }()
	ctx, cancel := context.WithTimeout(ctx, claimTime) // an answer may never come, and renewing the lease waits for this one
	defer cancel()
	t.mu.Lock()
	lost := t.lost
	t.mu.Unlock()
	if lost != nil {
		return lost
	}
	return f(ctx)
}

// look reads the head, and finds out whether the place is still this session's. Ask calls it.
func (t *tenure) look(ctx context.Context) error {
	head, tag, err := readHead(ctx, t.store.own)
	if err != nil {
		return err
	}
	if head == nil {
		return errNoHead
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if tag == t.tag && head.newest() == t.generation.ID { // in a directory, that of another place that was made there since has the same numbers
		return nil
	}
	if head.newest() != t.generation.ID || head.Lease == nil || t.swaps == "" || head.Lease.Swap != t.swaps {
		t.lost = deposed(head.Lease)
		close(t.gone)
		return t.lost
	}
	t.head, t.tag, t.swaps = head, tag, "" // the answer to an earlier attempt was lost
	return nil
}

// confirm makes sure that what was written before it is called counts.
func (t *tenure) confirm(ctx context.Context) error {
	return t.ask(ctx, t.look)
}

// renew renews the lease, and changes what the head says.
func (t *tenure) renew(ctx context.Context, change func(*Head)) error {
	return t.swap(ctx, change, false)
}

// end gives the place back.
func (t *tenure) end(ctx context.Context, change func(*Head)) error { return t.swap(ctx, change, true) }

func (t *tenure) swap(ctx context.Context, change func(*Head), end bool) error {
	return t.ask(ctx, func(ctx context.Context) error {
		for range 3 {
			t.mu.Lock()
			if t.swaps == "" {
				t.swaps = rand.Text() // not earlier: a clone would have it, too
			}
			next, tag, swaps := t.head.next(), t.tag, t.swaps
			t.mu.Unlock()
			next.Lease = t.granted()
			next.Lease.Ended, next.Lease.Swap = end, swaps
			change(next)
			sent := time.Now()
			tag, err := t.store.own.swap(ctx, headName, next.marshal(), tag)
			if err == nil {
				t.mu.Lock()
				t.head, t.tag, t.swaps, t.until = next, tag, "", sent.Add(leaseTime)
				t.mu.Unlock()
				return nil
			}
			if errors.Is(err, fs.ErrNotExist) {
				return errNoHead
			}
			if !errors.Is(err, fs.ErrExist) {
				return cli.Reason(err)
			}
			if err := t.look(ctx); err != nil { // it was an earlier attempt, or is somebody else
				return err
			}
		}
		return errors.New("somebody else changes " + headName + " there")
	})
}

// holding renews the lease until release is called.
func (t *tenure) holding(change func(*Head)) (release func()) {
	ctx, stop := context.WithCancel(context.Background())
	var renewing sync.WaitGroup
	renewing.Go(func() { t.hold(ctx, change) })
	return func() {
		stop()
		renewing.Wait()
	}
}

// hold renews the lease until ctx ends.
func (t *tenure) hold(ctx context.Context, change func(*Head)) {
	for wait := leaseRenewed; ; {
		select {
		case <-ctx.Done():
			return
		case <-t.gone:
			return
		case <-time.After(wait):
		}
		attempt, cancel := context.WithTimeout(ctx, leaseRenewed)
		wait = leaseRenewed
		if t.renew(attempt, change) != nil {
			wait = time.Second
		}
		cancel()
	}
}

// prune removes the generations that were followed by another one before a time, and that no later one goes on from. It returns their IDs.
func (t *tenure) prune(ctx context.Context, before time.Time) (removed map[string]bool) {
	t.mu.Lock()
	head := t.head
	t.mu.Unlock()
	all := head.Generations
	old := 0
	for old < len(all)-1 && (all[old+1].Began.Before(before) || len(all)-old > mostGenerations) {
		old++
	}
	removed = map[string]bool{}
	for i := range old {
		if slices.ContainsFunc(all[old:], func(g Generation) bool { return head.needs(g, all[i].ID) }) {
			continue
		}
		client, err := t.store.client(all[i].dir())
		if err == nil {
			err = client.Init(ctx)
		}
		if err == nil {
			err = client.DeleteAll(ctx)
		}
		if err != nil {
			break // the next session does it
		}
		removed[all[i].ID] = true
	}
	return removed
}

// mostGenerations bounds the head.
const mostGenerations = 1000
