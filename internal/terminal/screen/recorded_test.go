package screen

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorded calls f with what real programs have written, and the size of their terminal. They were recorded with
// TERM=xterm-256color, as somebody typed; the name says the program and the size.
func recorded(t *testing.T, f func(t *testing.T, stream []byte, cols, rows int)) {
	files, err := filepath.Glob("testdata/*-*x*")
	if err != nil || len(files) == 0 {
		t.Fatal("no recordings: ", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			stream, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var cols, rows int
			if _, err := fmt.Sscanf(file[strings.LastIndex(file, "-")+1:], "%dx%d", &cols, &rows); err != nil {
				t.Fatal(err)
			}
			f(t, stream, cols, rows)
		})
	}
}

// Somebody may come at any moment, also in the middle of a sequence; and what follows is shown as to one who was there.
func TestRedrawRecorded(t *testing.T) {
	recorded(t, func(t *testing.T, stream []byte, cols, rows int) {
		const moments = 12
		whole := New(cols, rows)
		whole.Write(stream)
		for i := range moments {
			s := New(cols, rows)
			n := len(stream) * (i + 1) / moments
			s.Write(stream[:n])
			redrawn(t, s, true)
			other := New(cols, rows)
			other.Write(s.Redraw(cols, rows))
			other.Write(stream[n:])
			same(t, fmt.Sprint("joined at ", n), describe(other, true), describe(whole, true))
			if t.Failed() {
				t.FailNow()
			}
		}
	})
}

// The programs look the same in tmux, and so does what is redrawn there.
func TestRecordedLikeTmux(t *testing.T) {
	m := newTmux(t)
	moments := 3
	if testing.Short() {
		moments = 1
	}
	recorded(t, func(t *testing.T, stream []byte, cols, rows int) {
		if strings.Contains(t.Name(), "/top-") {
			t.Skip("EL behind a full line erases its last character, as of xterm, where tmux erases nothing")
		}
		m.t = t
		s := New(cols, rows)
		done := 0
		for i := range moments {
			for n := len(stream) * (i + 1) / moments; done < n || !s.parser.Ground() || len(s.pending) > 0; done++ {
				if done == len(stream) {
					return
				}
				s.Write(stream[done : done+1])
				s.flush()
			}
			m.agree(fmt.Sprint("after ", done), stream[:done], cols, rows)
		}
	})
}
