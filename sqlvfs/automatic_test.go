package sqlvfs

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// A session makes checkpoints by itself: of what it finds, with the first change, and when it has been still for a moment.
func TestSessionMakesCheckpoints(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := openTest(t, path)
	put(s, create(t, s, "found", syscall.S_IFREG|0o600))
	must(t, s.Close())
	kinds := func() (list []Occasion) {
		t.Helper()
		all, err := s.Checkpoints()
		must(t, err)
		for _, c := range all {
			list = append(list, c.Kind)
		}
		return list
	}
	expect := func(want ...Occasion) {
		t.Helper()
		if got := kinds(); !slices.Equal(got, want) {
			t.Errorf("checkpoints are %q, not %q", got, want)
		}
	}
	open := func() {
		t.Helper()
		var err error
		s, err = Open(path, Options{Checkpoint: AtSession})
		must(t, err)
	}
	open()
	must(t, s.Sync())
	put(s, lookup(t, s, "found"))
	expect() // nothing has changed
	put(s, create(t, s, "first", syscall.S_IFREG|0o600))
	must(t, s.Sync())
	put(s, create(t, s, "second", syscall.S_IFREG|0o600))
	must(t, s.Sync())
	expect(AtSession)
	for begin := time.Now(); len(kinds()) < 2 && time.Since(begin) < 20*time.Second; time.Sleep(50 * time.Millisecond) {
	}
	expect(AtRest, AtSession)
	must(t, s.Close())
	open()
	put(s, create(t, s, "third", syscall.S_IFREG|0o600))
	must(t, s.Close())
	s = openTest(t, path)
	expect(AtRest, AtSession) // the first change of the last session followed the rest of the one before
	must(t, s.Close())
	for at, want := range map[string]int{"1": 1, "2": 3} {
		r, err := Open(path, Options{At: at})
		must(t, err)
		children, err := Query(r, func(tx *Tx) ([]Child, error) { return tx.Children(tx.Root()) })
		if err != nil || len(children) != want {
			t.Errorf("at %s: %v, %v", at, children, err)
		}
		must(t, r.Close())
	}
	must(t, checkClean(path))
}

// Of a session that never rests there is one as often as it was asked for, and none while nothing changes.
func TestCheckpointsOfABusySession(t *testing.T) {
	const every = 300 * time.Millisecond
	t.Run("asked for", func(t *testing.T) { keepBusy(t, Options{Every: every}, defaults, every) })
	t.Run("auto", func(t *testing.T) {
		often := defaults
		often.busy = every
		keepBusy(t, Options{}, often, every)
	})
}

func keepBusy(t *testing.T, opt Options, tune tuning, every time.Duration) {
	path := filepath.Join(memoryDir(t), "a.db")
	opt.Create, opt.Root, opt.Checkpoint = true, rootAttr, AtSession
	s, err := openStore(path, opt, tune)
	must(t, err)
	begin := time.Now()
	in := create(t, s, "f", syscall.S_IFREG|0o600)
	for n := int64(0); time.Since(begin) < 5*every; n++ {
		must(t, s.WriteAt(in, []byte("more"), n, nil, Now()))
		time.Sleep(10 * time.Millisecond)
	}
	put(s, in)
	must(t, s.Sync())
	list, err := s.Checkpoints()
	must(t, err)
	if n := len(list); n < 3 || n > 7 {
		t.Errorf("there are %d", n)
	}
	time.Sleep(2 * every)
	if again, err := s.Checkpoints(); err != nil || len(again) != len(list) {
		t.Errorf("nothing has changed, and there are %d, %v", len(again), err)
	}
	must(t, s.Close())
	must(t, checkClean(path))
}

// A session that rests drops what is too much: the oldest first, and of those with a label none before the others.
func TestSessionThins(t *testing.T) {
	path := filepath.Join(memoryDir(t), "a.db")
	s := openTest(t, path)
	in := create(t, s, "f", syscall.S_IFREG|0o600)
	for i := range 10 {
		must(t, s.WriteAt(in, random(1<<20+i), 0, nil, Now()))
		label := ""
		if i == 2 || i == 3 {
			label = "kept " + string(rune('0'+i))
		}
		_, err := s.Checkpoint(ByUser, label)
		must(t, err)
	}
	put(s, in)
	must(t, s.Close())
	for _, c := range []struct {
		keep Keep
		want []int64
	}{
		{Keep{Checkpoints: 9}, []int64{10, 9, 8, 7, 6, 5, 4, 3, 2}},
		{Keep{Bytes: 5 << 20}, []int64{10, 9, 8, 4, 3}},
		{Keep{For: time.Nanosecond}, []int64{10, 4, 3}},
		{Keep{Checkpoints: 2}, []int64{10, 4}},
	} {
		s, err := Open(path, Options{Keep: c.keep})
		must(t, err)
		in := lookup(t, s, "f")
		step(s, func(tx *Tx) { in.Attr.Atime = Now(); tx.Dirty(in) })
		put(s, in)
		must(t, s.Sync())
		must(t, s.Close())
		s = openTest(t, path)
		list, err := s.Checkpoints()
		must(t, err)
		var got []int64
		for _, c := range list {
			got = append(got, c.ID)
		}
		if !slices.Equal(got, c.want) {
			bytes, _ := s.HistoryBytes()
			t.Errorf("with %+v there are %v of %d bytes, not %v", c.keep, got, bytes, c.want)
		}
		must(t, s.Close())
		must(t, checkClean(path))
	}
}

