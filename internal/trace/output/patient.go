package output

import (
	"io"
	"sync/atomic"
	"time"
)

// patience is how long a write may take before somebody is told, and lookEvery how often that
// is looked at.
const (
	patience  = 750 * time.Millisecond
	lookEvery = patience / 3
)

// Patient is a Writer that tells when a write takes long: while a log takes
// nothing more, such as a pipe that nobody reads, the tracees stand still.
type Patient struct {
	w io.Writer
	// writes is the number of writes that were begun and of those that have
	// ended: it is odd during one.
	writes atomic.Uint64
}

// NewPatient returns a Patient that writes to w, and calls stalled once for each
// write that takes about a second.
func NewPatient(w io.Writer, stalled func()) *Patient {
	p := &Patient{w: w}
	go func() {
		var v vigil
		for range time.Tick(lookEvery) {
			if v.look(p.writes.Load()) {
				stalled()
			}
		}
	}()
	return p
}

// vigil looks at a Patient's writes from time to time.
type vigil struct {
	last, told uint64
	same       time.Duration // for which the write under way has been seen
}

// look reports whether somebody is to be told.
func (v *vigil) look(writes uint64) bool {
	if writes%2 == 0 || writes != v.last {
		v.last, v.same = writes, 0
		return false
	}
	v.same += lookEvery
	if v.same < patience || v.told == writes {
		return false
	}
	v.told = writes
	return true
}

// Write implements io.Writer.
func (p *Patient) Write(b []byte) (int, error) {
	p.writes.Add(1)
	defer p.writes.Add(1)
	return p.w.Write(b)
}
