package screen

import "github.com/riverlytech/art/internal/terminal/escape"

// style is SGR.
func (s *Screen) style() {
	z, pen := &s.parser, &s.cur.pen
	if z.Params() == 0 {
		s.plain()
	}
	for i := 0; i < z.Params(); i++ {
		n := z.Arg(i, 0)
		switch {
		case n == 0:
			s.plain()
		case n == 4 && z.Sub(i+1):
			i++
			pen.underline(attrs(min(z.Arg(i, 0), 5)))
		case n < len(setAttrs) && setAttrs[n] != 0:
			pen.attrs |= setAttrs[n]
		case n == 4:
			pen.underline(1)
		case n == 21:
			pen.underline(2)
		case n >= 22 && n <= 29:
			pen.attrs &^= resetAttrs[n-22]
		case n >= 30 && n <= 37:
			pen.fg = named + colour(n-30)
		case n >= 40 && n <= 47:
			pen.bg = named + colour(n-40)
		case n >= 90 && n <= 97:
			pen.fg = named + colour(n-90+8)
		case n >= 100 && n <= 107:
			pen.bg = named + colour(n-100+8)
		case n == 38:
			i = colourOf(z, i, &pen.fg)
		case n == 48:
			i = colourOf(z, i, &pen.bg)
		case n == 39:
			pen.fg = 0
		case n == 49:
			pen.bg = 0
		case n == 53:
			pen.attrs |= overline
		case n == 55:
			pen.attrs &^= overline
		case n == 58 || n == 59:
			e := s.extras.value(pen.extra)
			e.underline = 0
			if n == 58 {
				i = colourOf(z, i, &e.underline)
			}
			pen.extra = s.extra(e)
		}
		for z.Sub(i + 1) { // what is unknown here
			i++
		}
	}
}

var (
	setAttrs   = [...]attrs{1: bold, 2: dim, 3: italic, 5: blink, 6: blink, 7: reverse, 8: invisible, 9: strike}
	resetAttrs = [...]attrs{bold | dim, italic, underlines, blink, 0, reverse, invisible, strike}
)

// plain is SGR 0, which leaves a link as it is.
func (s *Screen) plain() {
	e := s.extras.value(s.cur.pen.extra)
	s.cur.pen = blank
	if e.uri != "" {
		e.underline = 0
		s.cur.pen.extra = s.extra(e)
	}
}

func (c *cell) underline(kind attrs) {
	c.attrs = c.attrs&^underlines | kind<<underlineShift
}

// colourOf takes a colour whose kind is behind parameter i, and returns the last parameter of it: 5;n or 2;r;g;b, or the
// same with colons, where a colour space may be between (ISO 8613-6).
func colourOf(z *escape.Parser, i int, to *colour) int {
	end, colons := z.Params(), z.Sub(i+1)
	if colons {
		end = i + 1
		for z.Sub(end) {
			end++
		}
	}
	if i+1 >= end {
		return i
	}
	at := func(n int) colour { return colour(min(z.Arg(n, 0), 255)) }
	switch z.Arg(i+1, 0) {
	case 5:
		if i+2 < end {
			*to = indexed + at(i+2)
			return i + 2
		}
	case 2:
		first := i + 2
		if colons && end-first >= 4 {
			first++
		}
		if first+2 < end {
			*to = trueColor + at(first)<<16 + at(first+1)<<8 + at(first+2)
			return first + 2
		}
	}
	return end - 1
}
