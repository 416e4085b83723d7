package sqlvfs

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// letGo is a database of which pulls let go of something, and all that they have, of which nothing is forgotten but what is before the
// oldest checkpoint of one that is no fork.
type letGo struct {
	*testing.T
	rnd    *rand.Rand
	s      *Store
	in     *Inode
	forked bool
	all    []Released
}

var letGoNames = []string{"a", "b", "c"}

// Whatever checkpoints were dropped, and whatever was gone back from: what a merge asks of the pulls before it is answered as if nothing
// had been forgotten of them. No name has two rows of which nobody asks for the first.
func TestReleasedAfterThinning(t *testing.T) {
	for seed := range uint64(10) {
		l := &letGo{T: t, rnd: rand.New(rand.NewPCG(seed, 11)), forked: seed%4 > 0}
		path := filepath.Join(memoryDir(t), "a.db")
		if l.forked {
			_, path, _ = forkOf(t)
		}
		l.s = openTest(t, path)
		l.in = create(t, l.s, "f", syscall.S_IFREG|0o600)
		for i := range 100 {
			if l.step(int64(i)); t.Failed() {
				t.Fatalf("seed %d, step %d", seed, i)
			}
		}
		_, err := l.s.Thin(Keep{Checkpoints: 1})
		must(t, err)
		l.forget()
		l.compare()
		l.fewest()
		put(l.s, l.in)
		must(t, l.s.Close())
		if !l.forked { // what forkOf makes is odd
			must(t, checkClean(path))
		}
	}
}

func (l *letGo) step(i int64) {
	switch pick := l.rnd.IntN(12); {
	case pick < 5:
		l.note(i)
	case pick < 8:
		must(l, l.s.WriteAt(l.in, fmt.Appendf(nil, "%4d", i), 0, nil, Now()))
		_, err := l.s.Checkpoint([]Occasion{AtRest, ByUser, ByGuest}[l.rnd.IntN(3)], "")
		must(l, err)
	case pick < 10:
		to := []Destination{Undo, Redo}[l.rnd.IntN(2)]
		if points, err := l.s.Checkpoints(); err == nil && len(points) > 0 && l.rnd.IntN(2) == 0 {
			to = To(fmt.Sprint(points[l.rnd.IntN(len(points))].ID))
		}
		if _, err := l.s.GoBack(to, nil); err != nil && !errors.Is(err, ErrNothingToUndo) && !errors.Is(err, ErrNothingToRedo) {
			l.Error(err)
		}
	default:
		_, err := l.s.Thin(Keep{Checkpoints: 1 + l.rnd.IntN(6)})
		must(l, err)
		l.forget()
		l.compare()
	}
}

// note has a pull let go of something. Its time says which it was.
func (l *letGo) note(i int64) {
	r := Released{Dir: RootIno, Name: letGoNames[l.rnd.IntN(len(letGoNames))], Ctime: Timespec{Sec: i}}
	must(l, l.s.WriteAt(l.in, fmt.Appendf(nil, "%4d", i), 0, nil, Now()))
	must(l, l.s.Update(func(tx *Tx) error { tx.NoteReleased(r); return nil }))
	must(l, l.s.Sync())
	points, err := l.s.Checkpoints()
	must(l, err)
	if len(points) > 0 {
		r.Checkpoint = points[0].ID
	}
	l.all = slices.DeleteFunc(l.all, func(o Released) bool { return o.Name == r.Name && o.Checkpoint == r.Checkpoint })
	l.all = append(l.all, r)
}

func (l *letGo) forget() {
	points, err := l.s.Checkpoints()
	must(l, err)
	if !l.forked && len(points) > 0 {
		oldest := points[len(points)-1].ID
		l.all = slices.DeleteFunc(l.all, func(r Released) bool { return r.Checkpoint < oldest })
	}
}

// compare asks as merges do: of the present, and of checkpoints.
func (l *letGo) compare() {
	points, err := l.s.Checkpoints()
	must(l, err)
	must(l, l.s.Sync())
	ids := []int64{0}
	for _, c := range points {
		ids = append(ids, c.ID)
	}
	one := func() int64 { return ids[l.rnd.IntN(len(ids))] }
	moment := func() int64 { return cmp.Or(one(), Forever) }
	for _, at := range []int64{0, one(), one()} {
		name := ""
		if at > 0 {
			name = fmt.Sprint(at)
		}
		m, err := OpenMoment(l.s.Path(), name)
		must(l, err)
		for _, since := range []int64{0, one(), one(), l.rnd.Int64N(ids[min(1, len(ids)-1)] + 1)} { // the last may have been dropped
			span, err := m.Span(since)
			must(l, err)
			want := map[string]bool{}
			for _, until := range []int64{Forever, moment(), moment()} {
				for _, name := range letGoNames {
					r, err := m.Released(RootIno, name, span, until)
					must(l, err)
					if last := l.last(name, span, until); (r == nil) != (last == nil) || r != nil && *r != *last {
						l.Errorf("at %d, since %d, until %d: %+v, not %+v", at, since, until, r, last)
					}
					if until == Forever && l.last(name, span, until) != nil {
						want[name] = true
					}
				}
			}
			names, err := m.ReleasedNames(RootIno, span)
			must(l, err)
			got := map[string]bool{}
			for _, name := range names {
				got[name] = true
			}
			if !maps.Equal(got, want) {
				l.Errorf("at %d, since %d: the names %v, not %v", at, since, got, want)
			}
		}
		m.Close()
	}
}

// fewest looks for rows that could have been forgotten: two of a name between two numbers that somebody may ask for.
func (l *letGo) fewest() {
	points, err := l.s.Checkpoints()
	must(l, err)
	bounds := map[int64]bool{}
	for _, c := range points {
		bounds[c.ID], bounds[c.Restored] = true, true
	}
	ends := slices.Sorted(maps.Keys(bounds))
	rows := 0
	must(l, l.s.View(func(tx *Tx) error {
		seen := map[string]bool{}
		return tx.each("SELECT name, checkpoint FROM main.art_released", func(q *sqlite3.Stmt) {
			rows++
			name, id := q.ColumnText(0), q.ColumnInt64(1)
			above, is := slices.BinarySearch(ends, id)
			if key := fmt.Sprint(name, " above ", above); is {
			} else if seen[key] {
				l.Errorf("%s has two rows between the same of %d", name, ends)
			} else {
				seen[key] = true
			}
		})
	}))
	if len(l.all) > 0 && rows == 0 {
		l.Error("nothing is left")
	}
}

// last is what [Moment.Released] would find, if all were there.
func (l *letGo) last(name string, in *Span, until int64) (last *Released) {
	for i := range l.all {
		if r := &l.all[i]; r.Name == name && r.Checkpoint <= until && in.has(r.Checkpoint) && (last == nil || last.Checkpoint < r.Checkpoint) {
			last = r
		}
	}
	return last
}
