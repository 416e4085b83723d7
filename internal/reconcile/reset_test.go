package reconcile

import (
	"errors"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/riverlytech/art/sqlvfs/fsck"
)

// What is reset is the host's again, and the rest stays the guest's.
func TestReset(t *testing.T) {
	for _, pushed := range []bool{false, true} {
		b := newBench(t)
		for _, at := range []string{"a", "b", "c", "d/x", "d/y", "e/x", "two"} {
			b.write(at, at)
		}
		must(t, os.Link(b.path("two"), b.path("other")))
		if pushed {
			b.push()
		}
		b.guest(func(g *guest) {
			g.write("a", "guest")
			g.remove("b")
			g.chmod("c", 0o755)
			g.write("new", "guest")
			g.rename("d", "moved")
			g.remove("e")
			g.append("other", "guest")
			g.mkdir("dir")
			g.write("dir/in", "guest")
		})
		list, _, err := b.run(Reset, b.ws, paths("a", "d", "new", "two"), dryRun)
		must(t, err)
		out, _, err := b.run(Reset, b.ws, paths("a", "d", "new", "two"))
		if must(t, err); out != list || !strings.Contains(out, "M a\n") || !strings.Contains(out, "A new\n") {
			t.Errorf("pushed %v: printed\n%s, dry\n%s", pushed, out, list)
		}
		want := map[string]string{
			"a": "file a", "c": "executable c", "d": "dir", "d/x": "file d/x", "d/y": "file d/y", "moved": "dir", "moved/x": "file d/x",
			"moved/y": "file d/y", "two": "file two", "other": "file two", "dir": "dir", "dir/in": "file guest",
		}
		b.guest(func(g *guest) {
			if got := g.portrait(); !maps.Equal(got, want) {
				t.Errorf("pushed %v: the guest has %v\nnot %v", pushed, got, want)
			}
		})
		if _, _, err := b.run(Reset, b.ws, paths("e/x")); !errors.As(err, new(PathError)) {
			t.Errorf("pushed %v: in a directory that is gone: %v", pushed, err)
		}
		if _, _, err := b.run(Reset, b.ws, paths("nowhere")); !errors.As(err, new(PathError)) {
			t.Errorf("pushed %v: an unknown path: %v", pushed, err)
		}
		if _, _, err := b.run(Reset, b.ws); !errors.As(err, new(PathError)) {
			t.Errorf("pushed %v: all of it, without a word: %v", pushed, err)
		}
		no := func(o *Options) { o.StdinTerminal, o.Stdin = true, strings.NewReader("\n") }
		if _, _, err := b.run(Reset, b.ws, no); err == nil {
			t.Errorf("pushed %v: it is reset though the user did not say yes", pushed)
		}
		_, _, err = b.run(Reset, b.ws, force)
		must(t, err)
		b.guest(func(g *guest) {
			if got, want := g.portrait(), b.hostPortrait(); !maps.Equal(got, want) {
				t.Errorf("pushed %v: the guest has %v\nnot %v", pushed, got, want)
			}
		})
		if got := b.diff(); got != "" {
			t.Errorf("pushed %v: afterwards, diff says %s", pushed, got)
		}
		if pushed {
			b.checkRows()
		}
		if found, err := fsck.Check(b.db); err != nil || len(found) > 0 {
			t.Errorf("pushed %v: %v, %v", pushed, found, err)
		}
	}
}
