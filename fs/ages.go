package fs

import (
	"runtime/debug"
	"slices"
)

// How much memory a session may have resident that makes files without end: 256 MiB, but for what it takes to write a large
// file at the same time.
const (
	// maxNodes is how many inodes the kernel is let hold, all of which are held here too, with some 350 bytes of the heap each
	// (BenchmarkHeld). With that, half of goMemory is room for the collector: for 447,000 nodes, it took twice the
	// processor time for each new file.
	maxNodes = 280_000
	// goMemory is for all that Go allocates. Some 40 MiB are SQLite's, programs' text, and buffers that the kernel shares.
	goMemory = 216 << 20
)

// BoundMemory has this process collect garbage more often when there is much in use.
func BoundMemory() { debug.SetMemoryLimit(goMemory) }

// ages tell which nodes were asked about longest ago, so that the kernel can be told to let go of these. A node is as
// young as the generation in which it was last asked about. What the kernel answers from its caches is not heard of.
type ages struct {
	limit  int    // of nodes
	now    uint32 // the youngest generation
	young  int    // how many nodes came to it
	counts []int  // of nodes by generation, from the oldest to now
}

const (
	generations = 16 // in about as many nodes as there may be
	pruned      = 8  // the part of them that is let go at a time
)

func newAges(limit int) ages { return ages{limit: limit, counts: []int{0}} }

// come counts a node in, as young.
func (a *ages) come(n *node) {
	n.age = a.now
	a.young++
	a.counts[len(a.counts)-1]++
}

// leave counts a node out.
func (a *ages) leave(n *node) { a.counts[len(a.counts)-1-int(a.now-n.age)]-- }

// turn begins a new generation if there are enough nodes in the youngest, and tells whether it did.
func (a *ages) turn() bool {
	if a.young < max(a.limit/generations, 1) {
		return false
	}
	for len(a.counts) > 1 && a.counts[0] == 0 {
		a.counts = a.counts[1:]
	}
	a.now, a.young, a.counts = a.now+1, 0, append(a.counts, 0)
	return true
}

// excess is the age up to which nodes are to be let go, as there are too many; ok is false if there are not.
func (a *ages) excess() (age uint32, ok bool) {
	n := -a.limit
	for _, count := range a.counts {
		n += count
	}
	if n <= 0 {
		return 0, false
	}
	n += a.limit / pruned
	i := slices.IndexFunc(a.counts, func(count int) bool { n -= count; return n <= 0 })
	return a.now - uint32(len(a.counts)-1-i), true
}

// use has a node be young that was asked about.
func (t *tx) use(n *node) {
	if n.age != t.ages.now {
		t.ages.leave(n)
		t.ages.come(n)
		t.prune()
	}
}

// prune has the kernel told to let go of the oldest nodes, if there are too many. Those that it keeps, because they are in
// use, are young again.
func (t *tx) prune() {
	if !t.ages.turn() || t.pending == nil || t.pending.prune != nil {
		return
	}
	age, ok := t.ages.excess()
	if !ok {
		return
	}
	var old []Ino
	for ino, n := range t.nodes {
		if n.age <= age {
			t.ages.leave(n)
			t.ages.come(n)
			if ino != RootIno {
				old = append(old, ino)
			}
		}
	}
	t.ages.young = 0
	t.pending.letGo(old)
}
