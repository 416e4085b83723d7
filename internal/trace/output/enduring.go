package output

import "io"

// Enduring is a Writer that goes on when what it writes to takes no more, such as a
// file on a full disk: the tracees are worth more than their trace.
type Enduring struct {
	w      io.Writer
	failed func(error)
	broken bool // the last write has failed, so that a line may be cut off
	told   bool
}

// NewEnduring returns an Enduring that writes to w, and calls failed the first time that
// this fails.
func NewEnduring(w io.Writer, failed func(error)) *Enduring {
	return &Enduring{w: w, failed: failed}
}

// Write implements io.Writer. It never fails.
func (e *Enduring) Write(b []byte) (int, error) {
	out := b
	if e.broken {
		out = append([]byte{'\n'}, b...)
	}
	n, err := e.w.Write(out)
	e.broken = err != nil && (e.broken || n > 0)
	if err != nil && !e.told {
		e.told = true
		e.failed(err)
	}
	return len(b), nil
}
