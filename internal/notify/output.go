package notify

import "strings"

// maxSequence bounds what is kept of a sequence, in bytes.
const maxSequence = 1 << 10

// Output finds in what a program writes to its terminal with what it wants its user's attention: the bell, and the sequences
// of iTerm2 (OSC 9) and of rxvt (OSC 777;notify). It calls tell with their text; that of the bell is "".
type Output struct {
	tell  func(text string)
	state state
	text  []byte
}

// NewOutput returns one that has seen nothing.
func NewOutput(tell func(text string)) *Output { return &Output{tell: tell} }

// state is where in a sequence the output is (ECMA-48, 5.6).
type state uint8

const (
	ground state = iota
	escape
	command       // an operating system command: ESC ]
	commandEscape // perhaps its end
	other         // another string, in which a bell is none: ESC P, X, ^ or _
	otherEscape
)

const (
	bell   = 0x07
	cancel = 0x18
	sub    = 0x1a
	esc    = 0x1b
)

// Write never fails.
func (o *Output) Write(p []byte) (int, error) {
	for _, c := range p {
		o.take(c)
	}
	return len(p), nil
}

func (o *Output) take(c byte) {
	switch {
	case c == cancel || c == sub:
		o.state = ground
		return
	case c == esc:
		switch o.state {
		case command:
			o.state = commandEscape
		case other:
			o.state = otherEscape
		default:
			o.state = escape
		}
		return
	}
	switch o.state {
	case ground:
		if c == bell {
			o.tell("")
		}
	case escape:
		o.begin(c)
	case command:
		if c == bell {
			o.end()
		} else if len(o.text) < maxSequence {
			o.text = append(o.text, c)
		}
	case commandEscape, otherEscape:
		if c == '\\' && o.state == commandEscape {
			o.end()
		} else {
			o.begin(c) // another sequence, which ends the first
		}
	}
}

// begin begins what follows ESC.
func (o *Output) begin(c byte) {
	switch c {
	case ']':
		o.state, o.text = command, o.text[:0]
	case 'P', 'X', '^', '_':
		o.state = other
	default:
		o.state = ground
	}
}

// end is called at the end of an operating system command.
func (o *Output) end() {
	o.state = ground
	number, text, _ := strings.Cut(string(o.text), ";")
	switch number {
	case "9":
		// A number first is another command: progress, and others of ConEmu's.
		if first, _, _ := strings.Cut(text, ";"); text != "" && strings.Trim(first, "0123456789") != "" {
			o.tell(text)
		}
	case "777":
		if what, rest, _ := strings.Cut(text, ";"); what == "notify" && rest != "" {
			o.tell(strings.Replace(rest, ";", ": ", 1))
		}
	}
}
