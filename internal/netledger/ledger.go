// Package netledger is art's side of what a guest does on a network by name: it hears what art-net tells, finds whose it is, and hands
// that on, to be kept and to be shown.
//
//	ledger.go  what art-net tells
//	denials.go what was denied, as often as that was
//	asks.go    what waits to be granted, and was
//	propose.go what settings would allow what was reached
//	owner.go   which process has a socket
//	show.go    how it is shown
package netledger

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

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
	asked func(control.Asking)
	told  func(*control.Flow) // of denials
	whose func(pid int) (number int64, guest int)

	read   []byte // of a frame that has not come in full, in memory that is used for all of them; of Write
	broken bool   // what comes makes no sense; of Write

	mu        sync.Mutex
	report    *control.NetReport               // GUARDED_BY(mu)
	open      map[uint64]*control.Flow         // GUARDED_BY(mu)
	saved     map[uint64]bool                  // GUARDED_BY(mu); those of open that are kept already
	pending   []*control.Flow                  // GUARDED_BY(mu); to be kept
	denials   denials                          // GUARDED_BY(mu)
	asks      asks                             // GUARDED_BY(mu)
	used      Used                             // GUARDED_BY(mu)
	recent    []control.Flow                   // GUARDED_BY(mu)
	kept      int64                            // GUARDED_BY(mu); how many connections
	lost      int64                            // GUARDED_BY(mu); how many are not
	gone      bool                             // GUARDED_BY(mu); who keeps them has ended
	last      int64                            // GUARDED_BY(mu); the number of the last flow
	followers map[chan []control.Flow]struct{} // GUARDED_BY(mu)
	timer     *time.Timer                      // GUARDED_BY(mu)
	due       time.Time                        // GUARDED_BY(mu); when timer comes
	ended     bool                             // GUARDED_BY(mu)

	saving sync.Mutex // of who saves
}

// New returns a ledger. owner finds the process of an event, noted tells art-net that a denial or a connection is noted, and save, unless it
// is nil, keeps flows.
func New(owner func(*control.NetEvent) (int, []string), noted func(uint64), save func([]control.Flow) error) *Ledger {
	return &Ledger{
		owner: owner, noted: noted, save: save,
		open: map[uint64]*control.Flow{}, saved: map[uint64]bool{}, denials: denials{of: map[string][]*denial{}}, asks: newAsks(), asked: func(control.Asking) {}, told: func(*control.Flow) {}, whose: func(int) (int64, int) { return 0, 0 }, followers: map[chan []control.Flow]struct{}{},
	}
}

// Write takes what art-net has written. What makes no sense is the end of that: whoever has taken art-net over gets nothing by it.
func (l *Ledger) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 && !l.broken {
		some := min(l.wanted()-len(l.read), len(p))
		l.read, p = append(l.read, p[:some]...), p[some:]
		switch wanted := l.wanted(); {
		case wanted > 4+control.MaxFrame:
			l.broken = true
		case wanted == len(l.read):
			l.take(l.read[4:])
			l.read = l.read[:0]
		}
	}
	if l.broken {
		l.read = nil
	}
	return n, nil
}

// wanted is how much of a frame has to come, as far as that is known.
func (l *Ledger) wanted() int {
	if len(l.read) < 4 {
		return 4
	}
	return 4 + int(binary.BigEndian.Uint32(l.read))
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
		l.Hear(e)
	}
}

