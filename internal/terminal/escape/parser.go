// Package escape finds the escape sequences in what a program writes to its terminal.
//
// The parser is Paul Williams' (https://vt100.net/emu/dec_ansi_parser) for UTF-8: without the controls of eight bits,
// with colons between parameters, with BEL as an end of OSC, and with one state for all strings that mean nothing here.
package escape

// Parser follows output byte by byte. The zero value is one that has seen nothing. Its size is bounded, whatever comes.
type Parser struct {
	state  state
	params [MaxParams]uint16
	colons uint32 // bit i: a colon is before parameter i
	count  int    // of parameters
	marks  [2]byte
	marked int // how many marks: the private one and intermediates
	text   []byte

	unended []byte // see Keep
	long    bool   // there was more than is in unended
}

const (
	// MaxParams is how many parameters of a control sequence are kept: xterm takes 30 (NPARAM in ptyx.h).
	MaxParams = 32
	// MaxString is how many bytes of an operating system command are kept.
	MaxString = 4096
)

// Action is what a byte means.
type Action uint8

const (
	None    Action = iota // it is part of something
	Print                 // it is text
	Execute               // a control character, which acts at once, also within a sequence
	Escape                // it ends an escape sequence
	Control               // it ends a control sequence (CSI)
	Command               // an operating system command (OSC) is complete: [Parser.Text]

	collect // an intermediate or private mark
	param
	clear // an operating system command begins
	put   // a byte of it
)

type state uint8

const (
	ground state = iota
	escape
	escapeIntermediate
	csiEntry
	csiParam
	csiIntermediate
	csiIgnore
	oscString
	otherString // DCS, SOS, PM, APC
	states
)

// step is what a byte does in a state: action and next state.
type step uint8

var table = makeTable()

func makeTable() (t [states][256]step) {
	set := func(in state, from, to byte, do Action, next state) {
		for c := int(from); c <= int(to); c++ {
			t[in][c] = step(do)<<4 | step(next)
		}
	}
	for in := range states {
		set(in, 0, 0xff, None, in)
		if in != oscString && in != otherString {
			set(in, 0, 0x1f, Execute, in)
		}
	}
	set(ground, 0x20, 0xff, Print, ground)
	set(escape, 0x20, 0x2f, collect, escapeIntermediate)
	set(escape, 0x30, 0x7e, Escape, ground)
	set(escape, '[', '[', None, csiEntry)
	set(escape, ']', ']', clear, oscString)
	for _, c := range []byte("PX^_") {
		set(escape, c, c, None, otherString)
	}
	set(escapeIntermediate, 0x20, 0x2f, collect, escapeIntermediate)
	set(escapeIntermediate, 0x30, 0x7e, Escape, ground)
	for _, in := range []state{csiEntry, csiParam} {
		set(in, 0x20, 0x2f, collect, csiIntermediate)
		set(in, '0', ';', param, csiParam)
		set(in, 0x40, 0x7e, Control, ground)
	}
	set(csiEntry, '<', '?', collect, csiParam)
	set(csiParam, '<', '?', None, csiIgnore)
	set(csiIntermediate, 0x20, 0x2f, collect, csiIntermediate)
	set(csiIntermediate, 0x30, 0x3f, None, csiIgnore)
	set(csiIntermediate, 0x40, 0x7e, Control, ground)
	set(csiIgnore, 0x40, 0x7e, None, ground)
	set(oscString, 0x20, 0xff, put, oscString)
	set(oscString, '\a', '\a', Command, ground)
	for in := range states {
		set(in, 0x18, 0x18, None, ground)
		set(in, 0x1a, 0x1a, None, ground)
		next := Command // where it is one; Williams' action on leaving
		if in != oscString {
			next = None
		}
		set(in, 0x1b, 0x1b, next, escape)
	}
	return t
}

// Next follows c, and returns what it means, or what it completes.
func (z *Parser) Next(c byte) Action {
	to := table[z.state][c]
	z.state = state(to & 0xf)
	do := Action(to >> 4)
	switch do {
	case collect:
		if z.marked < len(z.marks) {
			z.marks[z.marked] = c
		}
		z.marked++
	case param:
		z.param(c)
	case clear:
		z.text = z.text[:0]
	case put:
		if len(z.text) <= MaxString {
			z.text = append(z.text, c)
		}
	case Control:
		if z.marked <= len(z.marks) {
			return Control
		}
	default:
		if c == '\x1b' {
			z.begin()
		}
		return do
	}
	return None
}

// begin begins a sequence, with its escape character.
func (z *Parser) begin() {
	z.count, z.colons, z.marked = 0, 0, 0
	z.params[0], z.marks = 0, [2]byte{}
	z.unended, z.long = z.unended[:0], false
}

func (z *Parser) param(c byte) {
	z.count = max(z.count, 1)
	switch {
	case z.count > MaxParams:
	case c == ';' || c == ':':
		z.count++
		if z.count <= MaxParams {
			z.params[z.count-1] = 0
			if c == ':' {
				z.colons |= 1 << (z.count - 1)
			}
		}
	default:
		v := &z.params[z.count-1]
		*v = uint16(min(int(*v)*10+int(c-'0'), 0xffff))
	}
}

// Ground says that nothing has begun: what comes next is text.
func (z *Parser) Ground() bool { return z.state == ground }

// Reset gives up what has begun.
func (z *Parser) Reset() { z.state = ground }

// Marks returns the private mark and the intermediates of a sequence.
func (z *Parser) Marks() string { return string(z.marks[:min(z.marked, len(z.marks))]) }

// Marked says whether there are any.
func (z *Parser) Marked() bool { return z.marked > 0 }

// Params returns how many parameters a control sequence has.
func (z *Parser) Params() int { return min(z.count, MaxParams) }

// Arg returns parameter i, and what is given instead of 0 or of none.
func (z *Parser) Arg(i, instead int) int {
	if i >= z.Params() || z.params[i] == 0 {
		return instead
	}
	return int(z.params[i])
}

// Sub says whether parameter i belongs to the one before (ISO 8613-6).
func (z *Parser) Sub(i int) bool { return i < z.Params() && z.colons&(1<<i) != 0 }

// Text returns an operating system command, until another one begins. One that is longer than [MaxString] is cut there, and ok is false.
func (z *Parser) Text() (text []byte, ok bool) {
	return z.text[:min(len(z.text), MaxString)], len(z.text) <= MaxString
}
