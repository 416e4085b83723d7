package output

import (
	"io"
	"sync/atomic"
	"time"
)

// patience is how long a write may take before somebody is told.
const patience = time.Second

// Patient is a Writer that tells when a write takes long: while a log takes
// nothing more, such as a pipe that nobody reads, the tracees stand still.
type Patient struct {
	w io.Writer
	// writes is the number of writes that were begun and of those that have
	// ended: it is odd during one.
	writes atomic.Uint64
}

// NewPatient returns a Patient that writes to w, and calls stalled once for each
// write that takes longer than a second or two.
func NewPatient(w io.Writer, stalled func()) *Patient {
	p := &Patient{w: w}
	go func() {
		var last, told uint64
		for range time.Tick(patience) {
			now := p.writes.Load()
			if now%2 == 1 && now == last && now != told {
				told = now
				stalled()
			}
			last = now
		}
	}()
	return p
}

// Write implements io.Writer.
func (p *Patient) Write(b []byte) (int, error) {
	p.writes.Add(1)
	defer p.writes.Add(1)
	return p.w.Write(b)
}
