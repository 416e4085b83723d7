package terminal

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// screenModes follows what a guest does to its screen, byte by byte as the screen itself does, so that what it has left on
// can be turned off again: a program that is killed cannot do that. Nothing else goes to the terminal: resetting what
// is not set would move the cursor, or clear what the caller has on the screen.
//
// It knows what programs with a face use (XTerm Control Sequences, ctlseqs(7); the kitty keyboard protocol).
type screenModes struct {
	state parserState
	come  []byte // of a sequence, from behind the escape character on

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
func (k *keyboard) change(kind, parameters string) {
	switch kind {
	case ">":
		k.pushed = min(k.pushed+1, maxKeyboard)
	case "<":
		n := 1
		if parameters != "" {
			n = number(parameters)
		}
		if n < 0 || n > k.pushed { // the flags below go, too
			*k = keyboard{}
			return
		}
		k.pushed -= n
	case "=":
		flags, how, _ := strings.Cut(parameters, ";")
		switch on := strings.Trim(flags, "0") != ""; {
		case k.pushed > 0: // they go with what was pushed
		case how == "2":
			k.set = k.set || on
		case how != "3":
			k.set = on
		}
	}
}

type parserState int

const (
	ground   parserState = iota
	escape               // behind an escape character
	sequence             // in a control sequence
	numbers              // behind the first of its parameters, where that matters
	text                 // in a string for the terminal: a title, the clipboard
	textEscape
)

// maxSequence is more than any sequence that means something here: xterm takes 30 parameters in one (ctlseqs(7), NPARAM).
const maxSequence = 1024

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
	for rest := p; len(rest) > 0; {
		if m.state == ground {
			i := bytes.IndexByte(rest, '\x1b')
			if i < 0 {
				break
			}
			rest = rest[i:]
		}
		m.next(rest[0])
		rest = rest[1:]
	}
	return len(p), nil
}

func (m *screenModes) next(c byte) {
	switch {
	case c == '\x18' || c == '\x1a': // they cancel what has begun
		m.state = ground
	case c == '\x1b' && (m.state == text || m.state == textEscape):
		m.state = textEscape
	case c == '\x1b':
		m.state, m.come = escape, m.come[:0]
	case m.state == textEscape && c != '\\':
		m.state, m.come = escape, m.come[:0]
		m.next(c)
	case m.state == textEscape, m.state == text && c == '\a':
		m.state = ground
	case m.state == text || c < ' ' || c == 0x7f: // controls act within a sequence, and it goes on
	default:
		m.part(c)
	}
}

// part is another byte of a sequence.
func (m *screenModes) part(c byte) {
	if len(m.come) < maxSequence {
		m.come = append(m.come, c)
	}
	switch {
	case m.state == escape && c == '[':
		m.state = sequence
	case m.state == escape && strings.IndexByte("]PX^_", c) >= 0:
		m.state = text
	case m.state == escape && c >= '0':
		m.state = ground
		m.escaped(string(m.come))
	case m.state == sequence && c >= '@':
		m.state = ground
		if len(m.come) < maxSequence {
			m.controlled(string(m.come[1:len(m.come)-1]), c)
		}
	}
}

// escaped follows a sequence of an escape character and what is given.
func (m *screenModes) escaped(sequence string) {
	switch sequence {
	case "=", ">":
		m.keypad = sequence == "="
	case "(0", "(B":
		m.charset = sequence == "(0"
	case "c": // everything as at first
		*m = screenModes{}
	}
}

// controlled follows a control sequence.
func (m *screenModes) controlled(parameters string, final byte) {
	switch string(final) + strings.TrimLeft(parameters, "0123456789;:") {
	case "r":
		m.margins = parameters != ""
	case "m":
		m.style = parameters != "" && parameters != "0"
	case "q ":
		m.shape = parameters != " " && parameters != "0 "
	case "p!": // soft
		*m = screenModes{private: m.private, keyboard: m.keyboard, keys: m.keys}
		for _, mode := range []int{1, 6, 7, 25, 66} {
			delete(m.private, mode)
		}
	}
	kind, rest := "", parameters
	if parameters != "" {
		kind, rest = parameters[:1], parameters[1:]
	}
	switch string(final) + kind {
	case "h?", "l?":
		for mode := range strings.SplitSeq(rest, ";") {
			m.setPrivate(mode, final == 'h')
		}
	case "m>":
		m.keys = strings.HasPrefix(rest, "4;") && rest != "4;0"
	case "u>", "u<", "u=":
		m.keyboard[m.shown()].change(kind, rest)
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

func (m *screenModes) setPrivate(mode string, on bool) {
	n := number(mode)
	first, known := initial[n]
	switch {
	case !known:
	case on == first:
		delete(m.private, n)
	default:
		if m.private == nil {
			m.private = map[int]bool{}
		}
		m.private[n] = on
	}
}

// number returns the decimal number s, or -1.
func number(s string) int {
	if s == "" || len(s) > 4 || strings.Trim(s, "0123456789") != "" {
		return -1
	}
	n := 0
	for _, c := range s {
		n = 10*n + int(c-'0')
	}
	return n
}

// undo returns what makes the screen as it is at first, "" if it is.
func (m *screenModes) undo() string {
	var b strings.Builder
	if m.state != ground {
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
