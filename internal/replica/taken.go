package replica

import (
	"sync"
	"time"

	"github.com/superfly/ltx"

	"github.com/riverlytech/art/internal/control"
)

// busyMost bounds how long what is done on this host alone counts as going on.
const busyMost = 2 * time.Minute

// takesTried is how often a file is begun with before what the place takes of it counts for nothing: one that is full takes the beginning again and
// again.
const takesTried = 3

// taken tells whether the copy goes forward: it counts what the place takes, and what is done here meanwhile.
type taken struct {
	mu    sync.Mutex
	count uint64   // GUARDED_BY(mu)
	file  ltx.TXID // that is being copied. GUARDED_BY(mu)
	tried int      // how often that was begun with. GUARDED_BY(mu)
}

func (t *taken) now() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count
}

// goesOn says that something has gone forward.
func (t *taken) goesOn() { t.add(1) }

func (t *taken) add(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count += uint64(max(n, 0))
}

// attempt returns what counts the bytes of a file. Those of higher levels are merged from what is there already.
func (t *taken) attempt(level int, file ltx.TXID) (count func(bytes int)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if level > 0 {
		return func(int) {}
	}
	if file != t.file {
		t.file, t.tried = file, 0
	}
	if t.tried++; t.tried > takesTried {
		return func(int) {}
	}
	return t.add
}

// say tells art how far the copy is.
func (j *Job) say(s control.ReplicaState) {
	j.mu.Lock()
	j.said = s
	j.mu.Unlock()
	s.Done = j.taken.now()
	j.tell(s)
}

// busy does what waits for this host alone, and tells art meanwhile that it goes on.
func (j *Job) busy(f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for end := time.Now().Add(busyMost); ; {
		select {
		case err := <-done:
			return err
		case <-every.C:
		}
		if time.Now().Before(end) {
			j.taken.goesOn()
		}
		j.mu.Lock()
		s := j.said
		j.mu.Unlock()
		j.say(s)
	}
}
