package screen

import (
	"fmt"
	"slices"
)

// modes are what programs turn on and off. Those that change what the screen shows have fields.
type modes struct {
	insert, newline  bool // IRM, LNM
	autowrap, keypad bool
	mouse            int // 9, 1000, 1001, 1002, 1003, or 0: they exclude each other, as of xterm
	encoding         int // of the mouse: 1005, 1006, 1015, 1016, or 0
	otherKeys        int // modifyOtherKeys
	private          uint32
}

// kept are the other private modes that are kept for the terminal of somebody who comes, and what they are at first.
var kept = []struct {
	mode  int
	first bool
}{
	{1, false}, {5, false}, {12, false}, {25, true}, {45, false}, {1004, false}, {1007, false},
	{2004, false}, {2026, false}, {2027, false}, {2031, false}, {2048, false},
}

func newModes() modes {
	m := modes{autowrap: true}
	for i, k := range kept {
		if k.first {
			m.private |= 1 << i
		}
	}
	return m
}

func (m *modes) set(mode int, on bool) {
	for i, k := range kept {
		if k.mode == mode {
			m.private &^= 1 << i
			if on {
				m.private |= 1 << i
			}
		}
	}
}

// is says whether the private mode is on; known, whether it is one of these.
func (m *modes) is(mode int) (on, known bool) {
	for i, k := range kept {
		if k.mode == mode {
			return m.private&(1<<i) != 0, true
		}
	}
	switch mode {
	case 7:
		return m.autowrap, true
	case 66:
		return m.keypad, true
	case 9, 1000, 1001, 1002, 1003:
		return m.mouse == mode, true
	case 1005, 1006, 1015, 1016:
		return m.encoding == mode, true
	}
	return false, false
}

func (m *modes) setANSI(mode int, on bool) {
	switch mode {
	case 4:
		m.insert = on
	case 20:
		m.newline = on
	}
}

func (s *Screen) setPrivate(mode int, on bool) {
	m := &s.modes
	switch mode {
	case 6:
		s.cur.origin = on
		s.toRow(0, 0)
	case 7:
		m.autowrap = on
		s.cur.wrap = s.cur.wrap && on
	case 66:
		m.keypad = on
	case 9, 1000, 1001, 1002, 1003:
		m.mouse = 0
		if on {
			m.mouse = mode
		}
	case 1005, 1006, 1015, 1016:
		if on {
			m.encoding = mode
		} else if m.encoding == mode {
			m.encoding = 0
		}
	case 1048:
		if on {
			s.saved = s.cur
		} else {
			s.restore()
		}
	case 47, 1047, 1049:
		s.switchScreen(mode, on)
	default:
		m.set(mode, on)
	}
}

// switchScreen shows the alternate screen, which is empty then, or the primary one again.
func (s *Screen) switchScreen(mode int, on bool) {
	switch {
	case on && s.altMode == 0:
		if mode == 1049 {
			s.saved = s.cur
		}
		s.alternate = grid{lines: newLines(s.cols, s.rows), saved: newCursor()}
		if with := s.erased(); with != blank {
			for _, r := range s.alternate.lines {
				r.clear(with)
			}
		}
		s.grid, s.altMode = &s.alternate, mode
	case !on && s.altMode != 0:
		s.grid, s.altMode = &s.primary, 0
		s.alternate = grid{}
		if mode == 1049 {
			s.restore()
		}
	case !on && mode == 1049:
		s.restore()
	}
}

// maxKeyboard is how often flags of the keyboard are pushed; what is more drops the oldest.
const maxKeyboard = 32

// keys is the kitty keyboard protocol (https://sw.kovidgoyal.net/kitty/keyboard-protocol).
func (s *Screen) keys(what byte, n, how int) {
	n = min(n, 0xff)
	k := &s.keyboard
	defer func() {
		if len(*k) == 1 && (*k)[0] == 0 {
			*k = nil
		}
	}()
	last := len(*k) - 1
	switch what {
	case '>':
		if last < 0 {
			*k = append(*k, 0)
		}
		if len(*k) == maxKeyboard {
			*k = slices.Delete(*k, 0, 1)
		}
		*k = append(*k, uint16(n))
	case '<':
		*k = (*k)[:max(len(*k)-max(n, 1), 0)]
	case '=':
		if last < 0 {
			*k = append(*k, 0)
			last = 0
		}
		switch flags := &(*k)[last]; how {
		case 1:
			*flags = uint16(n)
		case 2:
			*flags |= uint16(n)
		case 3:
			*flags &^= uint16(n)
		}
	case '?':
		flags := uint16(0)
		if last >= 0 {
			flags = (*k)[last]
		}
		s.answer(fmt.Sprintf("\x1b[?%du", flags))
	}
}

// tabs are the columns where tabulators stop.
type tabs [(maxCols + 63) / 64]uint64

func newTabs() (t tabs) {
	for x := 0; x < maxCols; x += 8 {
		t.set(x, true)
	}
	return t
}

func (t *tabs) set(x int, on bool) {
	t[x/64] &^= 1 << (x % 64)
	if on {
		t[x/64] |= 1 << (x % 64)
	}
}

func (t *tabs) at(x int) bool { return t[x/64]&(1<<(x%64)) != 0 }

func (t *tabs) next(x, cols int) int {
	for x++; x < cols-1 && !t.at(x); x++ {
	}
	return min(x, cols-1)
}

func (t *tabs) before(x int) int {
	for x--; x > 0 && !t.at(x); x-- {
	}
	return max(x, 0)
}

// clear is TBC.
func (t *tabs) clear(what, x int) {
	switch what {
	case 0:
		t.set(x, false)
	case 3:
		*t = tabs{}
	}
}
