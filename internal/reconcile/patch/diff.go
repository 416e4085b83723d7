package patch

import (
	"slices"

	"github.com/aymanbagabas/go-udiff"
	"github.com/aymanbagabas/go-udiff/lcs"
)

const (
	// enough is how many lines lcs adds and takes away before it gives up and takes all between what it has found at the beginning and at the
	// end for another text.
	enough = 100
	// mostCompared bounds how many lines are looked at, those that are looked at again included, so that no text takes minutes.
	mostCompared = 100_000_000
)

// compared compares two texts line by line, as udiff.Lines does, however many lines differ.
func compared(before, after string) (list []udiff.Edit) {
	old, now := lines(before), lines(after)
	at, next := 0, 0 // offsets
	o, n := 0, 0     // the lines there
	until := func(i, j int) {
		if o == i && n == j {
			return
		}
		e := udiff.Edit{Start: at, End: at}
		for ; o < i; o++ {
			e.End += len(old[o])
		}
		from := next
		for ; n < j; n++ {
			next += len(now[n])
		}
		e.New, at = after[from:next], e.End
		list = append(list, e)
	}
	for _, p := range match(old, now) {
		until(p.old, p.now)
		at, next = at+len(old[o]), next+len(now[n])
		o, n = o+1, n+1
	}
	until(len(old), len(now))
	return list
}

// pair is a line that two texts have in common, by its numbers there.
type pair struct{ old, now int }

// match finds the lines that two texts have in common, in their order.
func match(old, now []string) []pair {
	numbers := make([]int, max(len(old), len(now)))
	for i := range numbers {
		numbers[i] = i
	}
	m := matcher{old: old, now: now}
	m.compare(numbers[:len(old)], numbers[:len(now)])
	return m.pairs
}

// matcher compares parts of two texts, the first ones first. lcs finds the shortest change if that is short. Else lines that one part alone
// has are left out, which changes nothing about what both have in common; then what is between lines that each part has once is compared by
// itself, as a patience diff does; and if there is none, what is between those that lcs has found.
type matcher struct {
	old, now []string
	pairs    []pair
	compared int
}

// compare compares lines of the old text with those of the new one, by their numbers.
func (m *matcher) compare(a, b []int) {
	for len(a) > 0 && len(b) > 0 && m.same(a[0], b[0]) {
		m.pairs = append(m.pairs, pair{a[0], b[0]})
		a, b = a[1:], b[1:]
	}
	var behind []pair
	for len(a) > 0 && len(b) > 0 && m.same(a[len(a)-1], b[len(b)-1]) {
		behind = append(behind, pair{a[len(a)-1], b[len(b)-1]})
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a) > 0 && len(b) > 0 {
		m.compareRest(a, b)
	}
	slices.Reverse(behind)
	m.pairs = append(m.pairs, behind...)
}

func (m *matcher) same(o, n int) bool { return m.old[o] == m.now[n] }

// compareRest is compare for parts that neither begin nor end with the same line.
func (m *matcher) compareRest(a, b []int) {
	m.compared += len(a) + len(b)
	found := lcs.DiffLines(pick(m.old, a), pick(m.now, b))
	cost := 0
	for _, d := range found {
		cost += d.End - d.Start + d.ReplEnd - d.ReplStart
	}
	if cost <= enough || m.compared > mostCompared {
		m.take(a, b, found, false)
		return
	}
	lineOf := map[string]*occurrence{}
	for _, o := range a {
		at := lineOf[m.old[o]]
		if at == nil {
			at = &occurrence{}
			lineOf[m.old[o]] = at
		}
		at.inOld++
	}
	for i, n := range b {
		if at := lineOf[m.now[n]]; at != nil {
			at.inNow, at.now = at.inNow+1, i
		}
	}
	inBoth := slices.DeleteFunc(slices.Clone(a), func(o int) bool { return lineOf[m.old[o]].inNow == 0 })
	ofBoth := slices.DeleteFunc(slices.Clone(b), func(n int) bool { return lineOf[m.now[n]] == nil })
	if len(inBoth) < len(a) || len(ofBoth) < len(b) {
		m.compare(inBoth, ofBoth)
		return
	}
	var once []pair // by their places in a and b
	for i, o := range a {
		if at := lineOf[m.old[o]]; at.inOld == 1 && at.inNow == 1 {
			once = append(once, pair{i, at.now})
		}
	}
	if once = rising(once); len(once) == 0 {
		m.take(a, b, found, len(found) > 1)
		return
	}
	from := pair{}
	for _, p := range once {
		m.compare(a[from.old:p.old], b[from.now:p.now])
		m.pairs = append(m.pairs, pair{a[p.old], b[p.now]})
		from = pair{p.old + 1, p.now + 1}
	}
	m.compare(a[from.old:], b[from.now:])
}

// occurrence is how often a line is in each of two parts, and where it is last in the new one.
type occurrence struct{ inOld, inNow, now int }

// take takes the lines that lcs has found. With further, what is between them is compared again.
func (m *matcher) take(a, b []int, found []lcs.Diff, further bool) {
	o, n := 0, 0
	for _, d := range append(found, lcs.Diff{Start: len(a), End: len(a), ReplStart: len(b), ReplEnd: len(b)}) {
		for ; o < d.Start; o, n = o+1, n+1 {
			m.pairs = append(m.pairs, pair{a[o], b[n]})
		}
		if further {
			m.compare(a[d.Start:d.End], b[d.ReplStart:d.ReplEnd])
		}
		o, n = d.End, d.ReplEnd
	}
}

func pick(all []string, numbers []int) []string {
	list := make([]string, len(numbers))
	for i, n := range numbers {
		list[i] = all[n]
	}
	return list
}

// rising returns the most of some pairs, which rise in the old text, that rise in the new one, too: by sorting them as in the game of
// patience.
func rising(list []pair) []pair {
	var tops []int // of the piles: places in list
	below := make([]int, len(list))
	for i, p := range list {
		pile, _ := slices.BinarySearchFunc(tops, p.now, func(top, now int) int { return list[top].now - now })
		if below[i] = -1; pile > 0 {
			below[i] = tops[pile-1]
		}
		if pile == len(tops) {
			tops = append(tops, i)
		} else {
			tops[pile] = i
		}
	}
	if len(tops) == 0 {
		return nil
	}
	found := make([]pair, len(tops))
	for i, at := len(tops)-1, tops[len(tops)-1]; i >= 0; i, at = i-1, below[at] {
		found[i] = list[at]
	}
	return found
}
