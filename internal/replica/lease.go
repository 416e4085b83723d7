package replica

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/superfly/ltx"

	"github.com/riverlytech/art/internal/cli"
)

// One session writes a place. It begins by swapping the head for one that has its lease and a new generation, and writes below that generation
// only. What has arrived there counts as copied when the head was read after that, and still had the generation as its newest.
//
// So no two histories can both count, whatever the network delays, loses or repeats, and whatever any clock shows: who takes over swaps the
// head first, and looks at the older generations then. What counts was there before that swap, and so is found. What arrives later, arrives
// below a generation that is over. Without its swap nobody's copies count, and a swap that arrives late does not find the head it was to replace.
// But one process that was cloned with its machine is two that know the same: until one of them renews the lease, both count.
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

// errTakesNothing ends an attempt at a file of which nothing is taken any more.
var errTakesNothing = errors.New("it takes nothing more")

// errRace is why nothing has come of an attempt, the next of which may find who it was.
var errRace = cli.WithHint(errors.New("another session has changed "+headName+" there at the same time"), "try it again")

// errNoHead is what is told by who has a place whose head is gone.
var errNoHead = errors.New(headName + " there was removed")

// heldError says that another session has a place.
type heldError struct{ by Lease }

func (e *heldError) Error() string { return "another session writes there: " + e.by.describe() }

// refused is what it is once that session has shown that it lives.
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
	fetches   bool   // it brings the copy back, and copies nothing
	pages     *noted // of what state the hashes of pages are kept; or nil
	watched   watched
}

// watched is how long a head was seen not to change, by this process's clock.
type watched struct {
	tag   string
	since time.Time
}

// claim makes one attempt to get the place. The error is a *heldError while another session has it, and a *refused when that stays so.
func (c *claimant) claim(ctx context.Context, s *store) (*tenure, error) {
	asked := time.Now()
	head, tag, err := readHead(ctx, s.own)
	if err == nil && head == nil && c.fetches {
		return nil, &noCopyError{}
	}
	if err == nil && head == nil {
		if head, tag, err = c.found(ctx, s, tag); err == nil && head == nil {
			return nil, errRace
		}
	}
	if err != nil {
		return nil, err
	}
	if c.fetches {
		c.mine = head
	}
	if head.ID != c.mine.ID {
		return nil, &refused{"it holds the copy of another database: " + head.Describe(), "name another place for this one; or remove that copy with art rm URL"}
	}
	if err := c.heir(ctx, s, head, ""); err != nil { // before somebody is deposed for nothing
		return nil, err
	}
	if l := head.Lease; l != nil && !l.Ended && l.Token != c.lease.Token && (l.Machine == "" || l.Machine != c.lease.Machine) && !c.takeOver {
		held := &heldError{*l}
		switch w := &c.watched; {
		case w.tag == "":
			*w = watched{tag, time.Now()}
			return nil, held
		case w.tag != tag:
			return nil, held.refused()
		case asked.Sub(w.since) < l.lasts():
			return nil, held
		}
	}
	t := &tenure{store: s, generation: Generation{ID: rand.Text()[:idLength], Began: now()}, lease: c.lease, gone: make(chan struct{}), asking: make(chan struct{}, 1)}
	t.lease.Since, t.lease.Seconds = now(), int(leaseTime/time.Second)
	next := head.next()
	next.Generations = append(next.Generations, t.generation)
	next.Host, next.Database, next.Workspace = c.mine.Host, c.mine.Database, c.mine.Workspace
	next.State, next.Lease = Running, t.granted()
	if !c.fetches {
		next.Changed = now()
	}
	if len(next.marshal()) > maxObject { // nobody could read it
		return nil, &refused{headName + " there has no room for another session: too many have not ended in order", "art restore brings the copy back; remove it with art rm URL, and copy anew"}
	}
	sent := time.Now()
	if tag, err = s.own.swap(ctx, headName, next.marshal(), tag); err != nil {
		if errors.Is(err, fs.ErrExist) {
			err = errRace
		}
		return nil, cli.Reason(err)
	}
	t.head, t.tag, t.until = next, tag, sent.Add(leaseTime)
	// From here on nothing more can count below older generations.
	err = c.heir(ctx, s, next, t.generation.ID)
	if err == nil && c.goesOn(ctx, s, head) {
		err = t.goOnFrom(ctx, position(c.pages.Generation, c.pages.last()))
	}
	if err != nil {
		_ = t.end(ctx, func(h *Head) { h.forget(map[string]bool{t.generation.ID: true}) })
		return nil, err
	}
	return t, nil
}

