package fs

import (
	"sync"

	"github.com/jacobsa/fuse/fuseops"
)

// maxHeavy is how many of the requests that come with much memory may wait at once. One by /dev/fuse has 1 MiB: a guest
// with ten thousand threads that read would have as many. No disk gains from more. Those by rings wait in the kernel.
const maxHeavy = 64

// heavy tells whether an operation comes with much memory, or makes much of it. None of these asks the
// kernel to forget something, for which the kernel may wait until another one is read: so no request is
// read until there is room for them.
func heavy(op any) bool {
	switch op.(type) {
	case *fuseops.ReadFileOp, *fuseops.WriteFileOp, *fuseops.ReadDirOp, *fuseops.ReadDirPlusOp:
		return true
	}
	return false
}

// inflight are the requests that others than the leader serve.
type inflight struct {
	sync.WaitGroup
	mu    sync.Mutex
	ops   map[any]int   // how many wait for its end. GUARDED_BY(mu)
	heavy int           // of these. GUARDED_BY(mu)
	room  chan struct{} // closed when there is room again; nil: there is. GUARDED_BY(mu)
}

func (w *inflight) begin(op any) {
	w.Add(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ops == nil {
		w.ops = map[any]int{}
	}
	if w.ops[op]++; w.ops[op] == 1 && heavy(op) {
		w.heavy++
	}
}

func (w *inflight) end(op any) {
	w.mu.Lock()
	if w.ops[op]--; w.ops[op] == 0 {
		delete(w.ops, op)
		if heavy(op) {
			w.heavy--
		}
		if w.room != nil && w.heavy < maxHeavy {
			close(w.room)
			w.room = nil
		}
	}
	w.mu.Unlock()
	w.Done()
}

// await returns when there is room for another request.
func (w *inflight) await() {
	for {
		w.mu.Lock()
		if w.heavy < maxHeavy {
			w.mu.Unlock()
			return
		}
		if w.room == nil {
			w.room = make(chan struct{})
		}
		room := w.room
		w.mu.Unlock()
		<-room
	}
}
