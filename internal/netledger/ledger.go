// Package netledger is art's side of what a guest does on a network by name: it hears what art-net tells, finds whose it is, and hands
// that on, to be kept and to be shown.
//
//	ledger.go  what art-net tells
//	owner.go   which process has a socket
//	show.go    how it is shown
package netledger

import (
	"encoding/binary"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/riverlytech/art/internal/control"
)

const (
	// saveEvery is how often flows are handed on; one that is open for so long, or was denied, has its process found by then.
	saveEvery = 500 * time.Millisecond
	// mostOpen bounds the connections that are remembered until they end, and mostRecent those after that.
	mostOpen   = 20_000
	mostRecent = 1000
	// mostFollowing bounds what waits for one who looks on.
	mostFollowing = 1000
)

// Ledger is what a guest does. art-net writes to it what it tells.
type Ledger struct {
	owner func(*control.NetEvent) (pid int, command []string)
	noted func(number uint64)
	save  func([]control.Flow) error // nil: it is not kept

	read   []byte // of a frame that has not come in full; of Write
	broken bool   // what comes makes no sense; of Write

	mu        sync.Mutex
	report    *control.NetReport               // GUARDED_BY(mu)
	open      map[uint64]*control.Flow         // GUARDED_BY(mu)
	saved     map[uint64]bool                  // GUARDED_BY(mu); those of open that are kept already
	pending   []control.Flow                   // GUARDED_BY(mu); to be kept
	denied    map[string]int                   // GUARDED_BY(mu); where a denial is in pending
	recent    []control.Flow                   // GUARDED_BY(mu)
	kept      int64                            // GUARDED_BY(mu); how many
	lost      int64                            // GUARDED_BY(mu); how many are not
	last      int64                            // GUARDED_BY(mu); the number of the last flow
	followers map[chan []control.Flow]struct{} // GUARDED_BY(mu)
	timer     *time.Timer                      // GUARDED_BY(mu)
	ended     bool                             // GUARDED_BY(mu)

	saving sync.Mutex // of who saves
}

// New returns a ledger. owner finds the process of an event, noted tells art-net that a denial is noted, and save, unless it is nil, keeps flows.
func New(owner func(*control.NetEvent) (int, []string), noted func(uint64), save func([]control.Flow) error) *Ledger {
	return &Ledger{
		owner: owner, noted: noted, save: save,
		open: map[uint64]*control.Flow{}, saved: map[uint64]bool{}, denied: map[string]int{}, followers: map[chan []control.Flow]struct{}{},
	}
}

// Write takes what art-net has written. What makes no sense is the end of that: whoever has taken art-net over gets nothing by it.
func (l *Ledger) Write(p []byte) (int, error) {
	n := len(p)
	for !l.broken {
		if len(l.read) == 0 {
			l.read, p = p, nil // mostly whole frames
		} else if len(p) > 0 {
			l.read, p = append(slices.Clip(l.read), p...), nil
		}
		if len(l.read) < 4 {
			break
		}
		size := binary.BigEndian.Uint32(l.read)
		if size > control.MaxFrame {
			l.broken = true
			break
		}
		if uint32(len(l.read)-4) < size {
			break
		}
		frame := l.read[4 : 4+size]
		l.read = l.read[4+size:]
		l.take(frame)
	}
	l.read = slices.Clone(l.read) // the caller has it back
	if l.broken {
		l.read = nil
	}
	return n, nil
}

func (l *Ledger) take(frame []byte) {
	var events control.NetEvents
	if control.Unmarshal(frame, &events) != nil {
		report := &control.NetReport{}
		if control.Unmarshal(frame, report) != nil {
			l.broken = true
			return
		}
		l.mu.Lock()
		l.report = report
		l.mu.Unlock()
		return
	}
	l.mu.Lock()
	l.lost += int64(min(events.Lost, 1<<32))
	l.mu.Unlock()
	for i := range events.Events {
		e := &events.Events[i]
		if e.Check() != nil {
			l.broken = true
			return
		}
		switch e.Kind {
		case control.NetBegun:
			l.begun(e)
		case control.NetEnded:
			l.over(e)
		case control.NetDenied:
			l.deny(e)
			l.noted(e.Number)
		}
	}
}

// flow is what an event says.
func (l *Ledger) flow(e *control.NetEvent) control.Flow {
	f := control.Flow{
		Began: e.Time, Ended: e.Time, What: e.What, Address: e.Address, Port: e.Port, Protocol: "tcp",
		Rule: e.Rule, Why: e.Why, Allow: e.Allow, Sent: e.Sent, Received: e.Received, Times: 1,
	}
	if e.UDP {
		f.Protocol = "udp"
	}
	return f
}

