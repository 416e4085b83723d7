package replica

import (
	"testing"

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
