package terminal

import (
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Ask asks a question on the caller's terminal, and returns where the keys come out that are typed for an answer; none gets to
// the guest any more. The guest must not answer: nothing that it writes is shown until GoOn, so that it can neither paint over
// the question nor ask the terminal for something; and what the terminal still answers to what was shown before is no key.
func (s *Streams) Ask(screen io.Writer, question string) (<-chan byte, error) {
	s.gate.hold()
	s.Reset() // a guest that shows another screen, or hides what is written, would hide the question, too
	s.shown.modes = screenModes{}
	if err := s.Terminal.keys(); err != nil {
		return nil, err
	}
	// What was typed for the guest is no answer. It is read rather than flushed (TCIFLUSH), which could take the beginning of
	// a sequence and leave its end. A guest that does not read what is typed must not hold that up.
	s.typed.keep.Store(true)
	_ = s.master.SetWriteDeadline(time.Now()) // fails on a closed one
	awaitQuiet(&s.typed.pieces)
	_ = s.master.SetWriteDeadline(time.Time{})
	if _, err := io.WriteString(screen, question); err != nil {
		return nil, err
	}
	answer := make(chan byte, 16)
	s.typed.answer.Store(&answer)
	return answer, nil
}

// GoOn has appear again what the guest writes. It may be called again, and without Ask.
func (s *Streams) GoOn() { s.gate.open() }

// gate is before a writer, and holds up what is written while it is held.
type gate struct {
	mu    sync.Mutex // held while something is written
	held  bool       // GUARDED_BY(mu)
	freed *sync.Cond
}

func newGate() *gate {
	g := &gate{}
	g.freed = sync.NewCond(&g.mu)
	return g
}

func (g *gate) hold() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held = true
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held = false
	g.freed.Broadcast()
}

// gated is a writer behind a gate.
type gated struct {
	gate *gate
	to   io.Writer
}

func (w gated) Write(p []byte) (int, error) {
	w.gate.mu.Lock()
	defer w.gate.mu.Unlock()
	for w.gate.held {
		w.gate.freed.Wait()
	}
	return w.to.Write(p)
}

// typed is where what is typed goes: to the guest, or to art, which asks.
type typed struct {
	guest  io.Writer
	keep   atomic.Bool               // from the guest
	answer atomic.Pointer[chan byte] // nil before the question is there
	pieces atomic.Int64              // of input that have come
	keys   plainKeys                 // of all that has come, as the question may appear in the midst of a sequence
}

func (t *typed) Write(p []byte) (int, error) {
	t.pieces.Add(1)
	keep, answer := t.keep.Load(), t.answer.Load()
	for _, c := range p {
		if !t.keys.is(c) || answer == nil {
			continue
		}
		select {
		case *answer <- c:
		default: // nobody asks any more
		}
	}
	if keep {
		return len(p), nil
	}
	return t.guest.Write(p)
}

// plainKeys tells keys that are a single byte from all else that a terminal sends: other keys, the mouse, and answers to
// programs, which are control sequences and strings (ctlseqs(7), ECMA-48), with seven bits or with eight.
type plainKeys struct {
	state keyState
	skip  int // bytes that belong to what was before
	tail  int // bytes that may still be of a character (UTF-8)
}

// keyState is where in what a terminal sends the next byte is. It differs from what programs write ([escape.Parser]): a key may
// be an escape character and a control character, and what is behind the first byte of some sequences is no character.
type keyState int

const (
	keyGround   keyState = iota
	keyEscape            // behind an escape character
	keySequence          // in a control sequence
	keyNumbers           // behind the first of its parameters, where that matters
	keyText              // in a string
	keyTextEscape
)

// is says whether the next byte is such a key.
func (k *plainKeys) is(c byte) bool {
	switch {
	case k.skip > 0:
		k.skip--
	case c == '\x18' || c == '\x1a': // they cancel what has begun
		k.state = keyGround
	case c == '\x1b' && (k.state == keyText || k.state == keyTextEscape):
		k.state = keyTextEscape
	case c == '\x1b':
		k.state, k.tail = keyEscape, 0
	case k.state == keyGround:
		return k.char(c)
	case k.state == keyTextEscape && c != '\\':
		k.state = keyEscape
		return k.is(c)
	case k.state == keyTextEscape, k.state == keyText && c == '\a':
		k.state = keyGround
	case k.state == keyText:
	case k.state == keyEscape:
		k.escaped(c)
	case c == 'M' && k.state == keySequence: // the mouse: a button and a place follow
		k.state, k.skip = keyGround, 3
	case c < '@' || c == 0x7f:
		k.state = keyNumbers
	default:
		k.state = keyGround
	}
	return false
}

// escaped is a byte behind an escape character.
func (k *plainKeys) escaped(c byte) {
	switch {
	case c == '[':
		k.state = keySequence
	case strings.IndexByte("]PX^_", c) >= 0:
		k.state = keyText
	case c == 'N' || c == 'O': // SS2, SS3
		k.state, k.skip = keyGround, 1
	case c < ' ' || c >= '0':
		k.state = keyGround
	}
}

// char is a byte where nothing has begun but perhaps a character.
func (k *plainKeys) char(c byte) bool {
	if k.tail > 0 && c&0xc0 == 0x80 {
		k.tail--
		return false
	}
	k.tail = 0
	switch {
	case c < 0x80:
		return true
	case c < 0xa0: // a control character of eight bits, also as a character of its own: C2 80 to C2 9F
		k.escaped(c - 0x40)
	case c >= 0xf0:
		k.tail = 3
	case c >= 0xe0:
		k.tail = 2
	case c > 0xc2:
		k.tail = 1
	}
	return false
}
