package main

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/sqlvfs"
)

// slowStore keeps nothing until it may, or fails.
type slowStore struct {
	may chan struct{} // closed when it may

	mu    sync.Mutex
	fail  error         // GUARDED_BY(mu)
	kept  []sqlvfs.Flow // GUARDED_BY(mu)
	calls int           // GUARDED_BY(mu)
}

func (s *slowStore) Logged() bool { return true }

func (s *slowStore) AddFlows(list []sqlvfs.Flow) error {
	<-s.may
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.fail == nil {
		s.kept = append(s.kept, list...)
	}
	return s.fail
}

func some(from, n int) (list []control.Flow) {
	for i := range n {
		list = append(list, control.Flow{Number: int64(from + i + 1), What: "a", Began: time.Now(), Ended: time.Now(), Times: 1})
	}
	return list
}

// Who tells of flows does not wait for a commit, and what comes meanwhile is written together.
func TestFlowsDoNotWait(t *testing.T) {
	s := &slowStore{may: make(chan struct{})}
	f := newFlows(s, true)
	added := make(chan struct{})
	go func() {
		defer close(added)
		for i := range 100 {
			f.add(some(i*control.MaxFlowsTold, control.MaxFlowsTold))
		}
	}()
	select {
	case <-added:
	case <-time.After(10 * time.Second):
		t.Fatal("it waits for the database")
	}
	close(s.may)
	close(f.told)
	f.end(t.Errorf)
	if len(s.kept) != 100*control.MaxFlowsTold || s.calls > 3 {
		t.Errorf("%d are kept, in %d commits", len(s.kept), s.calls)
	}
}

// What cannot be written is told once, and what had no room is counted where there is room again.
func TestFlowsThatAreNotKept(t *testing.T) {
	s := &slowStore{may: make(chan struct{}), fail: fmt.Errorf("the disk is full")}
	close(s.may)
	f := newFlows(s, true)
	f.add(some(0, mostWaiting+7))
	close(f.told)
	var said []string
	f.end(func(format string, args ...any) { said = append(said, fmt.Errorf(format, args...).Error()) })
	if want := fmt.Sprint(mostWaiting + 7); len(said) != 1 || !strings.Contains(said[0], want) || !strings.Contains(said[0], "the disk is full") {
		t.Errorf("it says %q", said)
	}
	s.mu.Lock()
	s.fail = nil
	s.mu.Unlock()
	f.end(t.Errorf)
	if last := s.kept[len(s.kept)-1]; len(s.kept) != mostWaiting+1 || last.Name != "" || last.Number != 0 || last.Times != 7 {
		t.Errorf("%d are kept, the last %+v", len(s.kept), last)
	}
}
