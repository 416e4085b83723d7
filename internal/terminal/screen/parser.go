package screen

// The parser is Paul Williams' (https://vt100.net/emu/dec_ansi_parser) for UTF-8: without the controls of eight bits,
// with colons between parameters, with BEL as an end of OSC, and with one state for all strings that mean nothing here.
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

type action uint8

const (
	ignore action = iota
	execute
	collect
	param
	escDispatch
	csiDispatch
	oscPut
	oscEnd
)

// step is what a byte does in a state: action and next state.
type step uint8

var table = makeTable()

func makeTable() (t [states][256]step) {
	set := func(in state, from, to byte, do action, next state) {
		for c := int(from); c <= int(to); c++ {
			t[in][c] = step(do)<<4 | step(next)
		}
	}
	for in := range states {
		set(in, 0, 0xff, ignore, in)
		if in != oscString && in != otherString {
			set(in, 0, 0x1f, execute, in)
		}
	}
	set(escape, 0x20, 0x2f, collect, escapeIntermediate)
	set(escape, 0x30, 0x7e, escDispatch, ground)
	set(escape, '[', '[', ignore, csiEntry)
	set(escape, ']', ']', ignore, oscString)
	for _, c := range []byte("PX^_") {
		set(escape, c, c, ignore, otherString)
	}
	set(escapeIntermediate, 0x20, 0x2f, collect, escapeIntermediate)
	set(escapeIntermediate, 0x30, 0x7e, escDispatch, ground)
	for _, in := range []state{csiEntry, csiParam} {
		set(in, 0x20, 0x2f, collect, csiIntermediate)
		set(in, '0', ';', param, csiParam)
		set(in, 0x40, 0x7e, csiDispatch, ground)
	}
	set(csiEntry, '<', '?', collect, csiParam)
	set(csiParam, '<', '?', ignore, csiIgnore)
	set(csiIntermediate, 0x20, 0x2f, collect, csiIntermediate)
	set(csiIntermediate, 0x30, 0x3f, ignore, csiIgnore)
	set(csiIntermediate, 0x40, 0x7e, csiDispatch, ground)
	set(csiIgnore, 0x40, 0x7e, ignore, ground)
	set(oscString, 0x20, 0xff, oscPut, oscString)
	set(oscString, '\a', '\a', oscEnd, ground)
	for in := range states {
		set(in, 0x18, 0x18, ignore, ground)
		set(in, 0x1a, 0x1a, ignore, ground)
		next := oscEnd // where it is one; Williams' action on leaving
		if in != oscString {
			next = ignore
		}
		set(in, 0x1b, 0x1b, next, escape)
	}
	return t
}

const (
	maxParams = 32 // xterm takes 30 (NPARAM in ptyx.h)
	maxString = 4096
)

type parser struct {
	state   state
	params  [maxParams]uint16
	colons  uint32 // bit i: a colon is before parameter i
	count   int    // of parameters
	marks   [2]byte
	marked  int // how many marks: the private one and intermediates
	text    []byte
	unended []byte // what has come of a sequence, for a terminal that is to go on with it
	long    bool   // there was more than is in unended
}

// parse follows p, and returns how much: a part of a character may be left at the end.
func (s *Screen) parse(p []byte) int {
	z := &s.parser
	begin := 0 // of the sequence in p
	for i := 0; i < len(p); {
		if z.state == ground {
			n, partly := s.text(p[i:])
			i += n
			if partly || i == len(p) {
				return i
			}
			z.state, begin = escape, i
			i++
			z.start()
			continue
		}
		c := p[i]
		to := table[z.state][c]
		next := state(to & 0xf)
		if c == '\x1b' {
			if z.state == oscString {
				s.osc()
			}
			begin = i
			z.start()
		} else {
			s.act(action(to>>4), c)
		}
		z.state = next
		i++
	}
	if z.state != ground {
		z.keep(p[begin:])
	}
	return len(p)
}

// start begins a sequence, with its escape character.
func (z *parser) start() {
	z.count, z.colons, z.marked, z.text = 0, 0, 0, z.text[:0]
	z.params[0], z.marks = 0, [2]byte{}
	z.unended, z.long = z.unended[:0], false
}

// keep remembers what has come of a sequence, without the controls that acted already.
func (z *parser) keep(p []byte) {
	for _, c := range p {
		switch {
		case c < ' ' && c != '\x1b':
		case len(z.unended) == 2*maxString:
			z.long = true
		default:
			z.unended = append(z.unended, c)
		}
	}
}

func (s *Screen) act(a action, c byte) {
	z := &s.parser
	switch a {
	case execute:
		s.control(c)
	case collect:
		if z.marked < len(z.marks) {
			z.marks[z.marked] = c
		}
		z.marked++
	case param:
		z.param(c)
	case escDispatch:
		s.last = 0
		s.escaped(c)
	case csiDispatch:
		if z.marked <= len(z.marks) {
			s.csi(c)
		}
		s.last = 0
	case oscPut:
		if len(z.text) <= maxString {
			z.text = append(z.text, c)
		}
	case oscEnd:
		s.osc()
	}
}

func (z *parser) param(c byte) {
	z.count = max(z.count, 1)
	switch {
	case z.count > maxParams:
	case c == ';' || c == ':':
		z.count++
		if z.count <= maxParams {
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

// arg returns parameter i, and what is given instead of 0 or of none.
func (z *parser) arg(i, instead int) int {
	if i >= z.count || i >= maxParams || z.params[i] == 0 {
		return instead
	}
	return int(z.params[i])
}

// rest returns what a terminal needs to go on in the middle of a sequence. One that is too long to be kept is a string,
// whose rest is to be passed over.
func (z *parser) rest() []byte {
	switch {
	case z.state == ground:
		return nil
	case !z.long:
		return z.unended
	case z.state == oscString:
		return []byte("\x1b]9999;")
	case z.state == otherString:
		return []byte("\x1b_")
	case z.state == escapeIntermediate:
		return []byte("\x1b    ")
	}
	return []byte("\x1b[ ?")
}
