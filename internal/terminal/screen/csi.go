package screen

// escaped follows an escape sequence that ends with c.
func (s *Screen) escaped(c byte) {
	if s.parser.Marked() {
		s.designate(s.parser.Marks(), c)
		return
	}
	switch c {
	case '7':
		s.saved = s.cur
	case '8':
		s.restore()
	case '=', '>':
		s.modes.keypad = c == '='
	case 'D':
		s.index()
	case 'E':
		s.nextLine()
	case 'H':
		s.tabs.set(s.cur.x, true)
	case 'M':
		s.reverseIndex()
	case 'N', 'O': // SS2, SS3
		s.shift = int(c-'N') + 2
	case 'c':
		s.reset()
	case 'n', 'o': // LS2, LS3
		s.cur.gl = int(c-'n') + 2
	}
}

// designate follows a sequence with an intermediate: a set of characters, or DECALN.
func (s *Screen) designate(marks string, c byte) {
	switch mark := marks[0]; {
	case len(marks) > 1:
	case mark == '#' && c == '8':
		s.top, s.bottom = 0, s.rows-1
		s.moveTo(0, 0)
		for _, r := range s.lines {
			r.clear(cell{char: 'E'})
			r.used = s.cols
		}
	case mark >= '(' && mark <= '+':
		if c != '0' && c != 'A' {
			c = 'B'
		}
		s.cur.sets[mark-'('] = c
	}
}

// restore is DECRC.
func (s *Screen) restore() {
	s.cur = s.saved
	s.clamp(&s.cur)
	if c := &s.cur; c.origin {
		c.y = min(max(c.y, s.top), s.bottom)
	}
}

// moveTo goes to a place on the screen.
func (s *Screen) moveTo(x, y int) {
	s.cur.wrap = false
	s.cur.x, s.cur.y = min(max(x, 0), s.cols-1), min(max(y, 0), s.rows-1)
}

func (s *Screen) toColumn(x int) { s.moveTo(x, s.cur.y) }

// toRow goes to a row as it counts for programs.
func (s *Screen) toRow(x, y int) {
	if s.cur.origin {
		y = min(y+s.top, s.bottom)
	}
	s.moveTo(x, y)
}

// up moves by n, and not across the margin.
func (s *Screen) up(n int) {
	limit := 0
	if s.cur.y >= s.top {
		limit = s.top
	}
	s.moveTo(s.cur.x, max(s.cur.y-n, limit))
}

func (s *Screen) down(n int) {
	limit := s.rows - 1
	if s.cur.y <= s.bottom {
		limit = s.bottom
	}
	s.moveTo(s.cur.x, min(s.cur.y+n, limit))
}

// csi follows a control sequence that ends with c.
func (s *Screen) csi(c byte) {
	z := &s.parser
	if z.Marked() {
		s.marked(z.Marks(), c)
		return
	}
	n := z.Arg(0, 1)
	switch c {
	case 'A':
		s.up(n)
	case 'B', 'e':
		s.down(n)
	case 'C', 'a':
		s.toColumn(s.cur.x + n)
	case 'D':
		s.toColumn(s.cur.x - n)
	case 'E':
		s.down(n)
		s.cur.x = 0
	case 'F':
		s.up(n)
		s.cur.x = 0
	case 'G', '`':
		s.toColumn(n - 1)
	case 'H', 'f':
		s.toRow(z.Arg(1, 1)-1, n-1)
	case 'I':
		for ; n > 0 && s.cur.x < s.cols-1; n-- {
			s.toColumn(s.tabs.next(s.cur.x, s.cols))
		}
	case 'Z':
		for ; n > 0 && s.cur.x > 0; n-- {
			s.toColumn(s.tabs.before(s.cur.x))
		}
	case 'd':
		s.toRow(s.cur.x, n-1)
	case 'b':
		if s.last != 0 { // to the end of the line at most, as of tmux: a few bytes are not to be much work
			for n, char := min(n, s.cols-s.cur.x), s.last; n > 0; n-- {
				s.put(char)
			}
		}
	case 'g':
		s.tabs.clear(z.Arg(0, 0), s.cur.x)
	case 'h', 'l':
		for i := range z.Params() {
			s.modes.setANSI(z.Arg(i, 0), c == 'h')
		}
	case 'm':
		s.style()
	case 'n':
		s.report(z.Arg(0, 0), "")
	case 'c':
		s.answer("\x1b[?62;22c")
	case 'r':
		s.margins(n-1, z.Arg(1, s.rows)-1)
	case 's':
		s.saved = s.cur
	case 'u':
		s.restore()
	case 't':
		s.window(z.Arg(0, 0), z.Arg(1, 0))
	default:
		s.edit(c, n)
	}
}

