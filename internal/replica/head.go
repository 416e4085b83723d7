package replica

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/sqlvfs"
)

// headName is the object at a place that says what it holds, in which order, and who writes it. It is only ever swapped for the next one.
const headName = "art.json"

// States of what is copied.
const (
	Running = "running" // a session writes it
	Ended   = "ended"   // the copy is all of it
	// Interrupted is that of a session that has not come to its end, see [Head.StateAt]. No head says so.
	Interrupted = "interrupted"
	removed     = "removed" // it was removed: the head stays, so that nothing late takes it for one that was never there
)

// Head is what a place says that it holds. Everybody who can write there can have written it.
type Head struct {
	Format    int       `json:"format"`
	ID        string    `json:"id"`    // of the database
	Place     string    `json:"place"` // the place's own, which the database remembers its generation by
	Database  string    `json:"database"`
	Workspace string    `json:"workspace,omitempty"`
	Host      string    `json:"host,omitempty"`
	State     string    `json:"state"`
	Session   int64     `json:"session"` // the newest in the copy
	Changed   time.Time `json:"changed"`
	Size      int64     `json:"size"` // of the database, in bytes
	// Pending is what was pending at the end of the last session that said so; nil: unknown.
	Pending *Pending `json:"pending,omitempty"`
	// Writes counts the swaps, so that no two heads are alike.
	Writes int64 `json:"writes"`
	// Last is the position of all that was there when a session last ended with all of it copied; empty: none has yet.
	Last string `json:"last,omitempty"`
	// Generations are the histories that are there, oldest first.
	Generations []Generation `json:"generations"`
	Lease       *Lease       `json:"lease,omitempty"`
}

// Pending is what was pending in a database at some time.
type Pending struct {
	control.Pending
	Counted time.Time `json:"counted"`
}

// Generation is a history that one process has written, from a whole copy on, or from its base. Litestream numbers files one after the other, and each
// process that begins to copy, or begins anew, has a directory of its own for them: requests of an earlier one that arrive late then meet nothing of
// a later one's.
type Generation struct {
	ID    string    `json:"id"`
	Began time.Time `json:"began"`
	// Base is the position in an earlier generation that this one goes on from, or empty if it begins with a whole copy.
	Base string `json:"base,omitempty"`
}

// dir is the directory of a generation below the place.
func (g Generation) dir() string { return generationPrefix + g.ID }

const generationPrefix = "generation-"

