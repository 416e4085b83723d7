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
