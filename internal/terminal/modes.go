package terminal

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/riverlytech/art/internal/terminal/escape"
)

// screenModes follows what a guest does to its screen, byte by byte as the screen itself does, so that what it has left on
// can be turned off again: a program that is killed cannot do that. Nothing else goes to the terminal: resetting what
// is not set would move the cursor, or clear what the caller has on the screen.
//
// It knows what programs with a face use (XTerm Control Sequences, ctlseqs(7); the kitty keyboard protocol).
type screenModes struct {
	parser escape.Parser

	private  map[int]bool // private modes that are not as they are at first, and which value they have
	keyboard [2]keyboard  // of the first screen, and of the other
	keypad   bool         // in application mode
	keys     bool         // other keys are modified (modifyOtherKeys)
	margins  bool         // only part of the screen scrolls
	style    bool         // colours and the like
	shape    bool         // of the cursor
	charset  bool         // line drawing
}

// keyboard is what a screen has of the flags of the kitty protocol: each screen has its own.
type keyboard struct {
	pushed int  // how many times
	set    bool // below those
}

// undo returns what makes it as at first.
func (k keyboard) undo() string {
	s := ""
	if k.pushed > 0 {
		s = fmt.Sprintf("\x1b[<%du", k.pushed)
	}
	if k.set {
		s += "\x1b[=0;1u"
	}
	return s
}

// change follows a command: to push flags, to pop some, or to set them.
func (k *keyboard) change(sequence *escape.Parser) {
	switch sequence.Marks() {
	case ">":
		k.pushed = min(k.pushed+1, maxKeyboard)
	case "<":
		n := sequence.Arg(0, 1)
		if n > k.pushed { // the flags below go, too
			*k = keyboard{}
			return
		}
		k.pushed -= n
	case "=":
		switch on, how := sequence.Arg(0, 0) != 0, sequence.Arg(1, 1); {
		case k.pushed > 0: // they go with what was pushed
		case how == 2:
			k.set = k.set || on
		case how != 3:
			k.set = on
		}
	}
}

// initial are the private modes that programs change and leave behind, and what they are at first.
var initial = map[int]bool{
	1: false, 5: false, 6: false, 7: true, 9: false, 25: true, 45: false, 47: false, 66: false, 69: false,
	1000: false, 1001: false, 1002: false, 1003: false, 1004: false, 1005: false, 1006: false, 1007: true, 1015: false, 1016: false,
	1047: false, 1049: false, 2004: false, 2026: false, 2027: false, 2031: false, 2048: false,
}

// screens are the private modes that show another screen.
var screens = []int{47, 1047, 1049}

// Write follows p. It never fails.
func (m *screenModes) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; rest = rest[1:] {
		if m.parser.Ground() {
			i := bytes.IndexByte(rest, '\x1b')
			if i < 0 {
				break
			}
			rest = rest[i:]
		}
		switch c := rest[0]; m.parser.Next(c) {
		case escape.Escape:
			m.escaped(c)
		case escape.Control:
			m.controlled(c)
		}
	}
	return len(p), nil
}

// escaped follows an escape sequence that ends with c.
func (m *screenModes) escaped(c byte) {
	switch m.parser.Marks() + string(c) {
	case "=", ">":
		m.keypad = c == '='
	case "(0", "(B":
		m.charset = c == '0'
	case "c": // everything as at first
		*m = screenModes{}
	}
}

// controlled follows a control sequence that ends with c.
func (m *screenModes) controlled(c byte) {
	z := &m.parser
	switch z.Marks() + string(c) {
	case "r":
		m.margins = z.Params() > 0
	case "m":
		m.style = z.Params() > 1 || z.Arg(0, 0) != 0
	case " q":
		m.shape = z.Arg(0, 0) != 0
	case "!p": // soft
		*m = screenModes{private: m.private, keyboard: m.keyboard, keys: m.keys}
		for _, mode := range []int{1, 6, 7, 25, 66} {
			delete(m.private, mode)
		}
	case "?h", "?l":
		for i := range z.Params() {
			m.setPrivate(z.Arg(i, 0), c == 'h')
		}
	case ">m":
		if z.Params() == 0 || z.Arg(0, 0) == 4 {
			m.keys = z.Arg(1, 0) != 0
		}
	case ">u", "<u", "=u":
		m.keyboard[m.shown()].change(z)
	}
}

// shown is 1 if the other screen is shown.
func (m *screenModes) shown() int {
	for _, mode := range screens {
		if m.private[mode] {
			return 1
		}
	}
	return 0
}

// maxKeyboard is more than terminals remember.
const maxKeyboard = 64

func (m *screenModes) setPrivate(mode int, on bool) {
	first, known := initial[mode]
	switch {
	case !known:
	case on == first:
		delete(m.private, mode)
	default:
		if m.private == nil {
			m.private = map[int]bool{}
		}
		m.private[mode] = on
	}
}

// undo returns what makes the screen as it is at first, "" if it is.
func (m *screenModes) undo() string {
	var b strings.Builder
	if !m.parser.Ground() {
		b.WriteByte('\x18') // what has begun is not going to end
	}
	changed := make([]int, 0, len(m.private))
	for mode := range m.private {
		if !slices.Contains(screens, mode) {
			changed = append(changed, mode)
		}
	}
	slices.Sort(changed)
	for _, mode := range changed {
		fmt.Fprintf(&b, "\x1b[?%d%c", mode, map[bool]byte{true: 'h', false: 'l'}[initial[mode]])
	}
	b.WriteString(m.keyboard[m.shown()].undo())
	for _, is := range []struct {
		so  bool
		end string
	}{
		{m.keys, "\x1b[>4;0m"},
		{m.keypad, "\x1b>"},
		{m.charset, "\x1b(B"},
		{m.style, "\x1b[m"},
		{m.shape, "\x1b[0 q"},
		{m.margins, "\x1b7\x1b[r\x1b8"}, // which alone moves the cursor
	} {
		if is.so {
			b.WriteString(is.end)
		}
	}
	for _, mode := range screens {
		if m.private[mode] {
			fmt.Fprintf(&b, "\x1b[?%dl", mode)
		}
	}
	if m.shown() != 0 {
		b.WriteString(m.keyboard[0].undo())
	}
	return b.String()
}
