package screen

import (
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// maxCluster bounds what is combined in a cell.
const maxCluster = 32

// text follows p up to an escape character. partly says that what is left is a part of a character.
func (s *Screen) text(p []byte) (n int, partly bool) {
	for i := 0; i < len(p); {
		c := p[i]
		switch {
		case c-' ' < 0x7f-' ':
			end := i + 1
			for end < len(p) && p[end]-' ' < 0x7f-' ' {
				end++
			}
			s.ascii(p[i:end])
			i = end
		case c == '\x1b':
			return i, false
		case c < utf8.RuneSelf:
			s.control(c)
			i++
		case !utf8.FullRune(p[i:]):
			return i, true
		default:
			r, size := utf8.DecodeRune(p[i:])
			s.put(r)
			i += size
		}
	}
	return len(p), false
}

// ascii puts printable characters.
func (s *Screen) ascii(p []byte) {
	if s.shift != 0 || s.cur.sets[s.cur.gl] != 'B' || s.modes.insert {
		for _, c := range p {
			s.put(s.translate(c))
		}
		return
	}
	s.last = rune(p[len(p)-1])
	for c := &s.cur; len(p) > 0; {
		if c.wrap {
			s.nextLine()
		}
		n := min(len(p), s.cols-c.x)
		r := s.lines[c.y]
		r.part(c.x, c.x+n)
		cells := r.cells[c.x : c.x+n]
		if c.pen != r.fill || c.x < r.used {
			fill(cells, c.pen)
		}
		for i, char := range p[:n] {
			cells[i].char = uint32(char)
		}
		s.advance(r, n)
		p = p[n:]
	}
}

// advance moves the cursor behind what was put on r.
func (s *Screen) advance(r *row, n int) {
	c := &s.cur
	c.x += n
	r.used = max(r.used, c.x)
	if c.x >= s.cols {
		c.x, c.wrap = s.cols-1, s.modes.autowrap
	}
}

// put puts one character.
func (s *Screen) put(char rune) {
	width := runeWidth(char)
	if width == 0 {
		s.combine(char)
		return
	}
	s.last = char
	c := &s.cur
	if c.wrap {
		s.nextLine()
	}
	if c.x+width > s.cols { // half of it
		if !s.modes.autowrap || width > s.cols {
			return
		}
		s.nextLine()
	}
	r := s.lines[c.y]
	if s.modes.insert {
		r.insert(c.x, width, c.pen)
	}
	r.part(c.x, c.x+width)
	r.cells[c.x] = c.pen
	r.cells[c.x].char = uint32(char)
	if width == 2 {
		r.cells[c.x].char |= isWide
		r.cells[c.x+1] = c.pen
		r.cells[c.x+1].char = tail
		r.wide = true
	}
	s.advance(r, width)
}

// combine adds a character without a width to the one before.
func (s *Screen) combine(char rune) {
	x, r := s.cur.x, s.lines[s.cur.y]
	if !s.cur.wrap {
		x--
	}
	if x > 0 && r.cells[x].char == tail {
		x--
	}
	if x < 0 || char < 0xa0 {
		return
	}
	text := s.appendChar(nil, r.cells[x].char)
	if len(text) >= maxCluster {
		return
	}
	if n := s.cluster(string(utf8.AppendRune(text, char))); n != 0 {
		r.cells[x].char = r.cells[x].char&isWide | firstCluster + uint32(n)
		r.used = max(r.used, x+1)
	}
}

func (s *Screen) appendChar(p []byte, char uint32) []byte {
	switch char &^= isWide; {
	case char < utf8.RuneSelf:
		return append(p, byte(char))
	case char < firstCluster:
		return utf8.AppendRune(p, rune(char))
	}
	return append(p, s.clusters.value(uint16(char-firstCluster))...)
}

// runeWidth is the width of char alone, as of wcwidth(3): most terminals go by characters, not by what is one to a reader.
func runeWidth(char rune) int {
	switch {
	case char < 0x7f || char == 0xad: // as xterm has the soft hyphen (wcwidth.c)
		return 1
	case char < 0xa0:
		return 0
	case char < 0x300:
		return 1
	case char >= 0x1f1e6 && char <= 0x1f1ff: // two of which make a flag
		return 1
	}
	return displaywidth.Rune(char)
}

// translate returns what c is in the set of characters in use.
func (s *Screen) translate(c byte) rune {
	set := s.cur.sets[s.cur.gl]
	if s.shift != 0 {
		set, s.shift = s.cur.sets[s.shift], 0
	}
	switch {
	case set == '0' && c >= '_' && c <= '~':
		return graphics[c-'_']
	case set == 'A' && c == '#':
		return '£'
	}
	return rune(c)
}

// graphics are DEC's special graphics, from '_' on.
var graphics = []rune("\u00a0◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·")

// control follows a control character.
func (s *Screen) control(c byte) {
	s.last = 0
	switch c {
	case '\b':
		s.toColumn(s.cur.x - 1)
	case '\t':
		s.toColumn(s.tabs.next(s.cur.x, s.cols))
	case '\n', '\v', '\f':
		s.index()
		if s.modes.newline {
			s.cur.x = 0
		}
	case '\r':
		s.toColumn(0)
	case 0x0e, 0x0f: // SO, SI
		s.cur.gl = 0x0f - int(c)
	}
}

// nextLine is what the end of a line does.
func (s *Screen) nextLine() {
	s.cur.x = 0
	s.index()
}

func (s *Screen) index() {
	s.cur.wrap = false
	switch {
	case s.cur.y == s.bottom:
		s.scrollUp(s.top, 1)
	case s.cur.y < s.rows-1:
		s.cur.y++
	}
}

func (s *Screen) reverseIndex() {
	s.cur.wrap = false
	switch {
	case s.cur.y == s.top:
		s.scrollDown(s.top, 1)
	case s.cur.y > 0:
		s.cur.y--
	}
}

// scrollUp moves the lines from top to the bottom margin up, by n.
func (s *Screen) scrollUp(top, n int) {
	lines := s.lines[top : s.bottom+1]
	n = min(n, len(lines))
	if top == 0 && s.altMode == 0 {
		for _, r := range lines[:n] {
			s.back.push(s, r)
		}
	}
	s.rotate(lines, n)
	for _, r := range lines[len(lines)-n:] {
		r.clear(s.erased())
	}
}

func (s *Screen) scrollDown(top, n int) {
	lines := s.lines[top : s.bottom+1]
	n = min(n, len(lines))
	s.rotate(lines, len(lines)-n)
	for _, r := range lines[:n] {
		r.clear(s.erased())
	}
}

// rotate moves the first n lines to the end.
func (s *Screen) rotate(lines []*row, n int) {
	if n == 1 {
		first := lines[0]
		copy(lines, lines[1:])
		lines[len(lines)-1] = first
		return
	}
	first := append([]*row(nil), lines[:n]...)
	copy(lines[copy(lines, lines[n:]):], first)
}

// erased is what is left where something is erased: the colour of the background (xterm's bce).
func (s *Screen) erased() cell {
	return cell{char: ' ', bg: s.cur.pen.bg}
}
