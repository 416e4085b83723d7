package report

import (
	"bytes"
	"cmp"
	"io"
	"sync"
)

// valve is what the reporter prints through. While it is closed, all stays in memory: a terminal that was stopped (Ctrl-S)
// must hold up nobody but who prints.
type valve struct {
	mu     sync.Mutex // held while something is written, so that closing waits for it
	closed bool       // GUARDED_BY(mu)
	kept   []*kept    // GUARDED_BY(mu); in the order in which it came
}

// kept is text that is still to be written.
type kept struct {
	to *valved
	bytes.Buffer
}

// valved is one stream.
type valved struct {
	v      *valve
	w      io.Writer
	failed error // of what was kept. GUARDED_BY(v.mu)
}

// Write implements io.Writer.
func (s *valved) Write(p []byte) (int, error) {
	v := s.v
	v.mu.Lock()
	defer v.mu.Unlock()
	switch last := len(v.kept) - 1; {
	case s.failed != nil:
		return 0, s.failed
	case !v.closed:
		return s.w.Write(p)
	case last >= 0 && v.kept[last].to == s:
		return v.kept[last].Write(p)
	}
	k := &kept{to: s}
	v.kept = append(v.kept, k)
	return k.Write(p)
}

// close keeps what is printed from now on, once what is being written has gone.
func (v *valve) close() {
	v.mu.Lock()
	v.closed = true
	v.mu.Unlock()
}

// open writes what was kept, and returns why a stream does not take it.
func (v *valve) open(s *valved) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, k := range v.kept {
		if k.to.failed == nil {
			_, k.to.failed = k.to.w.Write(k.Bytes())
		}
	}
	v.closed, v.kept = false, nil
	return s.failed
}

// Pause keeps what is printed in memory until Resume or End. It waits for what is being written.
func (r *Reporter) Pause() {
	r.Erase()
	r.Flush()
	r.stdout.v.close()
}

// Resume writes what was kept.
func (r *Reporter) Resume() { r.failed = cmp.Or(r.failed, r.stdout.v.open(r.stdout)) }
