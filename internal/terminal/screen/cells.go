package screen

// colour is of the palette or of its own; 0 is what the terminal has at first. The sixteen that have names are also the first
// of the palette, but where bold text is bright that is so of those alone that were called by name.
type colour uint32

const (
	named     colour = 1 << 16
	indexed   colour = 1 << 24
	trueColor colour = 2 << 24
)

type attrs uint16

const (
	bold attrs = 1 << iota
	dim
	italic
	blink
	reverse
	invisible
	strike
	overline

	underlineShift = 8
	underlines     = attrs(7) << underlineShift // 4:1 to 4:5
)

// cell is what is in one place.
type cell struct {
	char   uint32 // a character, or firstCluster and more: the number of a cluster; with isWide; tail
	fg, bg colour
	attrs  attrs
	extra  uint16 // the number of what few cells have
}

const (
	tail         = 0 // the right half of a wide character
	firstCluster = 1 << 24
	isWide       = 1 << 30 // the left half
)

var blank = cell{char: ' '}

// extra is what few cells have.
type extra struct {
	params, uri string // of a link (OSC 8)
	underline   colour
}

// same says whether c looks as pen.
func (c *cell) same(pen *cell) bool {
	return c.fg == pen.fg && c.bg == pen.bg && c.attrs == pen.attrs && c.extra == pen.extra
}

// row is a line.
type row struct {
	cells []cell
	used  int  // what is behind is fill
	fill  cell // see erase
	wide  bool // there may be wide characters
}

func newLines(cols, rows int) []*row {
	cells := make([]cell, cols*rows)
	all := make([]row, rows)
	lines := make([]*row, rows)
	for y := range lines {
		all[y] = row{cells: cells[y*cols : (y+1)*cols : (y+1)*cols], used: cols}
		all[y].clear(blank)
		lines[y] = &all[y]
	}
	return lines
}

// clear makes all of r empty. It touches what is not so already.
func (r *row) clear(with cell) {
	n := len(r.cells)
	if r.fill == with {
		n = r.used
	}
	fill(r.cells[:n], with)
	r.used, r.fill, r.wide = 0, with, false
}

// erase makes the cells from x to end empty.
func (r *row) erase(x, end int, with cell) {
	if x <= 0 && end >= r.used && (end >= len(r.cells) || with == r.fill) {
		r.clear(with)
		return
	}
	r.part(x, end)
	fill(r.cells[x:end], with)
	switch {
	case with != r.fill:
		r.used = max(r.used, end)
	case end >= r.used:
		r.used = min(r.used, x)
	}
}

func fill(cells []cell, with cell) {
	for i := range cells[:min(len(cells), 8)] {
		cells[i] = with
	}
	for n := 8; n < len(cells); n *= 2 {
		copy(cells[n:], cells[:n])
	}
}

// part erases what is outside of x to end of the wide characters that lie across these.
func (r *row) part(x, end int) {
	if !r.wide {
		return
	}
	if x > 0 && x < len(r.cells) && r.cells[x].char == tail {
		r.cells[x-1].char = ' '
	}
	if end < len(r.cells) && r.cells[end].char == tail {
		r.cells[end].char = ' '
	}
}

// mend erases a wide character of which the end of the line at cols has cut off the right half.
func (r *row) mend(cols int) {
	if last := &r.cells[cols-1]; last.char&isWide != 0 {
		last.char = ' '
	}
}

// insert moves what is at x and behind to the right, by n.
func (r *row) insert(x, n int, with cell) {
	n = min(n, len(r.cells)-x)
	r.part(x, x)
	copy(r.cells[x+n:], r.cells[x:])
	fill(r.cells[x:x+n], with)
	r.used = len(r.cells)
	r.mend(len(r.cells))
}

// remove moves what is behind n cells at x to the left.
func (r *row) remove(x, n int, with cell) {
	n = min(n, len(r.cells)-x)
	r.part(x, x+n)
	copy(r.cells[x:], r.cells[x+n:])
	fill(r.cells[len(r.cells)-n:], with)
	r.used = len(r.cells)
}

// pool numbers values, from 1 on. It is bounded: when it is full, numbers that no cell has are used again.
type pool[T comparable] struct {
	numbers map[T]uint16
	values  []T
	free    []uint16
	asked   int // for new numbers, since those were last looked for that no cell has
}

const maxPool = 1024

// number returns the number of v, 0 if there is no room. used says which numbers are in use.
func (p *pool[T]) number(v T, used func(have []bool)) uint16 {
	if n, known := p.numbers[v]; known {
		return n
	}
	if p.numbers == nil {
		p.numbers, p.values = map[T]uint16{}, make([]T, 1)
	}
	p.asked++
	switch {
	case len(p.values) < maxPool:
		p.values = append(p.values, v)
		p.numbers[v] = uint16(len(p.values) - 1)
		return p.numbers[v]
	case len(p.free) == 0 && p.asked >= maxPool: // to look at all cells takes long
		p.asked = 0
		p.sweep(used)
	}
	if len(p.free) == 0 {
		return 0
	}
	n := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	p.values[n], p.numbers[v] = v, n
	return n
}

func (p *pool[T]) sweep(used func([]bool)) {
	have := make([]bool, maxPool)
	used(have)
	for n := 1; n < maxPool; n++ {
		if !have[n] {
			delete(p.numbers, p.values[n])
			p.values[n] = *new(T)
			p.free = append(p.free, uint16(n))
		}
	}
}

func (p *pool[T]) value(n uint16) (v T) {
	if int(n) < len(p.values) {
		v = p.values[n]
	}
	return v
}

// everyCell calls f with each cell, and what a cell may come from.
func (s *Screen) everyCell(f func(cell)) {
	for _, c := range []cursor{s.cur, s.primary.saved, s.alternate.saved} {
		f(c.pen)
	}
	for _, g := range []*grid{&s.primary, &s.alternate} {
		for _, r := range g.lines {
			for _, c := range r.cells {
				f(c)
			}
		}
	}
}

func (s *Screen) extra(e extra) uint16 {
	if e == (extra{}) {
		return 0
	}
	return s.extras.number(e, func(have []bool) { s.everyCell(func(c cell) { have[c.extra] = true }) })
}

func (s *Screen) cluster(text string) uint16 {
	return s.clusters.number(text, func(have []bool) {
		s.everyCell(func(c cell) {
			if char := c.char &^ isWide; char >= firstCluster {
				have[char-firstCluster] = true
			}
		})
	})
}