// What going back has replaced is the only place where that is: it does not go to make room for what is older, or for itself.
func TestUndoneStays(t *testing.T) {
	for _, keep := range []Keep{{Checkpoints: 2, Undone: time.Hour}, {Bytes: 1, Undone: time.Hour}, {For: time.Nanosecond, Undone: time.Hour}} {
		for _, rested := range []bool{false, true} {
			undoneStays(t, keep, rested)
		}
	}
}

// undoneStays has something undone, of which there is a checkpoint already if the session had rested before.
func undoneStays(t *testing.T, keep Keep, rested bool) {
	t.Helper()
	path := filepath.Join(memoryDir(t), "a.db")
	s, err := Open(path, Options{Create: true, Root: rootAttr, Keep: keep})
	must(t, err)
	in := create(t, s, "f", syscall.S_IFREG|0o600)
	for i, label := range []string{"A", "B"} {
		must(t, s.WriteAt(in, random(1<<16+i), 0, nil, Now()))
		_, err := s.Checkpoint(ByUser, label)
		must(t, err)
	}
	want := random(1 << 17)
	must(t, s.WriteAt(in, want, 0, nil, Now()))
	put(s, in)
	if rested {
		_, err = s.Checkpoint(AtRest, "")
		must(t, err)
	}
	_, err = s.GoBack(Undo, nil)
	must(t, err)
	must(t, s.Close())
	s, err = Open(path, Options{Keep: keep})
	must(t, err)
	_, err = s.Thin(keep)
	must(t, err)
	if _, err := s.GoBack(Redo, nil); err != nil {
		list, _ := s.Checkpoints()
		t.Fatalf("with %+v what was undone is gone: %v; there are %+v", keep, err, list)
	}
	in = lookup(t, s, "f")
	got := make([]byte, len(want))
	if n, err := s.ReadAt(in, got, 0, nil); err != nil || n != len(want) || !bytes.Equal(got, want) {
		t.Errorf("with %+v another content came back: %d, %v", keep, n, err)
	}
	put(s, in)
	must(t, s.Close())
	must(t, checkClean(path))
}

// Whatever was gone back from, and however often, Redo leads there again, however little history is kept.
func TestRedoAfterThinning(t *testing.T) {
	for seed := range uint64(30) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		path := filepath.Join(memoryDir(t), "a.db")
		s := openTest(t, path)
		in := create(t, s, "f", syscall.S_IFREG|0o600)
		var undone [][]byte // what Redo leads to, the last first to come
		for i := range 60 {
			now := content(t, s, in)
			switch pick := rnd.IntN(8); {
			case pick < 2:
				must(t, s.WriteAt(in, fmt.Appendf(nil, "%4d", i), 0, nil, Now()))
				undone = nil
			case pick < 4:
				label := ""
				if pick == 3 {
					label = fmt.Sprint("label ", i)
				}
				_, err := s.Checkpoint([]Occasion{AtRest, ByUser, ByGuest}[rnd.IntN(3)], label)
				must(t, err)
			case pick < 6:
				if _, err := s.GoBack(Undo, nil); err == nil {
					undone = append(undone, now)
				} else if !errors.Is(err, ErrNothingToUndo) {
					t.Fatal(err)
				}
			case len(undone) > 0:
				_, err := s.GoBack(Redo, nil)
				must(t, err)
				if got := content(t, s, in); !bytes.Equal(got, undone[len(undone)-1]) {
					t.Fatalf("seed %d, step %d: %q came back, not %q", seed, i, got, undone[len(undone)-1])
				}
				undone = undone[:len(undone)-1]
			}
			_, err := s.Thin(Keep{Checkpoints: 1 + rnd.IntN(3), For: time.Duration(rnd.IntN(2)), Bytes: int64(rnd.IntN(2)), Undone: time.Hour})
			must(t, err)
		}
		put(s, in)
		must(t, s.Close())
		must(t, checkClean(path))
	}
}

// What going back has replaced is not kept for longer because the clock was ahead when it was.
func TestUndoneAheadOfTime(t *testing.T) {
	path := filepath.Join(memoryDir(t), "a.db")
	s, err := Open(path, Options{Create: true, Root: rootAttr})
	must(t, err)
	in := create(t, s, "f", syscall.S_IFREG|0o600)
	for i := range 3 {
		must(t, s.WriteAt(in, random(100+i), 0, nil, Now()))
		_, err := s.Checkpoint(ByUser, "")
		must(t, err)
	}
	put(s, in)
	_, err = s.GoBack(Undo, nil)
	must(t, err)
	must(t, s.Close())
	alter(t, path, "UPDATE art_checkpoint SET made = made + 10 * 86400")
	s, err = Open(path, Options{})
	must(t, err)
	_, err = s.Thin(Keep{Checkpoints: 1, Undone: time.Hour})
	must(t, err)
	if list, err := s.Checkpoints(); err != nil || len(list) != 1 {
		t.Errorf("there are %+v, %v", list, err)
	}
	must(t, s.Close())
	must(t, checkClean(path))
}
