package terminal

import (
	"io"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/riverlytech/art/internal/terminal/escape"
)

// Plain shows on a terminal what a guest has written: its text and its colours, and nothing that the terminal would answer
// or obey. A line is not coloured by one before it, so that no guest can hide what art says.
type Plain struct {
	to io.Writer

	mu     sync.Mutex
	parser escape.Parser // GUARDED_BY(mu)
	come   []byte        // GUARDED_BY(mu); of a character, or of a sequence
	styled bool          // GUARDED_BY(mu); there are colours and the like
	out    []byte        // GUARDED_BY(mu)
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
	w.out, w.come = w.out[:0], nil
	w.parser.Reset()
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
	if c == '\n' { // what has begun ends with its line: it must not hide the next
		w.cut()
		w.parser.Reset()
		w.plain()
		w.out = append(w.out, c)
		return
	}
	if c == '\x1b' || c == '\x18' || c == '\x1a' { // another sequence begins, or what has begun is cancelled
		w.cut()
	}
	switch do := w.parser.Next(c); {
	case do == escape.Print, do == escape.Execute && w.parser.Ground():
		w.char(c)
	case w.parser.Ground():
		w.sequence(do, c)
	case len(w.come) < maxStyle && c >= ' ':
		w.come = append(w.come, c)
	}
}

// maxStyle is more than any sequence that sets colours has bytes: xterm takes 30 parameters (ctlseqs(7), NPARAM).
const maxStyle = 1024

// cut ends a character or a sequence that is not complete. LOCKS_REQUIRED(w.mu)
func (w *Plain) cut() {
	if w.parser.Ground() && len(w.come) > 0 {
		w.out = utf8.AppendRune(w.out, utf8.RuneError)
	}
	w.come = w.come[:0]
}

// sequence is the end of one. Those that set colours, and nothing else, are let through. LOCKS_REQUIRED(w.mu)
func (w *Plain) sequence(do escape.Action, final byte) {
	if do == escape.Control && final == 'm' && !w.parser.Marked() && len(w.come) < maxStyle {
		w.out = append(append(append(w.out, '\x1b'), w.come...), final)
		w.styled = w.parser.Params() > 1 || w.parser.Arg(0, 0) != 0
	}
	w.come = w.come[:0]
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
