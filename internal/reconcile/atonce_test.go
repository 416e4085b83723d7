package reconcile

import (
	"fmt"
	"testing"
)

// What the guest does to a file in the moment in which the host has changed it, by a clock that stands still for milliseconds, is no
// less a change.
func TestPullOfWhatBothChangeAtOnce(t *testing.T) {
	b := newBench(t)
	const files = 20 // most of them are changed within a tick
	b.guest(func(g *guest) {
		beside := g.serves()
		g.forgets = true
		for i := range files {
			name := fmt.Sprint(i)
			b.write(name, "the host's")
			g.append(name, ", and the guest's")
			g.forget()
			if i%2 == 0 {
				b.pull(b.ws, beside)
				wantContent(t, b.path(name), "the host's, and the guest's")
			}
		}
	})
	b.pull(b.ws)
	for i := range files {
		wantContent(t, b.path(fmt.Sprint(i)), "the host's, and the guest's")
	}
	b.checkAll()
}

// A pull has what the host has added to a file after the guest had asked for its end, and before the guest added to it.
func TestPullOfWhatBothAppend(t *testing.T) {
	b := newBench(t)
	b.write("log", "begin\n")
	b.guest(func(g *guest) {
		e, err := g.find("log")
		must(t, err)
		b.write("log", "begin\nthe host's\n")
		must(t, g.overlay.Append(agent, e.Ino, []byte("the guest's\n"), e.Attr.Size))
		b.pull(b.ws, g.serves())
	})
	wantContent(t, b.path("log"), "begin\nthe host's\nthe guest's\n")
	b.checkAll()
}