// Hear takes one event, which makes sense. Those of one connection have a number that no others have.
func (l *Ledger) Hear(e *control.NetEvent) {
	switch e.Kind {
	case control.NetBegun:
		l.begun(e)
		l.noted(e.Number)
	case control.NetEnded:
		l.over(e)
	case control.NetDenied:
		l.deny(e)
		l.noted(e.Number)
	case control.NetAsked:
		l.ask(e)
	case control.NetAnswered:
		l.answered(e)
	case control.NetGranted:
		l.granted(e)
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

// OnOwner has something called that knows which command a process belongs to, before art-net is started: see [control.Flow]. It must not call the
// ledger.
func (l *Ledger) OnOwner(whose func(pid int) (number int64, guest int)) { l.whose = whose }

// find finds whose an event is.
func (l *Ledger) find(f *control.Flow, e *control.NetEvent) {
	if f.PID, f.Command = l.owner(e); f.PID != 0 {
		f.Process, f.Guest = l.whose(f.PID)
	}
}

func (l *Ledger) begun(e *control.NetEvent) {
	f := l.flow(e)
	f.Open = true
	l.find(&f, e)
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
	l.tell(&f)
	l.schedule(saveEvery)
}

func (l *Ledger) over(e *control.NetEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	reached := l.flow(e)
	l.used.Add(&reached)
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
	l.put(f)
}

func (l *Ledger) deny(e *control.NetEvent) {
	f := l.flow(e)
	f.Denied = true
	l.find(&f, e)
	l.mu.Lock()
	defer l.mu.Unlock()
	d, fresh := l.denials.count(&f)
	switch {
	case d == nil:
		l.denials.lost++
	case fresh:
		l.last++
		d.Number = l.last
		l.put(&d.Flow)
		l.told(&f)
	case d.kept && !d.counted:
		d.counted = true
		l.denials.counted = append(l.denials.counted, d)
		l.schedule(countEvery)
	}
}

// full tells whether no more connections of this session are kept.
func (l *Ledger) full() bool { return l.kept >= control.MaxFlowsKept }

// put has a flow kept and told.
func (l *Ledger) put(f *control.Flow) {
	l.pending = append(l.pending, f)
	l.tell(f)
	l.schedule(saveEvery)
}

// tell tells those who look on.
func (l *Ledger) tell(f *control.Flow) {
	for c := range l.followers {
		select {
		case c <- []control.Flow{*f}:
		default: // who is that slow misses something
		}
	}
}

// schedule has what there is handed on, after a while at the latest.
func (l *Ledger) schedule(after time.Duration) {
	if due := time.Now().Add(after); !l.ended && (l.timer == nil || due.Before(l.due)) {
		if l.timer != nil {
			l.timer.Stop()
		}
		l.timer, l.due = time.AfterFunc(after, l.flush), due
	}
}

// flush hands on what is to be kept: what has ended, what is open and was not yet, and what was denied more often since.
func (l *Ledger) flush() {
	l.saving.Lock()
	defer l.saving.Unlock()
	l.mu.Lock()
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	list := values(l.pending)
	l.pending = nil
	if again, due := l.denials.handOn(l.ended); len(again) > 0 {
		list = append(list, again...)
	} else if due > 0 {
		l.schedule(due)
	}
	l.recent = latest(append(l.recent, list...))
	l.recent = slices.Clone(l.recent[max(0, len(l.recent)-mostRecent):])
	opened := map[int64]uint64{} // the events' numbers of those that are open
	if l.save != nil && !l.gone {
		for number, f := range l.open {
			if !l.saved[number] {
				l.saved[number] = true
				opened[f.Number] = number
				list = append(list, *f)
			}
		}
	}
	gone := l.gone
	l.mu.Unlock()
	if l.save == nil || gone {
		return
	}
	for some := range slices.Chunk(list, control.MaxFlowsTold) {
		if err := l.save(some); err != nil && l.unsaved(some, opened, err) {
			return
		}
	}
}

// unsaved notes that some were not kept, and tells whether that is because there is nobody any more who keeps them.
func (l *Ledger) unsaved(some []control.Flow, opened map[int64]uint64, err error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) {
		l.gone = true
		return true
	}
	for i := range some {
		f := &some[i]
		switch number, open := opened[f.Number]; {
		case open:
			delete(l.saved, number) // comes once more
		case f.Denied:
			l.denials.lost += f.Times
		default:
			l.lost += f.Times
		}
	}
	return false
}

// values are what pointers point to.
func values(list []*control.Flow) (all []control.Flow) {
	for _, f := range list {
		all = append(all, *f)
	}
	return all
}

// latest leaves out of a list what comes again in it.
func latest(list []control.Flow) []control.Flow {
	seen, all := map[int64]bool{}, make([]control.Flow, 0, len(list))
	for i := len(list) - 1; i >= 0; i-- {
		if number := list[i].Number; !seen[number] {
			seen[number] = true
			all = append(all, list[i])
		}
	}
	slices.Reverse(all)
	return all
}

// End hands on all that there is, and returns what was denied; nil where art-net has not said that.
func (l *Ledger) End() *control.NetReport {
	l.mu.Lock()
	l.ended = true
	if l.timer != nil {
		l.timer.Stop()
	}
	l.mu.Unlock()
	l.flush()
	l.mu.Lock()
	now := time.Now()
	for _, f := range []control.Flow{{Times: l.lost}, {Times: l.denials.lost, Denied: true}} {
		if f.Times > 0 {
			l.last++
			f.Number, f.Began, f.Ended, f.Why = l.last, now, now, "more than is kept"
			l.put(&f)
		}
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

// Used returns what was reached so far.
func (l *Ledger) Used() Used {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Used{maps.Clone(l.used.rules), l.used.More}
}

// Recent returns the last flows, the oldest first.
func (l *Ledger) Recent() []control.Flow {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.recentLocked()
}

func (l *Ledger) recentLocked() []control.Flow {
	list := slices.Concat(l.recent, values(l.pending))
	for _, d := range l.denials.counted {
		list = append(list, d.Flow)
	}
	list = latest(list)
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
