package terminal

import (
	"bytes"
	"math"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
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
	stuck.take() // the screen; before, it is not waited for
	seen(h.View(Size{80, 24}), &quick, &done)
	piece := bytes.Repeat([]byte("0123456789abcde\n"), 4<<10)
	const pieces = 60
	write := func(h *Hub) time.Duration {
		began := time.Now()
		for range pieces {
			h.Write(piece)
		}
		return time.Since(began)
	}
	alone, took := write(NewHub(Size{80, 24}, nil)), write(h)
	if took < viewerPatience || took > 3*alone+pieces/2*viewerPatience {
		t.Errorf("it held up the guest for %v; without it, that takes %v", took, alone)
	}
	h.Write([]byte("\r\nthe last line"))
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

// deaf returns a hub with the terminal of a guest that does not read.
func deaf(t *testing.T) *Hub {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	_, err = term.MakeRaw(int(tty.Fd()))
	fd := -1
	if err == nil {
		fd, err = unix.FcntlInt(master.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	}
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	master.Close()
	h := NewHub(Size{80, 24}, nil)
	own := os.NewFile(uintptr(fd), "master")
	h.start(own)
	t.Cleanup(func() {
		own.Close()
		tty.Close()
	})
	return h
}

// soon fails the test if something waits for ever.
func soon(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal(what + " waits for ever")
	}
}

// A guest that asks its terminal and reads no answers goes on.
func TestHubAnswersNobodyReads(t *testing.T) {
	h := deaf(t)
	soon(t, "its output", func() {
		for range 100 {
			h.Write(bytes.Repeat([]byte("\x1b[6n"), 1<<10))
		}
	})
	soon(t, "who looks", func() { h.View(Size{80, 24}).Leave() })
}

// What is typed waits a moment for a guest that does not read it.
func TestHubTypeNobodyReads(t *testing.T) {
	h := deaf(t)
	if !h.Type([]byte("x")) {
		t.Error("a key did not fit")
	}
	soon(t, "who types", func() {
		if h.Type(make([]byte, 1<<20)) {
			t.Error("all of it was taken")
		}
	})
}

// One that says that it is larger than any terminal is shown the screen all the same.
func TestHubHugeViewer(t *testing.T) {
	h := NewHub(Size{80, 24}, nil)
	huge := h.View(Size{1 << 40, 1 << 40})
	first := huge.size
	huge.Resize(Size{math.MaxInt, math.MaxInt})
	if most := (Size{math.MaxUint16, math.MaxUint16}); first != most || huge.size != most {
		t.Fatalf("its size is %v, then %v", first, huge.size)
	}
	if piece := huge.Next(); len(piece) == 0 {
		t.Error("it sees nothing")
	}
}

// While a viewer that is behind is waited for, another one may be shown the screen: the output is on it, and does not come again.
func TestHubShownOnce(t *testing.T) {
	for range 10 { // viewers have no order
		h := NewHub(Size{80, 24}, nil)
		behind := h.View(Size{80, 24})
		behind.take() // the screen
		h.Write(bytes.Repeat([]byte("0123456789abcde\n"), maxBehind/16))
		late := h.View(Size{80, 24})
		var got bytes.Buffer
		var done sync.WaitGroup
		done.Go(func() {
			time.Sleep(viewerPatience / 4)
			for piece := late.Next(); piece != nil; piece = late.Next() {
				got.Write(piece)
			}
		})
		h.Write([]byte("\r\nonce"))
		h.end()
		done.Wait()
		if n := strings.Count(got.String(), "once"); n != 1 {
			t.Fatalf("the output is shown %d times", n)
		}
	}
}
