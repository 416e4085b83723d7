package reconcile

import (
	"maps"
	"os"
	"testing"
)

// What a fork's guest has changed a little, and shows the host's for the rest, stays what it is when a pull from the parent takes that away.
func TestForkGoesOnToShowWhatAPullTakesAway(t *testing.T) {
	for name, c := range map[string]struct {
		fork, parent func(g *guest)
		want         map[string]string // of files in the fork; "-": it is not there
		left         []string          // on the host, when the fork was pulled from as well
	}{
		"mode of a file": {
			func(g *guest) { g.chmod("d/file", 0o640) }, func(g *guest) { g.remove("d/file") },
			map[string]string{"d/file": "host"}, []string{"d", "d/more", "d/s", "d/s/deep"},
		},
		"mode of a file in a directory that goes": {
			func(g *guest) { g.chmod("d/s/deep", 0o640) }, func(g *guest) { g.remove("d") },
			map[string]string{"d/s/deep": "host", "d/file": "host"}, nil,
		},
		"mode of a file in the place of which comes a directory": {
			func(g *guest) { g.chmod("d/file", 0o640) }, func(g *guest) { g.remove("d/file"); g.mkdir("d/file"); g.write("d/file/new", "new") },
			map[string]string{"d/file": "host"}, []string{"d", "d/file", "d/file/new", "d/more", "d/s", "d/s/deep"},
		},
		"mode of a file in the place of which comes a link": {
			func(g *guest) { g.chmod("d/file", 0o640) }, func(g *guest) { g.remove("d/file"); g.symlink("more", "d/file") },
			map[string]string{"d/file": "host"}, []string{"d", "d/file", "d/more", "d/s", "d/s/deep"},
		},
		"mode of a file in the place of which comes another": {
			func(g *guest) { g.chmod("d/file", 0o640) }, func(g *guest) { g.replace("d/file", "new") },
			map[string]string{"d/file": "new"}, []string{"d", "d/file", "d/more", "d/s", "d/s/deep"},
		},
		"something removed from a directory": {
			func(g *guest) { g.remove("d/file") }, func(g *guest) { g.remove("d") },
			map[string]string{"d/file": "-", "d/more": "host", "d/s/deep": "host"}, nil,
		},
		"something removed from a directory that is made anew": {
			func(g *guest) { g.remove("d/file") }, func(g *guest) { g.remove("d"); g.mkdir("d"); g.write("d/new", "new") },
			map[string]string{"d/file": "-", "d/more": "-", "d/new": "new"}, []string{"d", "d/new"},
		},
		"another name of a file that goes": {
			func(g *guest) { g.remove("twin") }, func(g *guest) { g.remove("twin") },
			map[string]string{"one": "host", "twin": "-"}, []string{"d", "d/file", "d/more", "d/s", "d/s/deep"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			parent := newBench(t)
			for _, path := range []string{"d/file", "d/more", "d/s/deep", "one"} {
				parent.write(path, "host")
			}
			must(t, os.Link(parent.path("one"), parent.path("twin")))
			parent.guest(func(*guest) {})
			fork := parent.fork()
			fork.guest(c.fork)
			parent.guest(c.parent)
			if _, told := parent.pull(parent.ws); told != "" {
				t.Errorf("the pull says %s", told)
			}
			fork.guest(func(g *guest) {
				for path, want := range c.want {
					got := "-"
					if _, err := g.find(path); err == nil {
						got = g.read(path)
					}
					if got != want {
						t.Errorf("%s holds %q, want %q", path, got, want)
					}
				}
			})
			parent.checkAll()
			fork.checkAll()
			fork.belongs(fork.ws)
			fork.run(Pull, fork.ws) // some of it is in conflict
			want := map[string]bool{"one": true}
			for _, path := range c.left {
				want[path] = true
			}
			got := map[string]bool{}
			for path := range fork.hostPortrait() {
				got[path] = true
			}
			delete(got, ".")
			delete(got, "twin") // where it is not removed
			if !maps.Equal(got, want) {
				t.Errorf("the host has %v, want %v", got, want)
			}
		})
	}
}
