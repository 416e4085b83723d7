package netledger

import (
	"strconv"
	"time"

	"github.com/riverlytech/art/internal/control"
)

const (
	// mostOfOne is how many denials of one name and port are told apart. The last stands for all that come after.
	mostOfOne = 16
	// countEvery is how often it is handed on that a denial which is kept has come again.
	countEvery = 5 * time.Second
)

// denials are what was denied in a session.
type denials struct {
	of      map[string][]*denial // by name and port
	n       int                  // how many
	lost    int64                // how often something was denied that is not in it
	fresh   []*denial            // those that were not handed on yet
	counted []*denial            // those that came again since they were
	told    time.Time            // when these were last
}

// OnDenied has something called with what is denied to a program for the first time, before art-net is started. It must not block, nor call
// the ledger.
func (l *Ledger) OnDenied(told func(*control.Flow)) { l.told = told }

// denial is something that was denied, as often as that was.
type denial struct {
	control.Flow
	kept    bool // it was handed on
	counted bool // it is in counted
}

// count notes a denial. It returns nil if that is one too many, and whether it is the first of its kind.
func (d *denials) count(f *control.Flow) (is *denial, fresh bool) {
	key := f.What + "\x00" + strconv.Itoa(f.Port)
	list := d.of[key]
	for i, is := range list {
		if i == mostOfOne-1 || is.PID == f.PID && is.Why == f.Why {
			is.Times++
			is.Why = f.Why
			return is, false
		}
	}
	if d.n >= control.MaxDenialsKept {
		return nil, false
	}
	d.n++
	is = &denial{Flow: *f}
	if len(list) == mostOfOne-1 {
		is.PID, is.Command, is.Process, is.Guest = 0, nil, 0, 0
	}
	d.of[key] = append(list, is)
	d.fresh = append(d.fresh, is)
	return is, true
}

// handOn is called when the new ones are handed on. It returns those that have come again, if it is time for that, or else when it is.
func (d *denials) handOn(end bool) (again []control.Flow, due time.Duration) {
	for _, is := range d.fresh {
		is.kept = true
	}
	d.fresh = nil
	if len(d.counted) == 0 {
		return nil, 0
	}
	if due := countEvery - time.Since(d.told); due > 0 && !end {
		return nil, due
	}
	for _, is := range d.counted {
		is.counted = false
		again = append(again, is.Flow)
	}
	d.counted, d.told = nil, time.Now()
	return again, 0
}
