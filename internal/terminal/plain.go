package terminal

import (
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Plain shows on a terminal what a guest has written: its text and its colours, and nothing that the terminal would answer
// or obey. A line is not coloured by one before it, so that no guest can hide what art says.
type Plain struct {
	to io.Writer

	mu     sync.Mutex
	state  parserState // GUARDED_BY(mu)
	come   []byte      // GUARDED_BY(mu); of a character, or of a control sequence behind its beginning
	styled bool        // GUARDED_BY(mu); there are colours and the like
	out    []byte      // GUARDED_BY(mu)
}

// NewPlain returns what writes to a terminal.
func NewPlain(to io.Writer) *Plain { return &Plain{to: to} }

// Write shows p.
func (w *Plain) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out = w.out[:0]
	for _, c := range p {
		w.next(c)
	}
	if len(w.out) > 0 {
		if _, err := w.to.Write(w.out); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// Close ends with plain text.
func (w *Plain) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out, w.state, w.come = w.out[:0], ground, nil
	w.plain()
	_, err := w.to.Write(w.out)
	return err
}

// plain turns colours off. LOCKS_REQUIRED(w.mu)
func (w *Plain) plain() {
	if w.styled {
		w.out, w.styled = append(w.out, "\x1b[m"...), false
	}
}

// next is another byte. LOCKS_REQUIRED(w.mu)
func (w *Plain) next(c byte) {
	switch {
	case c == '\n' || c == '\x18' || c == '\x1a': // what has begun ends with its line: it must not hide the next
		w.ground(c)
	case c == '\x1b' && (w.state == text || w.state == textEscape):
		w.state = textEscape
	case c == '\x1b':
		w.begin()
	case w.state == ground:
		w.char(c)
	case w.state == textEscape && c != '\\':
		w.begin()
		w.next(c)
	case w.state == textEscape, w.state == text && c == '\a':
		w.state = ground
	case w.state == text || c < ' ' || c == 0x7f:
	case w.state == escape && c == '[':
		w.state = sequence
	case w.state == escape && strings.IndexByte("]PX^_", c) >= 0:
		w.state = text
	case w.state == escape && c >= '0', w.state == sequence && c >= '@':
		w.sequence(c)
	case w.state == sequence && len(w.come) < maxSequence:
		w.come = append(w.come, c)
	}
}

// begin begins a sequence. LOCKS_REQUIRED(w.mu)
func (w *Plain) begin() {
	w.cut()
	w.state = escape
}

// cut ends a character that is not complete. LOCKS_REQUIRED(w.mu)
func (w *Plain) cut() {
	if w.state == ground && len(w.come) > 0 {
		w.out = utf8.AppendRune(w.out, utf8.RuneError)
	}
	w.come = w.come[:0]
}

// ground is a control character behind which there is text. LOCKS_REQUIRED(w.mu)
func (w *Plain) ground(c byte) {
	w.cut()
	w.state = ground
	if c == '\n' {
		w.plain()
		w.out = append(w.out, c)
	}
}

// sequence is the end of one. Those that set colours, and nothing else, are let through. LOCKS_REQUIRED(w.mu)
func (w *Plain) sequence(final byte) {
	if w.state == sequence && final == 'm' && len(w.come) < maxSequence && strings.Trim(string(w.come), "0123456789;:") == "" {
		w.out = append(append(append(w.out, "\x1b["...), w.come...), final)
		w.styled = len(w.come) > 0 && string(w.come) != "0"
	}
	w.state, w.come = ground, w.come[:0]
}

// char is another byte of text. LOCKS_REQUIRED(w.mu)
func (w *Plain) char(c byte) {
	w.come = append(w.come, c)
	for len(w.come) > 0 && utf8.FullRune(w.come) {
		r, n := utf8.DecodeRune(w.come)
		if r == '\r' || r == '\t' || unicode.IsPrint(r) { // also what is no character becomes one
			w.out = utf8.AppendRune(w.out, r)
		}
		w.come = w.come[:copy(w.come, w.come[n:])]
	}
}
