package replica

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"github.com/benbjohnson/litestream"
	"github.com/superfly/ltx"

	"github.com/riverlytech/art/internal/cli"
)

// One session writes a place. It begins by swapping the head for one that has its lease and a new generation, and writes below that generation
// only. What has arrived there counts as copied when the head was read after that, and still had the generation as its newest.
//
// So no two histories can both count, whatever the network delays, loses or repeats, and whatever any clock shows: who takes over swaps the
// head first, and looks at the older generations then. What counts was there before that swap, and so is found. What arrives later, arrives
// below a generation that is over. Without its swap nobody's copies count, and a swap that arrives late does not find the head it was to replace.
//
// The time of a lease only keeps sessions from interrupting each other. The holder stops writing when it has not renewed it for that long by its
// own clock; another one waits that long, by its own clock, without the head changing. Times of two clocks are never compared.

const (
	// leaseTime is how long a lease lasts, and leaseRenewed how often it is renewed.
	leaseTime, leaseRenewed = 30 * time.Second, 10 * time.Second
	// leaseMost bounds how long that of another version may last.
	leaseMost = 10 * time.Minute
)

// errLapsed is why nothing is written while the lease cannot be renewed.
var errLapsed = errors.New("the lease there has run out, and could not be renewed")

// heldError says that another session has a place.
type heldError struct{ by Lease }

func (e *heldError) Error() string { return "another session writes there: " + e.by.describe() }

// as refused is what it is once that session has shown that it lives.
func (e *heldError) refused() *refused {
	return &refused{
		e.Error(),
		"end that one first; or take the copy over with --take-over: it stops writing there then, and what it has not copied stays with it",
	}
}

// deposed says that another session has taken a place over.
func deposed(by *Lease) *refused {
	text := "the copy there was taken over"
	if by != nil {
		text += " by " + by.describe()
	}
	return &refused{text, "what was copied until then goes on there; what this session has written since is in its database alone"}
}

// claimant is who wants to write a place, and with which database.
type claimant struct {
	mine      *Head
	continues map[string]string // see sqlvfs.Continues
	lease     Lease
	takeOver  bool
	watched   watched
}

// watched is how long a head was seen not to change, by this process's clock.
type watched struct {
	tag   string
	since time.Time
}

// tenure is the right to write a place.
type tenure struct {
	store      *store
	generation Generation
	lease      Lease

	mu    sync.Mutex
	head  *Head     // GUARDED_BY(mu)
	tag   string    // of head. GUARDED_BY(mu)
	until time.Time // when the lease ends, by this process's clock. GUARDED_BY(mu)
	lost  error     // GUARDED_BY(mu)
	gone  chan struct{}
}

// claim makes one attempt to get the place. The error is a *heldError while another session has it, and a *refused when that stays so.
func (c *claimant) claim(ctx context.Context, s *store) (*tenure, error) {
	asked := time.Now()
	head, tag, err := readHead(ctx, s.own)
	if err == nil && head == nil {
		if head, tag, err = c.found(ctx, s); err == nil && head == nil {
			return nil, errors.New("another session has just begun to copy there")
		}
	}
	if err != nil {
		return nil, err
	}
	if head.ID != c.mine.ID {
		return nil, &refused{"it holds the copy of another database: " + head.describe(), "name another place for this one"}
	}
	if err := c.heir(ctx, s, head, ""); err != nil { // before somebody is deposed for nothing
		return nil, err
	}
	if l := head.Lease; l != nil && !l.Ended && l.Token != c.lease.Token && (l.Machine == "" || l.Machine != c.lease.Machine) && !c.takeOver {
		held := &heldError{*l}
		lasts := min(time.Duration(max(l.Seconds, 1))*time.Second, leaseMost)
		switch w := &c.watched; {
		case w.tag == "":
			*w = watched{tag, time.Now()}
			return nil, held
		case w.tag != tag:
			return nil, held.refused()
		case asked.Sub(w.since) < lasts:
			return nil, held
		}
	}
	t := &tenure{store: s, generation: Generation{rand.Text()[:16], now()}, lease: c.lease, gone: make(chan struct{})}
	t.lease.Since, t.lease.Seconds = now(), int(leaseTime/time.Second)
	t.head = head.next()
	t.head.Generations = append(t.head.Generations, t.generation)
	t.head.Host, t.head.Database, t.head.Workspace = c.mine.Host, c.mine.Database, c.mine.Workspace
	t.head.State, t.head.Changed = Running, now()
	sent := time.Now()
	t.granted(sent)
	if t.tag, err = s.own.swap(ctx, headName, t.head.marshal(), tag); err != nil {
		if errors.Is(err, fs.ErrExist) {
			err = errors.New("another session has changed " + headName + " there at the same time")
		}
		return nil, cli.Reason(err)
	}
	// From here on nothing more can count below older generations.
	if err := c.heir(ctx, s, t.head, t.generation.ID); err != nil {
		_ = t.end(ctx, func(*Head) {})
		return nil, err
	}
	return t, nil
}

