package screen

import "fmt"

const maxAnswers = 4096

// Answers returns what a terminal would have answered to programs since it was last called. They are for the programs
// while there is no terminal: some wait for them.
func (s *Screen) Answers() []byte {
	answers := s.answers
	s.answers = nil
	return answers
}

func (s *Screen) answer(text string) {
	if len(s.answers)+len(text) <= maxAnswers {
		s.answers = append(s.answers, text...)
	}
}

// report is DSR.
func (s *Screen) report(what int, mark string) {
	switch {
	case what == 5 && mark == "":
		s.answer("\x1b[0n")
	case what == 6:
		y := s.cur.y + 1
		if s.cur.origin {
			y -= s.top
		}
		s.answer(fmt.Sprintf("\x1b[%s%d;%dR", mark, y, s.cur.x+1))
	}
}

// reportMode is DECRQM.
func (s *Screen) reportMode(mode int) {
	on, known := s.modes.is(mode)
	switch mode {
	case 6:
		on, known = s.cur.origin, true
	case 47, 1047, 1049:
		on, known = s.altMode != 0, true
	}
	is := 0
	switch {
	case known && on:
		is = 1
	case known:
		is = 2
	}
	s.answer(fmt.Sprintf("\x1b[?%d;%d$y", mode, is))
}

func (s *Screen) reportSize() {
	s.answer(fmt.Sprintf("\x1b[8;%d;%dt", s.rows, s.cols))
}
