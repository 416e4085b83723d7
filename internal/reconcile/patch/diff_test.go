package patch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// rewritten returns a text, and what becomes of it: lines of some kinds, of which one in few is another one then.
func rewritten(kinds, n, few int) (before, after string, changed int) {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	var b, a strings.Builder
	for i := range n {
		line := fmt.Sprintf("line %d\n", i)
		if kinds > 0 {
			line = fmt.Sprintf("line %d\n", r.IntN(kinds))
		}
		b.WriteString(line)
		if i%few == 0 {
			changed++
			line = fmt.Sprintf("changed %d\n", i)
		}
		a.WriteString(line)
	}
	return b.String(), a.String(), changed
}

// However much has changed, what is between it stays.
func TestManyChanges(t *testing.T) {
	for _, c := range []struct {
		kinds, n, few int
	}{{0, 1000, 4}, {0, 20_000, 3}, {300, 10_000, 4}, {5, 3000, 4}, {0, 3000, 1}} {
		before, after, changed := rewritten(c.kinds, c.n, c.few)
		gone := 0
		for _, n := range Stay(before, after) {
			if n < 0 {
				gone++
			}
		}
		most := changed + changed/100 // of few kinds of lines, one may be taken for another
		if gone < changed || gone > most {
			t.Errorf("%+v: of %d lines %d are gone, and %d were changed", c, c.n, gone, changed)
		}
		f := File{Old: []byte(before), New: []byte(after), OldMode: Regular, NewMode: Regular}
		if added, removed := f.Count(); added != gone || removed != gone {
			t.Errorf("%+v: %d added, %d removed, and %d are gone", c, added, removed, gone)
		}
	}
}

// Lines that are moved here and there leave most of the others where they are, and no text takes for ever.
func TestManyMoves(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, kinds := range []int{2, 50, 1_000_000} {
		old := make([]string, 20_000)
		for i := range old {
			old[i] = fmt.Sprintf("line %d\n", r.IntN(kinds))
		}
		now := slices.Clone(old)
		for range 500 {
			from, to := r.IntN(len(now)), r.IntN(len(now))
			line := now[from]
			now = slices.Insert(slices.Delete(now, from, from+1), to, line)
		}
		began := time.Now()
		stay := Stay(strings.Join(old, ""), strings.Join(now, ""))
		took := time.Since(began)
		gone := 0
		for _, n := range stay {
			if n < 0 {
				gone++
			}
		}
		t.Logf("%d kinds: %d gone, in %v", kinds, gone, took)
		if gone > 700 {
			t.Errorf("of %d kinds %d are gone, and 500 were moved", kinds, gone)
		}
		r.Shuffle(len(now), func(i, j int) { now[i], now[j] = now[j], now[i] })
		began = time.Now()
		Stay(strings.Join(old, ""), strings.Join(now, ""))
		if took := time.Since(began); took > time.Minute {
			t.Errorf("texts of %d kinds of lines take %v", kinds, took)
		} else {
			t.Logf("shuffled: %v", took)
		}
	}
}

// TestChange is of texts with more changes than are looked for at once.
func TestChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := rapid.IntRange(2, 400).Draw(t, "kinds")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		text := func() string {
			var b strings.Builder
			for range r.IntN(600) {
				fmt.Fprintf(&b, "%d\n", r.IntN(kinds))
			}
			return b.String() + strings.Repeat("end", r.IntN(2))
		}
		before, after := text(), text()
		if got := Apply(before, Hunks(before, after)); got != after {
			t.Fatalf("all of\n%q\n%q\nis %q", before, after, got)
		}
	})
}
