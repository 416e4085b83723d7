package screen

import "github.com/riverlytech/art/internal/terminal/escape"

// parse follows p, and returns how much: a part of a character may be left at the end.
func (s *Screen) parse(p []byte) int {
	z := &s.parser
	begin := 0 // of the sequence in p
	for i := 0; i < len(p); i++ {
		if z.Ground() {
			n, partly := s.text(p[i:])
			i += n
			if partly || i == len(p) {
				return i
			}
		}
		c := p[i]
		if c == '\x1b' {
			begin = i
		}
		switch z.Next(c) {
		case escape.Execute:
			s.control(c)
		case escape.Escape:
			s.last = 0
			s.escaped(c)
		case escape.Control:
			s.csi(c)
			s.last = 0
		case escape.Command:
			s.osc()
		}
	}
	if !z.Ground() {
		z.Keep(p[begin:])
	}
	return len(p)
}
