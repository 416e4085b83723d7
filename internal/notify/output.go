package notify

import (
	"strings"

	"github.com/riverlytech/art/internal/terminal/escape"
)

// Output finds in what a program writes to its terminal with what it wants its user's attention: the bell, and the sequences
// of iTerm2 (OSC 9) and of rxvt (OSC 777;notify). It calls tell with their text; that of the bell is "".
type Output struct {
	tell   func(text string)
	parser escape.Parser
}

// NewOutput returns one that has seen nothing.
func NewOutput(tell func(text string)) *Output { return &Output{tell: tell} }

// Write never fails.
func (o *Output) Write(p []byte) (int, error) {
	for _, c := range p {
		switch o.parser.Next(c) {
		case escape.Execute:
			if c == '\a' {
				o.tell("")
			}
		case escape.Command:
			o.command()
		}
	}
	return len(p), nil
}

// command follows an operating system command.
func (o *Output) command() {
	command, _ := o.parser.Text()
	number, text, _ := strings.Cut(string(command), ";")
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
