package reconcile

import (
	"context"
	"maps"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/reconcile/staging"
	"github.com/riverlytech/art/libexec"
)

// meanwhile has a session answer a pull, and runs f after that has planned all, before it moves anything.
func (g *guest) meanwhile(f func()) func(*Options) { return g.before(control.Hold, f) }

// beforeAmend has a session answer a push, and runs f after that has decided all.
func (g *guest) beforeAmend(f func()) func(*Options) { return g.before(control.Amend, f) }

func (g *guest) before(verb control.Verb, f func()) func(*Options) {
	connect := g.connects()
	relay := func(from, to *os.File) error {
		a, fd, err := control.ReceiveRequest(from)
		if err != nil {
			return err
		}
		if fd >= 0 {
			defer unix.Close(fd)
		}
		if a.Verb == verb {
			f()
		}
		return control.SendRequest(to, fd, a)
	}
	return func(o *Options) {
		o.Session = func(ctx context.Context) (*os.File, error) {
			writer, err := connect(ctx)
			if err != nil {
				return nil, err
			}
			ours, theirs, err := libexec.Socketpair()
			if err != nil {
				return nil, err
			}
			go func() {
				defer writer.Close()
				defer theirs.Close()
				for relay(theirs, writer) == nil && relay(writer, theirs) == nil {
				}
			}()
			return ours, nil
		}
	}
}

// What the guest does in a directory that it has renamed, while a pull that has not seen it brings that to the host, is done
// to what it did it to.
func TestPullBesideRenamedDirectory(t *testing.T) {
	b := newBench(t)
	for _, rel := range []string{"a/f", "a/g", "a/sub/f", "a/sub/deep/f", "a/out/f", "a/mode", "a/removed", "a/tree/deep/f", "a/tree/f", "a/again", "a/sub/removed", "a/away", "a/swapped/f", "a/swapped/g", "a/dir/f", "z/f", "x/f", "y/f"} {
		b.write(rel, "host "+rel)
	}
	must(t, os.Symlink("f", b.path("a/link")))
	must(t, os.Link(b.path("a/f"), b.path("a/linked")))
	b.guest(func(g *guest) {
		g.rename("a", "b")
		g.exchange("x", "y")
		g.portrait() // the kernel knows all of it
		var mu sync.Mutex
		var want map[string]string // GUARDED_BY(mu), as is what the guest does
		b.pull(b.ws, allow, g.meanwhile(func() {
			mu.Lock()
			defer mu.Unlock()
			g.write("b/sub/new", "new")
			g.append("b/sub/deep/f", ", and the guest's")
			g.patch("b/g", "HOST", 0)
			g.chmod("b/mode", 0o700)
			g.rename("b/link", "b/renamed")
			g.rename("b/out", "c")
			for _, rel := range []string{"b/removed", "b/tree", "b/again", "b/sub/removed"} {
				g.remove(rel)
			}
			g.write("b/again", "the guest's")
			g.rename("b/away", "gone")
			g.write("b/away", "another")
			g.rename("b/swapped/f", "swapped")
			g.remove("b/swapped")
			g.rename("b/dir", "elsewhere")
			g.rename("z", "b/dir")
			g.append("x/f", ", which was in y")
			g.chmod("y/f", 0o700)
			want = g.portrait()
			maps.DeleteFunc(want, func(at, _ string) bool { return strings.HasPrefix(at, staging.Prefix) })
		}))
		mu.Lock()
		defer mu.Unlock()
		if got := g.portrait(); !maps.Equal(got, want) {
			t.Fatalf("the guest differs: %s", differences(got, want))
		}
		b.pull(b.ws, allow, g.serves())
		if got := b.hostPortrait(); !maps.Equal(got, want) {
			t.Fatalf("the host differs: %s", differences(got, want))
		}
		if got := g.portrait(); !maps.Equal(got, want) {
			t.Fatalf("after another pull, the guest differs: %s", differences(got, want))
		}
	})
	b.checkAll()
	want := b.hostPortrait()
	if out, told := b.pull(b.ws); strings.Count(out, "\n") != 2 || told != "" {
		t.Fatalf("after the session:\n%s%s", out, told)
	}
	b.guest(func(g *guest) {
		if got := g.portrait(); !maps.Equal(got, want) {
			t.Fatalf("after the session, the guest differs: %s", differences(got, want))
		}
	})
}