// isID tells whether a generation can have an ID, which names its directory: nothing else is to be looked at, or removed.
func isID(id string) bool {
	return id != "" && len(id) <= 2*idLength && !strings.ContainsFunc(id, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// idLength is how long art makes one.
const idLength = 16

func isGeneration(dir string) bool { return strings.HasPrefix(dir, generationPrefix) }

// Lease says who writes a place.
type Lease struct {
	// Token is the session's. Its processes follow each other.
	Token string `json:"token"`
	// Swap is chosen anew for each swap, so that two processes with one token and one generation, as in a machine that was cloned while it ran, do
	// not take each other's swaps for their own.
	Swap string `json:"swap,omitempty"`
	// Machine is the database's file on a running machine. Where it is the same, the session that held the lease is over, since another one
	// has the file.
	Machine string    `json:"machine,omitempty"`
	Host    string    `json:"host"`
	User    string    `json:"user"`
	PID     int       `json:"pid"`
	Since   time.Time `json:"since"`
	// Until is for people: it is by the holder's clock.
	Until time.Time `json:"until"`
	// Seconds is how long it lasts from each swap on.
	Seconds int  `json:"seconds"`
	Ended   bool `json:"ended,omitempty"`
}

const headFormat = 3

func now() time.Time { return time.Now().UTC().Truncate(time.Second) }

// identify reads of a database, which a session has open, what its head says, and which generation it continues at each place.
func identify(path, name string) (mine *Head, continues map[string]string, err error) {
	s, err := sqlvfs.Open(path, sqlvfs.Options{ReadOnly: true})
	if err != nil {
		return nil, nil, err
	}
	defer s.Close()
	mine = &Head{Format: headFormat, Place: rand.Text(), Database: name, State: Running, Changed: now()}
	mine.Host, _ = os.Hostname()
	err = s.View(func(tx *sqlvfs.Tx) (err error) {
		if mine.ID, err = tx.ID(); err != nil {
			return err
		}
		if mine.Session, err = tx.NewestSession(); err != nil {
			return err
		}
		if continues, err = tx.Continues(); err != nil {
			return err
		}
		known, err := tx.Workspaces()
		for _, w := range known {
			if mine.Workspace == "" || w.Whole {
				mine.Workspace = w.Path
			}
		}
		return err
	})
	if info, serr := os.Stat(path); serr == nil {
		mine.Size = info.Size()
	}
	if err == nil && mine.ID == "" {
		err = errors.New("the database has no identity: no session replicates it")
	}
	return mine, continues, err
}

// readHead returns the head of a place, and its tag; nil: there is none, or the copy was removed, and there is the tag alone.
func readHead(ctx context.Context, o objects) (*Head, string, error) {
	data, tag, err := o.get(ctx, headName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", cli.Reason(err)
	}
	head := &Head{}
	err = json.Unmarshal(data, head)
	if err == nil && head.Format == headFormat && head.State == removed {
		return nil, tag, nil
	}
	if err != nil || head.Format < 1 || head.ID == "" {
		return nil, "", damaged(headName)
	}
	switch {
	case head.Format > headFormat:
		return nil, "", &refused{"a newer art has made the copy there", "install that version, or a later one"}
	case head.Format < headFormat:
		return nil, "", &refused{"an older art has made the copy there, in another form", "name another place"}
	}
	for _, g := range head.Generations {
		base, _, _ := strings.Cut(g.Base, "@")
		if !isID(g.ID) || base != "" && !isID(base) {
			return nil, "", damaged(headName)
		}
	}
	if head.Pending != nil && !head.Pending.Valid() {
		head.Pending = nil
	}
	head.Size, head.Session = max(head.Size, 0), max(head.Session, 0)
	return head, tag, nil
}

// StateAt is the state at a time. A session that holds no lease any more has died, or has lost the place to one that did not come to write: whose clock is late
// is not known, so as much as a lease is granted.
func (h *Head) StateAt(t time.Time) string {
	if h.State == Running && (h.Lease == nil || h.Lease.Ended || t.After(h.Lease.Until.Add(leaseTime))) {
		return Interrupted
	}
	return h.State
}

// ChangedAt says when the copy was made last.
func (h *Head) ChangedAt() string {
	if h.Changed.IsZero() {
		return "?"
	}
	return h.Changed.Local().Format(time.DateTime)
}

// lasts is how long the lease lasts from each swap on. Another version may have written it, or anybody.
func (l *Lease) lasts() time.Duration {
	if l.Seconds <= 0 || l.Seconds > int(leaseMost/time.Second) {
		return leaseMost
	}
	return time.Duration(l.Seconds) * time.Second
}

func (h *Head) marshal() []byte {
	data, _ := json.MarshalIndent(h, "", "  ") // of texts and numbers
	return append(data, '\n')
}

// vacate has the head say that the copy was removed.
func (h *Head) vacate() {
	*h = Head{Format: headFormat, State: removed, Changed: now(), Writes: h.Writes}
}

// next is the head that comes after this one, to be changed.
func (h *Head) next() *Head {
	n := *h
	n.Writes++
	n.Generations = slices.Clone(h.Generations)
	if h.Lease != nil {
		l := *h.Lease
		n.Lease = &l
	}
	return &n
}

// forget removes generations.
func (h *Head) forget(removed map[string]bool) {
	h.Generations = slices.DeleteFunc(h.Generations, func(g Generation) bool { return removed[g.ID] })
}

// newest is the ID of the newest generation.
func (h *Head) newest() string {
	if len(h.Generations) == 0 {
		return ""
	}
	return h.Generations[len(h.Generations)-1].ID
}

// generation returns one that is there.
func (h *Head) generation(id string) (g Generation, ok bool) {
	i := slices.IndexFunc(h.Generations, func(g Generation) bool { return g.ID == id })
	if i < 0 {
		return Generation{}, false
	}
	return h.Generations[i], true
}

// lacks tells whether a state is older than what was there at the end of a session.
func (h *Head) lacks(at string) bool {
	last, txid := parsePosition(h.Last)
	is, to := parsePosition(at)
	age := func(id string) int {
		return slices.IndexFunc(h.Generations, func(g Generation) bool { return g.ID == id })
	}
	return age(last) > age(is) || last == is && txid > to
}

// from are a generation and those that came after it; all, if it is not there.
func (h *Head) from(id string) []Generation {
	i := slices.IndexFunc(h.Generations, func(g Generation) bool { return g.ID == id })
	return h.Generations[max(i, 0):]
}

// Describe says whose copy it is.
func (h *Head) Describe() string {
	text := cli.Printable(h.Database)
	if h.Workspace != "" {
		text = cli.Printable(h.Workspace)
	}
	if h.Host != "" {
		text += " on " + cli.Printable(h.Host)
	}
	return text + ", of " + h.ChangedAt()
}

// describe says who holds it, and since when.
func (l *Lease) describe() string {
	return fmt.Sprintf("%s on %s (process %d), since %s", cli.Printable(l.User), cli.Printable(l.Host), l.PID, l.Since.Local().Format(time.DateTime))
}
