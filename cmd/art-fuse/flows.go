package main

import (
	"cmp"
	"slices"
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

// keeper is what flows are kept in: a sqlvfs.Store.
type keeper interface {
	Logged() bool
	AddFlows(list []sqlvfs.Flow) error
}

// flows keeps what the guest does on the network.
type flows struct {
	store keeper
	wait  bool          // there may be some
	told  chan struct{} // closed when all are
	more  chan struct{} // there is something to be written

	mu   sync.Mutex
	list []sqlvfs.Flow // GUARDED_BY(mu); to be written
	lost int64         // GUARDED_BY(mu); how many had no room there
	put  sync.Mutex    // of who writes
}

func newFlows(store keeper, wait bool) *flows {
	f := &flows{store: store, wait: wait, told: make(chan struct{}), more: make(chan struct{}, 1)}
	go f.writeAll()
	return f
}

// add takes some, and has them written once the session is in the log. Nobody waits for that.
func (f *flows) add(list []control.Flow) {
	f.mu.Lock()
	for i := range list {
		if len(f.list) < mostWaiting {
			f.list = append(f.list, stored(&list[i]))
		} else {
			f.lost += max(1, list[i].Times)
		}
	}
	f.mu.Unlock()
	select {
	case f.more <- struct{}{}:
	default: // all that waits is written together
	}
}

// writeAll writes what comes, until all has come. What is left then the end of the session writes.
func (f *flows) writeAll() {
	for {
		select {
		case <-f.more:
			if f.store.Logged() {
				_ = f.write() // the end of the session tells
			}
		case <-f.told:
			return
		}
	}
}

// write writes what waits. What fails is tried again with what comes later.
func (f *flows) write() error {
	f.put.Lock()
	defer f.put.Unlock()
	return f.writeList()
}

// writeList is write. LOCKS_REQUIRED(put)
func (f *flows) writeList() error {
	f.mu.Lock()
	list, lost := f.list, f.lost
	f.list = nil
	f.mu.Unlock()
	if len(list) == 0 {
		return nil
	}
	if lost > 0 { // by a number that no other has, so that a later count replaces it
		now := sqlvfs.Now()
		list = append(slices.Clip(list), sqlvfs.Flow{Began: now, Ended: &now, Times: lost, Why: "more than can wait for room"})
	}
	err := f.store.AddFlows(list)
	if err != nil {
		if lost > 0 {
			list = list[:len(list)-1]
		}
		f.mu.Lock()
		f.list = append(list, f.list...)
		if over := len(f.list) - mostWaiting; over > 0 {
			for _, left := range f.list[mostWaiting:] {
				f.lost += left.Times
			}
			f.list = f.list[:mostWaiting]
		}
		f.mu.Unlock()
	}
	return err
}

// end writes what is left at the end of the session, and tells of what cannot be kept.
func (f *flows) end(logf func(string, ...any)) {
	f.await()
	f.put.Lock() // else another attempt could have the list while it is counted
	defer f.put.Unlock()
	err := f.writeList()
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := f.lost + int64(len(f.list)); err != nil {
		logf("keep what was done on the network: %d connections and denials are not in the database: %w", n, err)
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
		Number: f.Number, Began: timespec(f.Began), PID: cmp.Or(f.Guest, f.PID), Command: f.Command, Name: f.What, Address: f.Address, Port: f.Port,
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
