package fs

import (
	"sync/atomic"
	"time"
)

// Requests by /dev/fuse are served by the goroutine that reads them. That is fast as long as nothing waits. But a lookup
// may wait for the host's disk, or a directory may be long, which cannot be told before. So a watchdog looks at the
// reader: where the same operation goes on after takeFor, another goroutine reads the next requests.
type watchdog struct {
	turn   atomic.Pointer[turn] // the operation that is being served; nil: the reader waits for one
	last   *turn                // what run saw last
	parked atomic.Bool          // run sleeps, because nothing has happened for a while
	wake   chan struct{}
}

type turn struct{ op any }

const (
	// takeFor is for how long an operation may hold up the others.
	takeFor = 5 * time.Millisecond
	// parkAfter is how often the watchdog has to find no operation before it sleeps: an idle session must cost nothing.
	parkAfter = 100
)

// begin is to be called before an operation.
func (w *watchdog) begin(op any) *turn {
	t := &turn{op}
	w.turn.Store(t)
	if w.parked.Load() {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
	return t
}

// end is to be called after an operation, and by who succeeds meanwhile. It returns false if another one was first.
func (w *watchdog) end(t *turn) bool { return w.turn.CompareAndSwap(t, nil) }

// run looks at the reader until the connection has ended. succeed is called with an operation that goes on.
func (w *watchdog) run(ended <-chan struct{}, succeed func(*turn)) {
	tick := time.NewTicker(takeFor)
	defer tick.Stop()
	for idle := 0; ; {
		select {
		case <-ended:
			return
		case <-tick.C:
		}
		if w.look(succeed) {
			idle = 0
			continue
		}
		if idle++; idle < parkAfter {
			continue
		}
		tick.Stop()
		w.parked.Store(true)
		if !w.look(succeed) { // or one began before it could see that
			select {
			case <-ended:
				return
			case <-w.wake:
			}
		}
		w.parked.Store(false)
		tick.Reset(takeFor)
		idle = 0
	}
}

// look looks once. It tells whether anything goes on.
func (w *watchdog) look(succeed func(*turn)) (busy bool) {
	t := w.turn.Load()
	if t != nil && t == w.last {
		succeed(t)
	}
	w.last = t
	return t != nil
}
