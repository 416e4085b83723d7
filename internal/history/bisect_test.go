package history

import (
	"math/bits"
	"testing"

	"pgregory.net/rapid"
)

// What a search finds is bad, has a good one before it, and between the two only what cannot be tried; without such it takes as many runs
// as a binary search does.
func TestSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		says := rapid.SliceOfN(rapid.SampledFrom([]verdict{good, bad, skipped}), 0, 60).Draw(t, "says")
		says = append(append([]verdict{good}, says...), bad)
		runs, skips := 0, 0
		seen := map[int]bool{}
		from, to, err := search(len(says), func(i, left int) (verdict, error) {
			if seen[i] || i <= 0 || i >= len(says)-1 || left < 1 {
				t.Fatalf("asked of %d, with %d left", i, left)
			}
			seen[i] = true
			runs++
			if says[i] == skipped {
				skips++
			}
			return says[i], nil
		})
		if err != nil || from >= to || says[from] != good || says[to] != bad {
			t.Fatalf("from %d to %d, %v", from, to, err)
		}
		for _, v := range says[from+1 : to] {
			if v != skipped {
				t.Fatalf("from %d to %d, and one between is %s", from, to, v)
			}
		}
		if most := bits.Len(uint(len(says) - 1)); skips == 0 && runs > most {
			t.Fatalf("%d runs for %d, more than %d", runs, len(says), most)
		}
	})
}
