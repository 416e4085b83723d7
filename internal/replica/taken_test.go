package replica

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/riverlytech/art/internal/control"
)

// What a place takes is progress, but not the beginning of a file that it takes over and over, nor what is merged there.
func TestTaken(t *testing.T) {
	var all taken
	for try := range 2 * takesTried {
		before := all.now()
		all.attempt(0, 7)(100)
		if forward := all.now() > before; forward != (try < takesTried) {
			t.Errorf("attempt %d is progress: %v", try, forward)
		}
	}
	before := all.now()
	all.attempt(1, 9)(100)
	if all.now() != before {
		t.Error("a merged file is progress")
	}
	all.attempt(0, 8)(100)
	if all.now() == before {
		t.Error("the next file is no progress")
	}
}

// What is done on this host goes on in the eyes of art, which hears of it.
func TestBusy(t *testing.T) {
	said := make(chan control.ReplicaState, 10)
	j := &Job{tell: func(s control.ReplicaState) { said <- s }}
	j.say(control.ReplicaState{Why: "why"})
	first := <-said
	if err := j.busy(func() error {
		if next := <-said; next.Done == first.Done || next.Why != "why" {
			t.Errorf("%+v after %+v", next, first)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// What was read and is being sent goes forward, for a while.
func TestSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counts := &taken{}
		count := counts.attempt(0, 1)
		sent := uint64(0)
		goesOn := func(bytes uint64) bool {
			before := counts.now()
			time.Sleep(time.Second)
			sent += bytes
			counts.sending(sent)
			return counts.now() != before
		}
		if goesOn(1 << 20) {
			t.Error("what was sent before anything was read counts")
		}
		count(11 << 20)
		for range int(underWay/time.Second) - 1 {
			if !goesOn(20_000) {
				t.Fatal("what is being sent does not count")
			}
		}
		if goesOn(100) {
			t.Error("what art is told counts")
		}
		if goesOn(1 << 20) {
			t.Error("what is sent without end counts")
		}
	})
}