// goesOn tells whether the newest generation is one whose pages are known, so that a new one can go on from it. What is there has to be all that
// is needed, and no more than twice as much as the database.
func (c *claimant) goesOn(ctx context.Context, s *store, head *Head) bool {
	n := c.pages
	if n == nil || n.Place != head.Place || !c.isNewest(ctx, s, head, position(n.Generation, n.last())) {
		return false
	}
	base, _ := head.generation(n.Generation)
	if head.bases(base) >= mostBases {
		return false
	}
	client, err := s.generation(head, base)
	if err != nil {
		return false
	}
	files, err := list(ctx, client, false)
	if err != nil {
		return false
	}
	bytes, err := files.reaches(ctx, n.last())
	return err == nil && bytes <= max(2*int64(n.Pages)*int64(n.PageSize), 1<<20)
}

// isNewest tells whether a position is one in the newest generation, or what that has begun with, where it has no more.
func (c *claimant) isNewest(ctx context.Context, s *store, head *Head, at string) bool {
	newest, _ := head.generation(head.newest())
	if id, _ := parsePosition(at); id == newest.ID {
		return true
	}
	if newest.Base == "" || head.shortest(newest.Base) != head.shortest(at) {
		return false
	}
	last, err := s.last(ctx, newest.dir())
	return err == nil && last == 0
}

// found makes the head of a place where there is none, and makes sure that the store swaps as it should. Where a copy was removed, that was so.
func (c *claimant) found(ctx context.Context, s *store, tag string) (*Head, string, error) {
	if tag != "" {
		return c.mine, tag, nil
	}
	if last, err := s.last(ctx, ""); err != nil {
		return nil, "", err
	} else if last > 0 {
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
	for condition, tag := range map[string]string{"If-Match": `"0"`, "If-None-Match": ""} {
		_, err = s.own.swap(ctx, headName, c.mine.marshal(), tag)
		switch {
		case err == nil:
			return nil, "", &refused{"the store replaces objects without regard to the condition (" + condition + ")", "name a place in a store that knows conditional writes"}
		case !errors.Is(err, fs.ErrExist):
			return nil, "", cli.Reason(err)
		}
	}
	return c.mine, tag, nil
}

// heir makes sure that the database goes on from all that is copied to a place. Nothing may be there below later generations than that which
// it continues, but for its own; nor, where it was brought back from that one, any later file.
func (c *claimant) heir(ctx context.Context, s *store, head *Head, own string) error {
	if c.fetches {
		return nil
	}
	id, txid := parsePosition(c.continues[head.Place])
	for _, g := range head.from(id) {
		if g.ID == own || g.ID == id && txid == 0 {
			continue
		}
		last, err := s.last(ctx, g.dir())
		if err != nil {
			return err
		}
		if last > 0 && (g.ID != id || last > txid) {
			return &refused{
				fmt.Sprintf("the copy there goes on from another state than the database: %s, session %d, and the database has session %d", head.Describe(), head.Session, c.mine.Session),
				"`art run -d URL` goes on from that, with a database of its own; or name another place for this one",
			}
		}
	}
	return nil
}

// position is what a database that was brought back says that it continues: a generation, as far as a file of Litestream's. The database of the
// session that writes a generation says the generation alone, since it has all of it.
func position(generation string, txid ltx.TXID) string { return generation + "@" + txid.String() }

// parsePosition returns the file, or 0 if the database has all.
func parsePosition(text string) (generation string, txid ltx.TXID) {
	generation, file, brought := strings.Cut(text, "@")
	if !brought {
		return generation, 0
	}
	txid, err := ltx.ParseTXID(file)
	if err != nil {
		return "", 0 // somebody else has written it
	}
	return generation, txid
}
