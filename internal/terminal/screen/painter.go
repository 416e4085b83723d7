package screen

import (
	"slices"
	"strconv"
	"unicode/utf8"
)

// painter writes to a terminal, and remembers what it has told it.
type painter struct {
	s     *Screen
	out   []byte
	pen   cell
	sets  [4]byte
	gl    int
	links bool
	place bool // the cursor behind characters that terminals disagree on
}

// maxLinked is how much is written with links: a hostile screen may have a long one in each cell.
const maxLinked = 4 << 20

// row writes the first cols columns of r, but not what is empty at its end, and leaves the pen plain.
func (p *painter) row(r *row, cols int) {
	end := len(r.cells)
	if r.fill == blank {
		end = r.used
	}
	for end = min(end, cols); end > 0 && r.cells[end-1] == blank; {
		end--
	}
	cells := r.cells[:end]
	for x := 0; x < end; x++ {
		c := &cells[x]
		if !c.same(&p.pen) {
			p.style(*c)
		}
		switch {
		case c.char < utf8.RuneSelf && c.char != tail:
			x += p.ascii(cells[x:]) - 1
		case c.char == tail:
		case c.char&isWide != 0 && x+2 > cols:
			p.out = append(p.out, ' ')
		default:
			p.out = p.s.appendChar(p.out, c.char)
			if p.place && disputed(c.char&^isWide) && x+2 < end {
				x += int(c.char & isWide / isWide)
				p.csi('G', x+2)
			}
		}
	}
	p.style(blank)
}

// ascii writes the first cells, as many as are ASCII and look alike, and returns how many that are.
func (p *painter) ascii(cells []cell) int {
	out := slices.Grow(p.out, len(cells))
	begin := len(out)
	out = out[:begin+len(cells)]
	pen, n := p.pen, 0
	for ; n < len(cells); n++ {
		c := &cells[n]
		if c.char-1 >= utf8.RuneSelf-1 || !c.same(&pen) {
			break
		}
		out[begin+n] = byte(c.char)
	}
	p.out = out[:begin+n]
	return n
}

// disputed says whether terminals disagree on how wide char is: of emoji and what is combined.
func disputed(char uint32) bool {
	return char >= 0x1f000 || char >= 0x2600 && char < 0x2800
}

// csi writes a control sequence.
func (p *painter) csi(c byte, args ...int) {
	p.out = append(p.out, "\x1b["...)
	for i, n := range args {
		if i > 0 {
			p.out = append(p.out, ';')
		}
		p.out = strconv.AppendInt(p.out, int64(n), 10)
	}
	p.out = append(p.out, c)
}

func (p *painter) private(mode int, on bool) {
	p.out = append(p.out, "\x1b[?"...)
	p.out = strconv.AppendInt(p.out, int64(mode), 10)
	p.out = append(p.out, map[bool]byte{true: 'h', false: 'l'}[on])
}

func (p *painter) text(s string) { p.out = append(p.out, s...) }

// style has what is written next look as to.
func (p *painter) style(to cell) {
	from := p.pen
	if to.same(&from) {
		return
	}
	p.pen = to
	var is, was extra
	if to.extra != 0 || from.extra != 0 {
		is, was = p.extra(to), p.extra(from)
		p.link(is, was)
	}
	switch {
	case to.fg == from.fg && to.bg == from.bg && to.attrs == from.attrs && is.underline == was.underline:
		return
	case to.fg|to.bg|is.underline == 0 && to.attrs == 0: // most often
		p.text("\x1b[m")
		return
	}
	p.text("\x1b[")
	if from.fg|from.bg|was.underline != 0 || from.attrs != 0 {
		p.text("0;")
	}
	if to.attrs != 0 {
		p.attrs(to.attrs)
	}
	p.colour(to.fg, 30)
	p.colour(to.bg, 40)
	if last := len(p.out) - 1; p.out[last] == ';' {
		p.out = p.out[:last]
	}
	p.text("m")
	switch c := is.underline; {
	case c >= trueColor:
		p.text("\x1b[58:2::" + strconv.Itoa(int(c>>16&0xff)) + ":" + strconv.Itoa(int(c>>8&0xff)) + ":" + strconv.Itoa(int(c&0xff)) + "m")
	case c != 0:
		p.text("\x1b[58:5:" + strconv.Itoa(int(c&0xff)) + "m")
	}
}

// attrs writes the parameters of attributes.
func (p *painter) attrs(is attrs) {
	for i, n := range [...]string{"1;", "2;", "3;", "5;", "7;", "8;", "9;", "53;"} {
		if is&(1<<i) != 0 {
			p.text(n)
		}
	}
	p.text([...]string{"", "4;", "21;", "4:3;", "4:4;", "4:5;", "", ""}[is>>underlineShift])
}

func (p *painter) extra(c cell) extra {
	e := p.s.extras.value(c.extra)
	if !p.links || len(p.out) > maxLinked {
		e.params, e.uri = "", ""
	}
	return e
}

func (p *painter) link(is, was extra) {
	if is.uri != was.uri || is.params != was.params {
		p.text("\x1b]8;" + is.params + ";" + is.uri + "\x1b\\")
	}
}

// colour writes the parameters of c, which are from first on in the palette of eight.
func (p *painter) colour(c colour, first int) {
	n := int(c & 0xff)
	args := []int{}
	switch {
	case c == 0:
	case c >= trueColor:
		args = []int{first + 8, 2, int(c >> 16 & 0xff), int(c >> 8 & 0xff), n}
	case c < indexed && n < 8:
		args = []int{first + n}
	case c < indexed:
		args = []int{first + 60 + n - 8}
	default:
		args = []int{first + 8, 5, n}
	}
	for _, n := range args {
		p.out = strconv.AppendInt(p.out, int64(n), 10)
		p.out = append(p.out, ';')
	}
}

// charsets has the sets of characters be as of c.
func (p *painter) charsets(c cursor) {
	for i, set := range c.sets {
		if set != p.sets[i] {
			p.out = append(p.out, '\x1b', '('+byte(i), set)
		}
	}
	if c.gl != p.gl {
		p.text([...]string{"\x0f", "\x0e", "\x1bn", "\x1bo"}[c.gl])
	}
	p.sets, p.gl = c.sets, c.gl
}