// found makes the head of a place where there is none, and makes sure that the store swaps as it should.
func (c *claimant) found(ctx context.Context, s *store) (*Head, string, error) {
	if some, err := s.holdsAny(ctx, ""); err != nil {
		return nil, "", err
	} else if some {
		return nil, "", &refused{"there is a copy already, which art has not made", "name another place"}
	}
	tag, err := s.own.swap(ctx, headName, c.mine.marshal(), "")
	if errors.Is(err, fs.ErrExist) {
		return readHead(ctx, s.own)
	}
	if err != nil {
		return nil, "", cli.Reason(err)
	}
	// A store that knows no conditions takes everything.
	_, err = s.own.swap(ctx, headName, c.mine.marshal(), `"0"`)
	switch {
	case err == nil:
		return nil, "", &refused{"the store replaces objects without regard to the condition (If-Match)", "name a place in a store that knows conditional writes"}
	case !errors.Is(err, fs.ErrExist):
		return nil, "", cli.Reason(err)
	}
	return c.mine, tag, nil
}

// heir makes sure that the database goes on from all that is copied to a place: nothing may be there below later generations than that which
// it continues, but for its own.
func (c *claimant) heir(ctx context.Context, s *store, head *Head, own string) error {
	for _, g := range head.after(c.continues[head.Place]) {
		if g.ID == own {
			continue
		}
		some, err := s.holdsAny(ctx, g.dir())
		if err != nil {
			return err
		}
		if some {
			return &refused{
				fmt.Sprintf("the copy there goes on from another state than the database: %s, session %d, and the database has session %d", head.describe(), head.Session, c.mine.Session),
				"art restore brings that back; or name another place",
			}
		}
	}
	return nil
}

// granted notes a lease that was asked for at a time.
func (t *tenure) granted(asked time.Time) {
	l := t.lease
	l.Until = now().Add(leaseTime)
	t.head.Lease, t.until = &l, asked.Add(leaseTime)
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

// look reads the head, and finds out whether the place is still this session's.
func (t *tenure) look(ctx context.Context) error { // LOCKS_REQUIRED(t.mu)
	if t.lost != nil {
		return t.lost
	}
	head, tag, err := readHead(ctx, t.store.own)
	if err != nil {
		return err
	}
	switch {
	case head == nil:
		return errors.New(headName + " there was removed")
	case head.newest() != t.generation.ID:
		t.lost = deposed(head.Lease)
		close(t.gone)
		return t.lost
	case head.Writes >= t.head.Writes: // of which the answer was lost
		t.head, t.tag = head, tag
	}
	return nil
}

// confirm makes sure that what was written before it is called counts.
func (t *tenure) confirm(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.look(ctx)
}

// renew renews the lease, and changes what the head says.
func (t *tenure) renew(ctx context.Context, change func(*Head)) error {
	return t.swap(ctx, change, false)
}

// end gives the place back.
func (t *tenure) end(ctx context.Context, change func(*Head)) error { return t.swap(ctx, change, true) }

func (t *tenure) swap(ctx context.Context, change func(*Head), end bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for range 3 {
		if t.lost != nil {
			return t.lost
		}
		before, until := t.head, t.until
		t.head = before.next()
		t.granted(time.Now())
		t.head.Lease.Ended = end
		change(t.head)
		tag, err := t.store.own.swap(ctx, headName, t.head.marshal(), t.tag)
		if err == nil {
			t.tag = tag
			return nil
		}
		t.head, t.until = before, until
		if !errors.Is(err, fs.ErrExist) {
			return cli.Reason(err)
		}
		if err := t.look(ctx); err != nil { // it was an earlier attempt's, or is somebody else's
			return err
		}
	}
	return errors.New("somebody else changes " + headName + " there")
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

// prune removes the generations that were followed by another one before a time. It returns what of the head goes with them.
func (t *tenure) prune(ctx context.Context, before time.Time) (removed map[string]bool) {
	t.mu.Lock()
	all := t.head.Generations
	t.mu.Unlock()
	removed = map[string]bool{}
	for i := range len(all) - 1 {
		if !all[i+1].Began.Before(before) && len(all)-i <= mostGenerations {
			break
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

// fenced is Litestream's way to a generation: nothing is written by it once the lease has run out. It counts what the place takes.
type fenced struct {
	litestream.ReplicaClient
	tenure *tenure
	count  func(bytes int)
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
	leased := leasedReader{r, ctx, c.count}
	r = leased
	if seeker, ok := leased.Reader.(io.Seeker); ok {
		r = leasedFile{leased, seeker}
	}
	info, err := c.ReplicaClient.WriteLTXFile(ctx, level, from, to, r)
	if err == nil {
		c.count(1)
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