// edit follows what erases, inserts and removes.
func (s *Screen) edit(c byte, n int) {
	x, y, r, with := s.cur.x, s.cur.y, s.lines[s.cur.y], s.erased()
	switch c {
	case 'J':
		s.eraseScreen(s.parser.Arg(0, 0))
	case 'K':
		s.eraseLine(s.parser.Arg(0, 0))
	case 'X':
		r.erase(x, min(x+n, s.cols), with)
	case '@':
		r.insert(x, n, with)
	case 'P':
		r.remove(x, n, with)
	case 'L', 'M':
		if y < s.top || y > s.bottom {
			return
		}
		if c == 'L' {
			s.scrollDown(y, n)
		} else if y > 0 || s.altMode != 0 {
			s.scrollUp(y, n)
		} else {
			s.removeLines(n)
		}
		s.cur.x = 0
	case 'S':
		s.scrollUp(s.top, n)
	case 'T':
		if s.parser.Params() <= 1 { // not xterm's tracking of the mouse
			s.scrollDown(s.top, n)
		}
		return
	default:
		return
	}
	s.cur.wrap = false
}

// removeLines is DL in the first line: what is removed does not go to the scroll-back.
func (s *Screen) removeLines(n int) {
	n = min(n, s.bottom+1)
	for _, r := range s.lines[:n] {
		r.clear(s.erased())
	}
	s.rotate(s.lines[:s.bottom+1], n)
}

func (s *Screen) eraseLine(how int) {
	r, with := s.lines[s.cur.y], s.erased()
	switch how {
	case 0:
		r.erase(s.cur.x, s.cols, with)
	case 1:
		r.erase(0, s.cur.x+1, with)
	case 2:
		r.clear(with)
	}
}

func (s *Screen) eraseScreen(how int) {
	from, to := 0, s.rows
	switch how {
	case 0:
		from = s.cur.y + 1
		s.eraseLine(0)
	case 1:
		to = s.cur.y
		s.eraseLine(1)
	case 2:
	case 3:
		s.back = scrollback{}
		return
	default:
		return
	}
	for y := from; y < to; y++ {
		s.lines[y].clear(s.erased())
	}
}

// margins is DECSTBM.
func (s *Screen) margins(top, bottom int) {
	bottom = min(bottom, s.rows-1)
	if top < bottom {
		s.top, s.bottom = top, bottom
		s.toRow(0, 0)
	}
}

// marked follows a control sequence with a private mark or an intermediate.
func (s *Screen) marked(mark string, c byte) {
	z := &s.parser
	n := z.Arg(0, 0)
	switch mark + string(c) {
	case "?h", "?l":
		for i := range z.Params() {
			s.setPrivate(z.Arg(i, 0), c == 'h')
		}
	case "?J":
		s.eraseScreen(n)
	case "?K":
		s.eraseLine(n)
	case "?W":
		if n == 5 {
			s.tabs = newTabs()
		}
	case "!p":
		s.softReset()
	case " q":
		if n <= 6 {
			s.shape = n
		}
	case ">m":
		if n == 4 {
			s.modes.otherKeys = z.Arg(1, 0)
		}
	case ">n":
		if n == 4 {
			s.modes.otherKeys = 0
		}
	case ">u", "<u", "=u", "?u":
		s.keys(mark[0], z.Arg(0, 0), z.Arg(1, 1))
	case "?n":
		s.report(n, "?")
	case ">c":
		s.answer("\x1b[>0;0;0c")
	case "?$p":
		s.reportMode(n)
	}
}

// softReset is DECSTR.
func (s *Screen) softReset() {
	s.modes.set(25, true)
	s.modes.insert, s.modes.keypad, s.modes.autowrap = false, false, true
	s.modes.set(1, false)
	s.top, s.bottom = 0, s.rows-1
	at := s.cur
	s.cur = newCursor()
	s.saved = s.cur
	s.cur.x, s.cur.y = at.x, at.y
	s.shape, s.shift = 0, 0
}
