package terminal

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"
)

// seen collects what a viewer sees, up to the end.
func seen(v *Viewer, into *bytes.Buffer, done *sync.WaitGroup) {
	done.Go(func() {
		for piece := v.Next(); piece != nil; piece = v.Next() {
			into.Write(piece)
		}
	})
}

func TestHub(t *testing.T) {
	var log, first, second bytes.Buffer
	var done sync.WaitGroup
	h := NewHub(Size{}, &log)
	h.Write([]byte("before\r\n"))
	seen(h.View(Size{80, 24}), &first, &done)
	h.Write([]byte("between\r\n"))
	v := h.View(Size{0, 0}) // a terminal that does not know its size
	seen(v, &second, &done)
	h.Write([]byte("after\r\n"))
	h.end()
	done.Wait()
	for name, got := range map[string]string{"the log": log.String(), "the first": first.String(), "the second": second.String()} {
		for _, want := range []string{"before", "between", "after"} {
			if strings.Count(got, want) != 1 {
				t.Errorf("%s sees %q", name, got)
			}
		}
	}
	v.Leave()
	v.Leave() // twice, as when its connection ends at the same time
	if h.Watched() != 1 {
		t.Errorf("%d look at it", h.Watched())
	}
}

// One that reads nothing is waited for once, and is shown the screen when it goes on.
func TestHubSlowViewer(t *testing.T) {
	var quick, slow bytes.Buffer
	var done sync.WaitGroup
	h := NewHub(Size{80, 24}, nil)
	stuck := h.View(Size{80, 24})
	seen(h.View(Size{80, 24}), &quick, &done)
	piece := bytes.Repeat([]byte("0123456789abcde\n"), 4<<10)
	began := time.Now()
	const pieces = 60
	for range pieces {
		h.Write(piece)
	}
	h.Write([]byte("\r\nthe last line"))
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it held up the guest for %v", took)
	}
	seen(stuck, &slow, &done)
	h.end()
	done.Wait()
	if !strings.Contains(quick.String(), "the last line") {
		t.Error("the quick one does not see the end")
	}
	if !strings.Contains(slow.String(), "the last line") || slow.Len() > 2*maxBehind {
		t.Errorf("the slow one sees %d bytes, without the end", slow.Len())
	}
}

// The smallest terminal says how large the guest's is, whatever sizes there are.
func TestHubSizes(t *testing.T) {
	h := NewHub(Size{100, 30}, nil)
	is := func(cols, rows int) {
		t.Helper()
		if c, r := h.picture.Size(); c != cols || r != rows {
			t.Errorf("the size is %d x %d, want %d x %d", c, r, cols, rows)
		}
	}
	is(100, 30)
	a := h.View(Size{90, 40})
	is(90, 40)
	b := h.View(Size{120, 20})
	is(90, 20)
	c := h.View(Size{0, 0})
	is(90, 20)
	c.Resize(Size{-1, 10})
	is(90, 20)
	b.Leave()
	is(90, 40)
	a.Resize(Size{10000, 10000})
	if cols, rows := h.picture.Size(); cols > 1000 || rows > 1000 {
		t.Errorf("the size is %d x %d", cols, rows)
	}
	a.Leave()
	c.Leave()
	if h.Watched() != 0 {
		t.Error("somebody is left")
	}
}
