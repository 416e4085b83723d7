package screen

import (
	"maps"
	"slices"
	"strconv"
)

// begin makes of a terminal, whatever was on it, one with nothing turned on that is in the way of painting.
const begin = "\x1b[?2026h\x1b[m\x1b(B\x1b)B\x1b*B\x1b+B\x0f\x1b[4l\x1b[20l\x1b[?6l\x1b[?7h\x1b7\x1b[r\x1b8"

// Redraw returns what brings a terminal of cols by rows, on which a shell had its lines, to this picture. They go up
// out of sight, then the scroll-back. Of a terminal that is smaller the end around the cursor is shown.
func (s *Screen) Redraw(cols, rows int) []byte {
	s.flush()
	p := s.painter(begin + "\r\x1b[J")
	s.back.each(func(line []byte) {
		p.out = append(p.out, line...)
		p.text("\r\n")
	})
	return s.paint(p, cols, rows, false)
}

// Repaint is Redraw for a terminal that has shown this screen already: without the scroll-back, and turning off what is
// off.
func (s *Screen) Repaint(cols, rows int) []byte {
	s.flush()
	p := s.painter("\x18\x1b[?1049l\x1b[?1047l\x1b]8;;\x1b\\" + begin + "\x1b[<99u\x1b[H\x1b[2J")
	return s.paint(p, cols, rows, true)
}

func (s *Screen) painter(start string) *painter {
	return &painter{s: s, out: []byte(start), pen: blank, sets: newCursor().sets, links: true, place: true}
}

// frame is what is seen of the screen on another terminal.
type frame struct {
	*painter
	cols, rows int // of the terminal
	first      int // row of the screen on the terminal's first
}

func (s *Screen) paint(p *painter, cols, rows int, all bool) []byte {
	cols, rows = max(cols, 1), max(rows, 1)
	f := frame{p, cols, rows, max(s.cur.y-rows+1, 0)}
	f.lines(&s.primary)
	if s.altMode != 0 {
		f.stops()
		f.cursor(s.primary.saved, 0, &s.primary)
		if s.altMode != 1049 {
			p.text("\x1b7")
		}
		f.keyboard(s.primary.keyboard)
		p.private(s.altMode, true)
		f.plain()
		p.text("\x1b[?6l\x1b[H\x1b[2J")
		if all {
			p.text("\x1b[<99u")
		}
		f.lines(&s.alternate)
	} else {
		f.stops()
	}
	f.cursor(s.saved, 0, s.grid)
	p.text("\x1b7")
	f.plain()
	p.text("\x1b[?6l")
	top := 0
	if s.top > 0 || s.bottom < s.rows-1 || rows > s.rows {
		top = max(s.top-f.first, 0)
		if bottom := min(s.bottom-f.first, rows-1); top < bottom {
			p.csi('r', top+1, bottom+1)
		} else {
			top = 0
		}
	}
	f.texts()
	f.cursor(s.cur, top, s.grid)
	f.keyboard(s.keyboard)
	f.modes(all)
	p.text(string(s.parser.Rest()))
	p.text(string(s.pending))
	return p.out
}

// lines writes the lines of g one below the other, so that the last is at the terminal's end.
func (f frame) lines(g *grid) {
	for y := range f.rows {
		if y > 0 {
			f.text("\r\n")
		}
		if f.first+y < f.s.rows {
			f.row(g.lines[f.first+y], min(f.cols, f.s.cols))
		}
	}
}

// plain has what is written next be plain text.
func (f frame) plain() {
	f.style(blank)
	f.charsets(newCursor())
}

// cursor has the cursor be as c, which is on g. top is the terminal's top margin.
func (f frame) cursor(c cursor, top int, g *grid) {
	x, y := min(c.x, f.cols-1), min(max(c.y-f.first, 0), f.rows-1)
	if c.origin {
		f.private(6, true)
		y = max(y-top, 0)
	}
	if c.wrap && c.x == f.cols-1 {
		r := g.lines[c.y]
		if r.cells[x].char == tail {
			x--
		}
		f.csi('H', y+1, x+1)
		f.style(r.cells[x])
		f.out = f.s.appendChar(f.out, r.cells[x].char)
	} else {
		f.csi('H', y+1, x+1)
	}
	f.charsets(c)
	f.style(c.pen)
}

// stops sets the stops of tabulators.
func (f frame) stops() {
	set, first := f.s.tabs, newTabs()
	differ := false
	for x := 1; x < f.s.cols; x++ { // at 0, one changes nothing
		differ = differ || set.at(x) != first.at(x)
	}
	if !differ {
		return
	}
	f.text("\x1b[3g")
	for x := 1; x < min(f.s.cols, f.cols); x++ {
		if set.at(x) {
			f.csi('G', x+1)
			f.text("\x1bH")
		}
	}
}

// texts are the titles and the palette.
func (f frame) texts() {
	for _, title := range f.s.titles {
		f.text("\x1b]2;" + title + "\a\x1b[22;2t")
	}
	if f.s.title != "" || len(f.s.titles) > 0 {
		f.text("\x1b]2;" + f.s.title + "\a")
	}
	for _, key := range slices.Sorted(maps.Keys(f.s.colours)) {
		f.text("\x1b]" + key + ";" + f.s.colours[key] + "\a")
	}
}

func (f frame) keyboard(flags []uint16) {
	for i, n := range flags {
		switch {
		case i > 0:
			f.text("\x1b[>" + strconv.Itoa(int(n)) + "u")
		case n != 0:
			f.text("\x1b[=" + strconv.Itoa(int(n)) + ";1u")
		}
	}
}

// modes sets the modes that are not as at first, or all.
func (f frame) modes(all bool) {
	s, m := f.s, f.s.modes
	for _, is := range []struct {
		as      bool // as at first
		command string
	}{
		{!m.insert, "\x1b[4h"}, {!m.newline, "\x1b[20h"}, {m.autowrap, "\x1b[?7l"}, {!m.keypad, "\x1b="}, {!all || m.keypad, "\x1b>"},
		{!all || m.mouse != 0, "\x1b[?1000l"}, {!all || m.encoding != 0, "\x1b[?1006l"},
		{m.otherKeys == 0 && !all, "\x1b[>4;" + strconv.Itoa(m.otherKeys) + "m"},
		{s.shape == 0 && !all, "\x1b[" + strconv.Itoa(s.shape) + " q"},
	} {
		if !is.as {
			f.text(is.command)
		}
	}
	for _, mode := range []int{m.mouse, m.encoding} {
		if mode != 0 {
			f.private(mode, true)
		}
	}
	for i, k := range kept {
		if on := m.private&(1<<i) != 0; k.mode != 2026 && (all || on != k.first) {
			f.private(k.mode, on)
		}
	}
	if s.shift != 0 {
		f.text([...]string{2: "\x1bN", 3: "\x1bO"}[s.shift])
	}
	if on, _ := m.is(2026); !on {
		f.private(2026, false)
	}
}
