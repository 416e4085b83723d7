package reconcile

import (
	"errors"
	"maps"
	"os"
	"slices"
	"testing"
)

// What a fork's guest removes or changes of what the fork began with, a pull from the fork brings to the host also where the host has that only
// since a pull from the parent: both had it. What either has made another since is no such thing.
func TestForkKnowsWhatItsParentHasBrought(t *testing.T) {
	for name, c := range map[string]struct {
		before   func(g *guest) // in the parent, before it is pulled from
		host     func(b bench)  // afterwards
		fork     func(g *guest)
		want     []string // files on the host
		conflict bool
		content  map[string]string
	}{
		"a file in a new directory": {
			fork: func(g *guest) { g.remove("d/one") }, want: []string{"d", "d/s", "d/s/deep", "d/two", "top"},
		},
		"a file in the workspace": {
			fork: func(g *guest) { g.remove("top") }, want: []string{"d", "d/one", "d/s", "d/s/deep", "d/two"},
		},
		"a directory": {
			fork: func(g *guest) { g.remove("d") }, want: []string{"top"},
		},
		"a directory in one": {
			fork: func(g *guest) { g.remove("d/s") }, want: []string{"d", "d/one", "d/two", "top"},
		},
		"written": {
			fork: func(g *guest) { g.append("d/s/deep", "!") }, want: []string{"d", "d/one", "d/s", "d/s/deep", "d/two", "top"},
			content: map[string]string{"d/s/deep": "deep!"},
		},
		"renamed": {
			fork: func(g *guest) { g.rename("d", "e"); g.rename("top", "e/top") }, want: []string{"e", "e/one", "e/s", "e/s/deep", "e/top", "e/two"},
		},
		"changed by the parent first": {
			before: func(g *guest) { g.append("d/one", "!"); g.append("top", "!") },
			fork:   func(g *guest) { g.remove("d/one"); g.remove("top") }, want: []string{"d", "d/one", "d/s", "d/s/deep", "d/two", "top"}, conflict: true,
		},
		"changed by the host since": {
			host: func(b bench) { b.write("d/one", "other"); b.write("top", "other") },
			fork: func(g *guest) { g.remove("d/one"); g.remove("top") }, want: []string{"d", "d/one", "d/s", "d/s/deep", "d/two", "top"}, conflict: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			parent := newBench(t)
			parent.guest(func(g *guest) {
				g.mkdir("d")
				g.mkdir("d/s")
				for at, content := range map[string]string{"d/one": "one", "d/two": "two", "d/s/deep": "deep", "top": "top"} {
					g.write(at, content)
				}
			})
			parent.know() // its pull lets go of what the host has
			fork := parent.fork()
			if c.before != nil {
				parent.guest(c.before)
			}
			if _, told := parent.pull(parent.ws); told != "" {
				t.Errorf("the pull says %s", told)
			}
			if c.host != nil {
				later()
				c.host(parent)
			}
			fork.guest(c.fork)
			_, told, err := fork.run(Pull, fork.ws)
			if c.conflict != errors.Is(err, ErrConflicts) || !c.conflict && (err != nil || told != "") {
				t.Errorf("the fork's pull says %s %v", told, err)
			}
			got := slices.Sorted(maps.Keys(fork.hostPortrait()))
			got = slices.DeleteFunc(got, func(at string) bool { return at == "." })
			if !slices.Equal(got, c.want) {
				t.Errorf("the host has %v, want %v", got, c.want)
			}
			for at, want := range c.content {
				if got, err := os.ReadFile(fork.path(at)); err != nil || string(got) != want {
					t.Errorf("%s holds %q %v, want %q", at, got, err, want)
				}
			}
			parent.checkAll()
			fork.checkAll()
			if c.conflict {
				return
			}
			if out, told := fork.pull(fork.ws); told != "" {
				t.Errorf("once more it says %s %s", out, told)
			}
		})
	}
}
