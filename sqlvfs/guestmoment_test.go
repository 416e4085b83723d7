package sqlvfs

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"
)

// ofKind are the numbers of checkpoints of the guest's, or of others, and their labels.
func ofKind(t *testing.T, s *Store, guest bool) (numbers []int64, labels []string) {
	t.Helper()
	list, err := s.Checkpoints()
	must(t, err)
	for _, c := range list {
		if (c.Kind == ByGuest) == guest {
			numbers, labels = append(numbers, c.ID), append(labels, c.Label)
		}
	}
	return numbers, labels
}

// However many checkpoints a guest asks for, with whatever labels: those of others stay, and are called what they were.
func TestCheckpointsByGuest(t *testing.T) {
	path := t.TempDir() + "/db"
	s := openTest(t, path)
	in := create(t, s, "f", syscall.S_IFREG|0o600)
	ask := func(kind Occasion, label string) (Checkpoint, error) { return s.Checkpoint(kind, label) }
	made := func(kind Occasion, label string, want int64) {
		t.Helper()
		if c, err := ask(kind, label); err != nil || c.ID != want || c.Kind != kind && want > 0 {
			t.Fatalf("%s %q: %+v, %v, not number %d", kind, label, c, err, want)
		}
	}
	change := func() { must(t, s.WriteAt(in, random(100), 0, nil, Now())) }
	made(ByUser, "", 1)
	if c, err := ask(ByGuest, ""); err != nil || c.ID != 1 || c.Kind != ByUser {
		t.Errorf("nothing has changed, and the guest gets %+v, %v", c, err)
	}
	made(ByGuest, "mine", 2) // and does not label the user's
	made(ByGuest, "", 2)
	if _, err := ask(ByGuest, "mine"); !errors.Is(err, ErrLabelTaken) {
		t.Errorf("a label for the second time: %v", err)
	}
	made(ByUser, "", 3) // of the same tree: the guest's may go
	made(ByUser, "the plan", 3)
	if _, err := ask(ByGuest, "the plan"); !errors.Is(err, ErrLabelTaken) {
		t.Errorf("the user's label: %v", err)
	}
	change()
	made(ByUser, "mine", 4) // whoever had that before
	made(ByGuest, "turn", 5)

	// A flood, while nothing is dropped.
	var err error
	n := 0
	for ; err == nil && n < 1000; n++ {
		change()
		_, err = ask(ByGuest, fmt.Sprintf("flood %d", n))
	}
	if !errors.Is(err, ErrManyByGuest) || n > maxByGuest {
		t.Errorf("after %d of the guest's: %v", n, err)
	}
	change()
	last, err := ask(ByUser, "")
	must(t, err)

	others, labels := ofKind(t, s, false)
	if want := []int64{last.ID, 4, 3, 1}; !slices.Equal(others, want) || !slices.Equal(labels, []string{"", "mine", "the plan", ""}) {
		t.Errorf("there are %v with the labels %q, not %v", others, labels, want)
	}
	for _, keep := range []Keep{{Checkpoints: 1000}, DefaultKeep, {Checkpoints: 4}, {Bytes: 1 << 20}} {
		_, err = s.Thin(keep)
		must(t, err)
		if left, _ := ofKind(t, s, false); !slices.Equal(left, others) {
			t.Errorf("with %+v, there are %v of %v", keep, left, others)
		}
		if left, _ := ofKind(t, s, true); keep.Checkpoints > 0 && len(left) != min(keep.Checkpoints, maxByGuest/2) {
			t.Errorf("with %+v, there are %d of the guest's", keep, len(left))
		}
	}
	_, err = s.Thin(Keep{For: time.Nanosecond})
	must(t, err)
	if left, _ := ofKind(t, s, true); len(left) != 0 {
		t.Errorf("labels keep %v of the guest's", left)
	}
	if left, _ := ofKind(t, s, false); !slices.Equal(left, []int64{last.ID, 4, 3}) {
		t.Errorf("without what is old there are %v", left)
	}
	put(s, in)
	must(t, s.Close())
}

// What a session finds is kept by a checkpoint that the guest cannot have dropped, also if the last one is the guest's.
func TestSessionAfterCheckpointByGuest(t *testing.T) {
	path := t.TempDir() + "/db"
	s := openTest(t, path)
	put(s, create(t, s, "f", syscall.S_IFREG|0o600))
	_, err := s.Checkpoint(ByGuest, "end of a turn")
	must(t, err)
	must(t, s.Close())
	s, err = Open(path, Options{Checkpoint: AtSession})
	must(t, err)
	put(s, create(t, s, "g", syscall.S_IFREG|0o600))
	must(t, s.Sync())
	if list, _ := ofKind(t, s, false); !slices.Equal(list, []int64{2}) {
		t.Errorf("the session has made %v", list)
	}
	must(t, s.Close())
}
