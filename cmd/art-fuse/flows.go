package main

import (
	"sync"
	"time"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/sqlvfs"
)

const (
	// flowsWait is how long the end of a session waits for what the guest has done on the network. art has said it a moment later.
	flowsWait = time.Second
	// mostWaiting bounds the connections that wait to be written: the disk may be full.
	mostWaiting = 2 * control.MaxFlowsKept
)

// flows keeps what the guest does on the network.
type flows struct {
	store *sqlvfs.Store
	wait  bool          // there may be some
	told  chan struct{} // closed when all are

	mu   sync.Mutex
	list []sqlvfs.Flow // GUARDED_BY(mu); to be written
	put  sync.Mutex    // of who writes
}

func newFlows(store *sqlvfs.Store, wait bool) *flows {
	return &flows{store: store, wait: wait, told: make(chan struct{})}
}

// add takes some, and writes them once the session is in the log.
func (f *flows) add(list []control.Flow) {
	f.mu.Lock()
	for i := range list {
		if len(f.list) < mostWaiting {
			f.list = append(f.list, stored(&list[i]))
		}
	}
	f.mu.Unlock()
	if f.store.Logged() {
		f.write()
	}
}

// write writes what waits. What fails is tried again with what comes later.
func (f *flows) write() {
	f.put.Lock()
	defer f.put.Unlock()
	f.mu.Lock()
	list := f.list
	f.list = nil
	f.mu.Unlock()
	if len(list) == 0 {
		return
	}
	if f.store.AddFlows(list) != nil {
		f.mu.Lock()
		f.list = append(list, f.list...)
		f.mu.Unlock()
	}
}

// await waits until all are there, for a while, and tells whether there is something to be written.
func (f *flows) await() bool {
	if !f.wait {
		return false
	}
	select {
	case <-f.told:
	case <-time.After(flowsWait):
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.list) > 0
}

// stored is a flow as the database has it.
func stored(f *control.Flow) sqlvfs.Flow {
	to := sqlvfs.Flow{
		Number: f.Number, Began: timespec(f.Began), PID: f.PID, Command: f.Command, Name: f.What, Address: f.Address, Port: f.Port,
		Protocol: f.Protocol, Denied: f.Denied, Rule: f.Rule, Why: f.Why, Allow: f.Allow,
		Sent: max(0, f.Sent), Received: max(0, f.Received), Times: max(1, f.Times),
	}
	if !f.Open {
		ended := timespec(f.Ended)
		to.Ended = &ended
	}
	return to
}

func timespec(t time.Time) sqlvfs.Timespec {
	return sqlvfs.Timespec{Sec: t.Unix(), Nsec: int32(t.Nanosecond())}
}
