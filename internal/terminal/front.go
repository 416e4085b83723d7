package terminal

import (
	"io"
	"sync"
	"time"
)

// front is the guest's terminal as it appears on the caller's, for as long as that is there, and by the hub to others.
type front struct {
	hub    *Hub
	keys   *Keys
	detach func() bool // called when the keys are pressed; tells whether Detach was

	mu    sync.Mutex // held while a piece is shown and put into the queue
	shown *shown     // GUARDED_BY(mu); nil after Detach
	queue *queue     // to the hub
}

// Attend has a hub keep a picture of the guest's terminal, so that the caller's can be detached. Where the keys are pressed there,
// detach is called, in another goroutine; it tells whether it has called Detach.
func (s *Streams) Attend(keys *Keys, detach func() bool) error {
	size, err := s.Terminal.size()
	if err != nil {
		return err
	}
	s.Hub = NewHub(Size{int(size.Col), int(size.Row)}, nil)
	s.Hub.setFront(size)
	s.front = &front{hub: s.Hub, keys: keys, detach: detach, shown: &s.shown, queue: newQueue(s.Hub)}
	return nil
}

// Detach gives the caller's terminal back, as it was. The guest's is the hub's alone from now on, and what it writes goes to
// the log, too.
func (s *Streams) Detach(log io.Writer) {
	f := s.front
	f.mu.Lock()
	f.shown = nil
	f.queue.flush() // that was shown
	s.Hub.setLog(log)
	f.mu.Unlock()
	s.Reset()
	s.Terminal.Restore()
	s.Terminal = nil
	s.Hub.setFront(nil)
	s.GoOn() // if there was a question
}

// carry carries what is typed to the guest until the terminal is detached, or is gone, and tells which.
func (f *front) carry(from *Terminal, typed func([]byte)) (detached bool) {
	for f.keys.Carry(from, typed) {
		if f.detach() {
			return true
		}
	}
	return false
}

// Write shows what the guest has written on the caller's terminal, and the hub follows: nobody waits for the picture, unless it
// is far behind.
func (f *front) Write(p []byte) (n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n = len(p); f.shown != nil {
		n, err = f.shown.Write(p)
	}
	f.queue.put(p[:max(n, 0)])
	return n, err
}

const (
	// maxQueue bounds what the hub is behind, in bytes.
	maxQueue = 512 << 10
	// gather is how long the hub lets more come before it takes the next piece, unless that is large: to wake it for each of the 4 KiB
	// that a terminal gives at a time costs more than to follow them.
	gather = 4 * time.Millisecond
)

// queue is what the hub has not got yet.
type queue struct {
	mu      sync.Mutex
	changed *sync.Cond
	hurry   chan struct{} // nothing more is to be let come before the next piece
	waiting []byte        // GUARDED_BY(mu)
	busy    bool          // GUARDED_BY(mu); some of it is being written
	ended   bool          // GUARDED_BY(mu)
}

func newQueue(to io.Writer) *queue {
	q := &queue{hurry: make(chan struct{}, 1)}
	q.changed = sync.NewCond(&q.mu)
	go q.carry(to)
	return q
}

func (q *queue) put(p []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) > maxQueue {
		q.changed.Wait()
	}
	before := len(q.waiting)
	q.waiting = append(q.waiting, p...)
	switch {
	case before == 0:
		q.changed.Broadcast()
	case before <= maxQueue/2 && len(q.waiting) > maxQueue/2:
		q.wake()
	}
}

// wake has the next piece be taken at once.
func (q *queue) wake() {
	select {
	case q.hurry <- struct{}{}:
	default:
	}
}

// carry writes what is put, in larger pieces if it falls behind, until the end.
func (q *queue) carry(to io.Writer) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var other []byte
	more := time.NewTimer(gather)
	for {
		for len(q.waiting) == 0 && !q.ended {
			q.changed.Wait()
		}
		if len(q.waiting) == 0 {
			return
		}
		piece := q.waiting
		q.waiting, q.busy = other[:0], true
		select {
		case <-q.hurry: // it was for this piece
		default:
		}
		q.mu.Unlock()
		_, _ = to.Write(piece) // the hub's never fails
		q.mu.Lock()
		other, q.busy = piece, false
		q.changed.Broadcast()
		q.mu.Unlock()
		more.Reset(gather)
		select {
		case <-more.C:
		case <-q.hurry:
		}
		q.mu.Lock()
	}
}

// flush waits until all is written that was put.
func (q *queue) flush() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) > 0 || q.busy {
		q.wake()
		q.changed.Wait()
	}
}

// end is flush, when nothing more will be put.
func (q *queue) end() {
	q.flush()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	q.changed.Broadcast()
}
