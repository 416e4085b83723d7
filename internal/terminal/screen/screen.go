// Package screen keeps a picture of a terminal: it follows what programs write, and writes what brings another terminal
// to the same picture. A session that nobody looks at is drawn from it when somebody comes.
//
// It follows xterm (XTerm Control Sequences, ctlseqs(7)) in what programs use, with the kitty keyboard protocol. Text is
// UTF-8, a character is as wide as displaywidth says of it alone, and images are not kept. What it holds is bounded,
// whatever is written.
package screen

import (
	"bytes"

	"github.com/riverlytech/art/internal/terminal/escape"
)

const (
	maxCols, maxRows = 1000, 1000
	maxCells         = 1 << 17 // 640 x 200; of 16 bytes, on each of the two screens
	maxPending       = 256 << 10
)

// Screen is a terminal that nobody sees. Its methods are for one goroutine at a time.
type Screen struct {
	cols, rows int
	cur        cursor
	*grid      // the one that is shown
	primary    grid
	alternate  grid
	altMode    int // the private mode that has shown the alternate screen: 47, 1047, 1049, or 0
	back       scrollback

	top, bottom int // the margins, both within
	modes       modes
	tabs        tabs
	shape       int // of the cursor, by DECSCUSR
	title       string
	titles      []string // that were pushed
	colours     palette

	pending []byte // text that is not looked at yet
	parser  escape.Parser
	last    rune // the character before, for REP; 0 behind anything else
	shift   int  // SS2 or SS3: the set of the next character

	clusters pool[string]
	extras   pool[extra]
	answers  []byte
}

// cursor is what DECSC saves.
type cursor struct {
	x, y   int
	wrap   bool // the next character goes to the next line
	pen    cell
	sets   [4]byte // G0 to G3, by their final characters
	gl     int     // which of them is in use
	origin bool    // rows count from the top margin
}

// grid is one of the two screens.
type grid struct {
	lines    []*row
	saved    cursor
	keyboard []uint16 // flags of the kitty protocol; the last are in force
}

// New returns an empty screen. It is smaller where Fit says so.
func New(cols, rows int) *Screen {
	s := &Screen{}
	s.cols, s.rows = Fit(cols, rows)
	s.reset()
	return s
}

// Fit returns the size of a screen that is asked for.
func Fit(cols, rows int) (int, int) {
	cols = min(max(cols, 1), maxCols)
	return cols, min(max(rows, 1), maxRows, maxCells/cols)
}

// Size returns the size of the screen.
func (s *Screen) Size() (cols, rows int) { return s.cols, s.rows }

// Title returns the title of the window.
func (s *Screen) Title() string {
	s.flush()
	return s.title
}

// reset is RIS: everything as at first.
func (s *Screen) reset() {
	s.primary = grid{lines: newLines(s.cols, s.rows)}
	s.alternate, s.altMode = grid{}, 0
	s.grid = &s.primary
	s.cur = newCursor()
	s.primary.saved = s.cur
	s.back = scrollback{}
	s.top, s.bottom = 0, s.rows-1
	s.modes = newModes()
	s.tabs = newTabs()
	s.shape, s.title, s.titles, s.colours = 0, "", nil, nil
	s.last, s.shift = 0, 0
	s.clusters, s.extras = pool[string]{}, pool[extra]{}
}

func newCursor() cursor {
	return cursor{pen: blank, sets: [4]byte{'B', 'B', 'B', 'B'}}
}

// Write follows p. It never fails.
func (s *Screen) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := min(len(rest), maxPending)
		s.take(rest[:n])
		rest = rest[n:]
	}
	return len(p), nil
}

// take has text wait until somebody looks, or there is much of it: most of what scrolls by is never seen (see unseen).
// An escape character begins what may be of interest at once: answers wait for no text.
func (s *Screen) take(p []byte) {
	if s.parser.Ground() && bytes.IndexByte(p, '\x1b') < 0 {
		s.pending = append(s.pending, p...)
		if len(s.pending) > maxPending {
			s.drop()
		}
		return
	}
	s.flush()
	if len(s.pending) > 0 { // a part of a character
		p = append(s.pending, p...)
	}
	n := s.parse(p)
	s.pending = append(s.pending[:0], p[n:]...)
}

// flush looks at the text that waits. At most a part of a character is left.
func (s *Screen) flush() {
	if len(s.pending) == 0 {
		return
	}
	p := s.pending[s.unseen(s.pending):]
	n := s.parse(p)
	s.pending = s.pending[:copy(s.pending, p[n:])]
}

// drop makes room for more text. Of long output, what leaves nothing behind is never looked at.
func (s *Screen) drop() {
	if n := s.unseen(s.pending); n >= maxPending/4 {
		s.pending = s.pending[:copy(s.pending, s.pending[n:])]
		return
	}
	s.flush()
}

// unseen returns how much at the beginning of text leaves nothing behind: at a line's beginning, when so many lines follow
// that every line from before is gone from the screen, wherever the cursor is, and from the scroll-back.
func (s *Screen) unseen(text []byte) int {
	if len(text) < 4096 || s.top != 0 || s.bottom != s.rows-1 {
		return 0
	}
	end := len(text)
	for range maxLines + 2*s.rows {
		if end = bytes.LastIndexByte(text[:end], '\n'); end < 0 {
			return 0
		}
	}
	end = bytes.LastIndex(text[:end], []byte("\r\n"))
	if end < 0 || bytes.IndexByte(text[:end], '\x0e') >= 0 || bytes.IndexByte(text[:end], '\x0f') >= 0 {
		return 0 // another set of characters may go on
	}
	s.cur.x, s.cur.wrap, s.last, s.shift = 0, false, 0, 0
	return end + len("\r\n")
}

// Resize changes the size as xterm does: lines are cut or get longer, and are not wrapped anew. What does not fit above
// the cursor goes to the scroll-back.
func (s *Screen) Resize(cols, rows int) {
	s.flush()
	cols, rows = Fit(cols, rows)
	if cols == s.cols && rows == s.rows {
		return
	}
	y := &s.cur.y
	if s.altMode != 0 {
		y = &s.primary.saved.y
		s.alternate.resize(cols, rows, s.cur.y-rows+1, nil)
		s.cur.y -= max(s.cur.y-rows+1, 0)
	}
	over := max(*y-rows+1, 0)
	s.primary.resize(cols, rows, over, func(r *row) { s.back.push(s, r) })
	*y -= over
	s.cols, s.rows = cols, rows
	s.top, s.bottom = 0, rows-1
	for _, c := range []*cursor{&s.cur, &s.primary.saved, &s.alternate.saved} {
		s.clamp(c)
	}
}

// clamp moves c to where it is on the screen.
func (s *Screen) clamp(c *cursor) {
	if c.x >= s.cols || c.wrap && c.x != s.cols-1 {
		c.wrap = false
	}
	c.x, c.y = min(max(c.x, 0), s.cols-1), min(max(c.y, 0), s.rows-1)
}

// resize takes over lines away at the top, and hands them to gone.
func (g *grid) resize(cols, rows, over int, gone func(*row)) {
	for ; over > 0; over-- {
		if gone != nil {
			gone(g.lines[0])
		}
		g.lines = g.lines[1:]
	}
	lines := newLines(cols, rows)
	for y := range min(rows, len(g.lines)) {
		from, to := g.lines[y], lines[y]
		n := copy(to.cells, from.cells)
		to.used, to.wide = n, from.wide
		to.mend(cols)
	}
	g.lines = lines
}
