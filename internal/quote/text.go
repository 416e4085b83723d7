package quote

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns text in which nothing tells a terminal what to do, or changes how the rest of a line
// reads: control characters become what cat -v shows (^[ for an escape), those of eight bits, what
// changes the direction of text, what is not to be seen at all, and bytes that are no UTF-8 become their
// numbers. Newlines and tabs stay. mark is given what was made so; nil leaves it.
func Text(s string, mark func(string) string) string {
	var b, made strings.Builder
	end := func() {
		if made.Len() > 0 && mark != nil {
			b.WriteString(mark(made.String()))
		} else {
			b.WriteString(made.String())
		}
		made.Reset()
	}
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&made, "<%02X>", s[0])
		case r == '\t' || r == '\n':
			end()
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			made.WriteString("^" + string(r^0x40))
		case unseen(r):
			fmt.Fprintf(&made, "<U+%04X>", r)
		default:
			end()
			b.WriteRune(r)
		}
		s = s[n:]
	}
	end()
	return b.String()
}

// unseen tells whether a character is none to be looked at: C1 controls, separators of lines and paragraphs,
// formats, among which are those of direction. The joiners are part of how some scripts, and emoji, are
// written.
func unseen(r rune) bool {
	const joiner, nonJoiner = 0x200d, 0x200c
	return r != joiner && r != nonJoiner && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// Writer writes what it is given as [Text].
type Writer struct {
	w    io.Writer
	rest []byte // the beginning of a character
}

// NewWriter returns a Writer to w. Flush writes what is left at the end.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

func (t *Writer) Write(data []byte) (int, error) {
	all := append(t.rest, data...)
	whole := len(all)
	for back := 1; back < utf8.UTFMax && back <= len(all); back++ {
		if at := len(all) - back; utf8.RuneStart(all[at]) {
			if !utf8.FullRune(all[at:]) {
				whole = at
			}
			break
		}
	}
	t.rest = append([]byte(nil), all[whole:]...)
	if _, err := io.WriteString(t.w, Text(string(all[:whole]), nil)); err != nil {
		return 0, err
	}
	return len(data), nil
}

// Flush writes a character that was begun, and never ended.
func (t *Writer) Flush() error {
	_, err := io.WriteString(t.w, Text(string(t.rest), nil))
	t.rest = nil
	return err
}
