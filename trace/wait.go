package trace

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/trace/decode"
)

// stop is what the kernel has reported of a thread: that it has stopped or ended.
type stop struct {
	pid    int
	status unix.WaitStatus
	// late: others have been handled between the report and now.
	late bool
}

// lookEvery is how many turns a thread can have in a row while others have stopped:
// to ask for those in vain is a tenth of the calls that a stop takes.
const lookEvery = 8

// next returns the next stop or end. ok is false when no tracee is left, or when
// the context has ended.
//
// Of several threads that have stopped, wait4 always returns the same first
// (do_wait in kernel/exit.c walks its lists from the front), so that threads which
// stop again and again could keep others from ever going on. Hence all that have
// stopped are asked for, and have their turn before any has another one. As long as
// nothing is found that way, it is done every now and then only.
func (t *tracer) next() (s stop, ok bool, err error) {
	for len(t.stops) == 0 {
		if t.quit.Load() {
			return s, false, nil
		}
		switch err := t.wait(0); {
		case errors.Is(err, unix.ECHILD):
			return s, false, nil
		case err != nil && !errors.Is(err, unix.EINTR):
			return s, false, fmt.Errorf("wait for tracee: %w", err)
		}
		look := t.single%lookEvery == 0 && len(t.tasks) > 1
		t.single++
		for look && t.wait(unix.WNOHANG) == nil {
			t.stops[len(t.stops)-1].late = true
			t.single = 0
		}
	}
	s, t.stops = t.stops[0], t.stops[1:]
	return s, true, nil
}

// wait adds to the stops the next that the kernel has to report; with WNOHANG it
// returns EAGAIN when there is none. Only this thread's children and tracees count
// (__WNOTHREAD in wait(2)): the other children of this process are somebody else's.
func (t *tracer) wait(options int) error {
	if len(t.stops) == 0 {
		t.stops = t.room[:0] // where it was, instead of further and further behind
	}
	var status unix.WaitStatus
	pid, err := unix.Wait4(-1, &status, unix.WALL|unix.WNOTHREAD|options, nil)
	switch {
	case err != nil:
		return err
	case pid == 0:
		return unix.EAGAIN
	}
	t.stops = append(t.stops, stop{pid: pid, status: status})
	t.room = t.stops
	return nil
}

// holds reports whether a thread still is in the stop that was reported. When
// another thread of its process executes a program meanwhile, a process's first
// thread ends, and the other goes on under its id and stops for that.
func (s stop) holds() bool {
	if !s.late || !s.status.Stopped() {
		return true
	}
	var info decode.Siginfo
	if err := getSiginfo(s.pid, &info); err != nil {
		return false // it has ended
	}
	if event := int(s.status) >> 16; event != 0 {
		return info.Code()>>8 == event
	}
	return info.Signal() == int(s.status.StopSignal())
}
