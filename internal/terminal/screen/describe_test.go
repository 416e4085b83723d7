package screen

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// describe says all that a terminal has of s, in lines. Empty cells at the ends of lines are left out.
func describe(s *Screen, withScrollback bool) []string {
	s.flush()
	lines := []string{fmt.Sprintf("%d x %d", s.cols, s.rows)}
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if withScrollback {
		s.back.each(func(line []byte) { add("back %q", line) })
	}
	grid := func(name string, g *grid) {
		for y, r := range g.lines {
			add("%s %d: %s", name, y, cells(s, r.cells))
		}
		add("%s saved %s; keyboard %v", name, describeCursor(s, g.saved), g.keyboard)
	}
	grid("primary", &s.primary)
	grid("alternate", &s.alternate)
	add("mode of the alternate screen %d, cursor %s, margins %d %d", s.altMode, describeCursor(s, s.cur), s.top, s.bottom)
	add("modes %+v, shape %d, shift %d", s.modes, s.shape, s.shift)
	var stops []int
	for x := 1; x < s.cols; x++ {
		if s.tabs.at(x) {
			stops = append(stops, x)
		}
	}
	add("tabs %v", stops)
	add("title %q, pushed %q", s.title, s.titles)
	for _, key := range slices.Sorted(maps.Keys(s.colours)) {
		add("colour %s %q", key, s.colours[key])
	}
	add("unended %q %q", s.parser.Rest(), s.pending)
	return lines
}

func describeCursor(s *Screen, c cursor) string {
	return fmt.Sprintf("%d,%d wrap %v %s sets %s %d origin %v", c.x, c.y, c.wrap, cells(s, []cell{c.pen}), c.sets, c.gl, c.origin)
}

// cells describes cells: what they show, and how where that changes.
func cells(s *Screen, cells []cell) string {
	var b strings.Builder
	pen := cell{fg: ^colour(0)}
	for len(cells) > 1 && cells[len(cells)-1] == blank {
		cells = cells[:len(cells)-1]
	}
	for _, c := range cells {
		if !c.same(&pen) {
			fmt.Fprintf(&b, "{%x %x %x %v}", c.fg, c.bg, c.attrs, s.extras.value(c.extra))
			pen = c
		}
		switch {
		case c.char == tail:
			b.WriteString(">")
		default:
			b.Write(s.appendChar(nil, c.char))
		}
	}
	return strconv.Quote(b.String())
}

// same fails the test where the two differ.
func same(t testing.TB, what string, got, want []string) bool {
	t.Helper()
	equal := len(got) == len(want)
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Errorf("%s:\n is %s\nwas %s", what, got[i], want[i])
			equal = false
		}
	}
	if !equal && len(got) != len(want) {
		t.Errorf("%s: %d and %d lines", what, len(got), len(want))
	}
	return equal
}

// redrawn checks that s is the same on another terminal.
func redrawn(t testing.TB, s *Screen, withScrollback bool) {
	t.Helper()
	want := describe(s, withScrollback)
	painting := s.Redraw(s.cols, s.rows)
	other := New(s.cols, s.rows)
	other.Write(painting)
	if !same(t, "after Redraw", describe(other, withScrollback), want) {
		t.Logf("painted %q", painting)
	}
	same(t, "Redraw changes nothing", describe(s, withScrollback), want)
	other.Write([]byte("\x18\x1b[?1049h\x1b[7m\x1b[3;9rsomething else\x1b[?25l\x1b(0\x1b[>5u\x1b[?6h"))
	other.Write(s.Repaint(s.cols, s.rows))
	same(t, "after Repaint", visible(other), visible(s))
}

// visible is what describe has but for what Repaint does not know of: who reads on in a sequence is in it, and the
// rest is from before.
func visible(s *Screen) []string {
	return slices.DeleteFunc(describe(s, false), func(line string) bool {
		return strings.HasPrefix(line, "title") || strings.HasPrefix(line, "tabs") || strings.HasPrefix(line, "colour")
	})
}
