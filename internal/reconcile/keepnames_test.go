package reconcile

import (
	"os"
	"testing"

	livewriter "github.com/riverlytech/art/internal/live/writer"
)

// A file of the host with several names, which a fork's guest has changed by one of them, is one file in the fork also when a pull from another
// database has put a new one in its place on the host, or has removed a name there.
func TestForkKeepsTheNamesOfAFileThatAPullReplaces(t *testing.T) {
	for name, c := range map[string]struct {
		fork, other func(g *guest)
		names       []string // of the one file in the fork
		want        string
	}{
		"written by both": {
			func(g *guest) { g.append("b", "f") }, func(g *guest) { g.append("a", "o") }, []string{"a", "b", "d/s/c"}, "hostf",
		},
		"written by both, in a directory": {
			func(g *guest) { g.append("a", "f") }, func(g *guest) { g.append("d/s/c", "o") }, []string{"a", "b", "d/s/c"}, "hostf",
		},
		"renamed, and written by the other": {
			func(g *guest) { g.rename("a", "e") }, func(g *guest) { g.append("d/s/c", "o") }, []string{"b", "d/s/c", "e"}, "host",
		},
		"a name removed by the other": {
			func(g *guest) { g.append("b", "f") }, func(g *guest) { g.remove("d/s/c") }, []string{"a", "b", "d/s/c"}, "hostf",
		},
		"a name removed in the fork": {
			func(g *guest) { g.append("b", "f"); g.remove("a") }, func(g *guest) { g.append("a", "o") }, []string{"b", "d/s/c"}, "hostf",
		},
		"a directory renamed in the fork": {
			func(g *guest) { g.rename("d", "e"); g.append("e/s/c", "f") }, func(g *guest) { g.append("a", "o") }, []string{"a", "b", "e/s/c"}, "hostf",
		},
		"a directory renamed in the fork, with what is the host's": {
			func(g *guest) { g.rename("d", "e"); g.append("a", "f") }, func(g *guest) { g.append("d/twin", "o") }, []string{"e/twin", "e/s/twin"}, "host",
		},
	} {
		for _, live := range []bool{false, true} {
			kind := name
			if live {
				kind += ", in a session"
			}
			t.Run(kind, func(t *testing.T) {
				parent := newBench(t)
				parent.write("a", "host")
				parent.write("d/s/c", "")
				must(t, os.Remove(parent.path("d/s/c")))
				parent.write("d/twin", "host")
				for to, from := range map[string]string{"b": "a", "d/s/c": "a", "d/s/twin": "d/twin"} {
					must(t, os.Link(parent.path(from), parent.path(to)))
				}
				parent.guest(func(*guest) {})
				fork, other := parent.fork(), parent.fork()
				other.guest(c.other)
				check := func(g *guest) {
					t.Helper()
					for _, at := range c.names {
						if got := g.read(at); got != c.want {
							t.Errorf("%s holds %q, want %q", at, got, c.want)
						}
					}
					g.areOne(t, c.names...)
				}
				fork.guest(func(g *guest) {
					c.fork(g)
					if !live {
						return
					}
					check(g)
					_, told, err := other.run(Pull, other.ws, sessionOf(fork, livewriter.New(g.store, g.overlay)))
					if told != "" && err == nil {
						t.Errorf("the pull says %s", told)
					}
					check(g)
				})
				if !live {
					if _, told := other.pull(other.ws); told != "" {
						t.Errorf("the pull says %s", told)
					}
				}
				fork.guest(check)
				fork.checkAll()
			})
		}
	}
}