func (l *Ledger) begun(e *control.NetEvent) {
	f := l.flow(e)
	f.Open = true
	f.PID, f.Command = l.owner(e)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) >= mostOpen || l.full() {
		l.lost++
		return
	}
	l.last++
	f.Number = l.last
	l.kept++
	l.open[e.Number] = &f
	l.tell(f)
	l.schedule()
}

func (l *Ledger) over(e *control.NetEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.open[e.Number]
	if f == nil {
		return
	}
	delete(l.open, e.Number)
	saved := l.saved[e.Number]
	delete(l.saved, e.Number)
	if e.Why == control.FlowDenied && !saved {
		l.kept--
		return // the denial is another one
	}
	f.Open, f.Ended = false, e.Time
	f.Address, f.Why, f.Sent, f.Received = e.Address, e.Why, e.Sent, e.Received
	l.put(*f)
}

func (l *Ledger) deny(e *control.NetEvent) {
	f := l.flow(e)
	f.Denied = true
	f.PID, f.Command = l.owner(e)
	l.mu.Lock()
	defer l.mu.Unlock()
	key := f.What + "\x00" + strconv.Itoa(f.Port) + "\x00" + f.Why + "\x00" + strconv.Itoa(f.PID)
	if i, ok := l.denied[key]; ok {
		l.pending[i].Times++
		return
	}
	if l.full() {
		l.lost++
		return
	}
	l.last++
	l.kept++
	f.Number = l.last
	l.denied[key] = len(l.pending)
	l.put(f)
}

// full tells whether no more flows of this session are kept.
func (l *Ledger) full() bool { return l.kept >= control.MaxFlowsKept }

// put has a flow kept and told.
func (l *Ledger) put(f control.Flow) {
	l.pending = append(l.pending, f)
	l.tell(f)
	l.schedule()
}

// tell tells those who look on.
func (l *Ledger) tell(f control.Flow) {
	for c := range l.followers {
		select {
		case c <- []control.Flow{f}:
		default: // who is that slow misses something
		}
	}
}

func (l *Ledger) schedule() {
	if l.timer == nil && !l.ended {
		l.timer = time.AfterFunc(saveEvery, l.flush)
	}
}

// flush hands on what is to be kept: what has ended, and what is open and was not yet.
func (l *Ledger) flush() {
	l.saving.Lock()
	defer l.saving.Unlock()
	l.mu.Lock()
	l.timer = nil
	list := l.pending
	l.pending, l.denied = nil, map[string]int{}
	l.recent = append(l.recent, list...)
	l.recent = slices.Clone(l.recent[max(0, len(l.recent)-mostRecent):])
	if l.save != nil {
		for number, f := range l.open {
			if !l.saved[number] {
				l.saved[number] = true
				list = append(list, *f)
			}
		}
	}
	l.mu.Unlock()
	if l.save == nil {
		return
	}
	for some := range slices.Chunk(list, control.MaxFlowsTold) {
		if l.save(some) != nil {
			return // art-fuse has ended
		}
	}
}

// End hands on all that there is, and returns what was denied; nil where art-net has not said that.
func (l *Ledger) End() *control.NetReport {
	l.mu.Lock()
	l.ended = true
	if l.timer != nil {
		l.timer.Stop()
	}
	if l.lost > 0 {
		now := time.Now()
		l.last++
		l.put(control.Flow{Number: l.last, Began: now, Ended: now, Times: l.lost, Why: "more than is kept"})
	}
	for c := range l.followers {
		close(c)
	}
	l.followers = map[chan []control.Flow]struct{}{}
	l.mu.Unlock()
	l.flush()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.report
}

// Recent returns the last flows, the oldest first.
func (l *Ledger) Recent() []control.Flow {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.recentLocked()
}

func (l *Ledger) recentLocked() []control.Flow {
	list := slices.Concat(l.recent, l.pending)
	for _, f := range l.open {
		list = append(list, *f)
	}
	slices.SortFunc(list, func(a, b control.Flow) int { return int(a.Number - b.Number) })
	return list
}

// Follow returns what there is, and then what comes, until stop is called or the session ends.
func (l *Ledger) Follow() (now []control.Flow, later <-chan []control.Flow, stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := make(chan []control.Flow, mostFollowing)
	if l.ended {
		close(c)
	} else {
		l.followers[c] = struct{}{}
	}
	return l.recentLocked(), c, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.followers, c)
	}
}
