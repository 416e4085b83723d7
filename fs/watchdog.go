package fs

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Requests are served where they are taken: by the goroutine that reads /dev/fuse, and by the threads of rings. That is
// fast as long as nothing waits. But a lookup may wait for the host's disk, or a directory may be long, which cannot be
// told before. So a watchdog looks at these posts: where the same operation goes on after takeFor, another goroutine or
// thread takes the next requests.
type watchdog struct {
	parked atomic.Bool // it sleeps, because nothing has happened for a while
	wake   chan struct{}

	mu    sync.Mutex
	posts []*post // GUARDED_BY(mu)
}

// post is where requests are taken.
type post struct {
	dog     *watchdog
	turn    atomic.Pointer[turn] // the operation that is being served; nil: it waits for one
	last    *turn                // what the watchdog saw last
	succeed func(*turn)
}

type turn struct{ op any }

const (
	// takeFor is for how long an operation may hold up the others.
	takeFor = 5 * time.Millisecond
	// parkAfter is how often the watchdog has to find no operation before it sleeps: an idle session must cost nothing.
	parkAfter = 100
)

// watch adds a post, where succeed is called on the watchdog's goroutine with an operation that goes on.
func (w *watchdog) watch(succeed func(*turn)) *post {
	p := &post{dog: w, succeed: succeed}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.posts = append(w.posts, p)
	return p
}

// begin is to be called before an operation.
func (p *post) begin(op any) *turn {
	t := &turn{op}
	p.turn.Store(t)
	if p.dog.parked.Load() {
		select {
		case p.dog.wake <- struct{}{}:
		default:
		}
	}
	return t
}

// end is to be called after an operation, and by who succeeds meanwhile. It returns false if another one was first.
func (p *post) end(t *turn) bool { return p.turn.CompareAndSwap(t, nil) }

// run looks at the posts until the connection has ended.
func (w *watchdog) run(ended <-chan struct{}) {
	tick := time.NewTicker(takeFor)
	defer tick.Stop()
	for idle := 0; ; {
		select {
		case <-ended:
			return
		case <-tick.C:
		}
		if w.look() {
			idle = 0
			continue
		}
		if idle++; idle < parkAfter {
			continue
		}
		tick.Stop()
		w.parked.Store(true)
		if !w.look() { // or one began before it could see that
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
func (w *watchdog) look() (busy bool) {
	w.mu.Lock()
	posts := slices.Clone(w.posts)
	w.mu.Unlock()
	for _, p := range posts {
		t := p.turn.Load()
		if t != nil {
			busy = true
			if t == p.last {
				p.succeed(t)
			}
		}
		p.last = t
	}
	return busy
}
