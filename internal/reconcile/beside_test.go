package reconcile

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	artfs "github.com/riverlytech/art/fs"
	livewriter "github.com/riverlytech/art/internal/live/writer"
	"github.com/riverlytech/art/libexec"
	"github.com/riverlytech/art/sqlvfs/fsck"
)

// serves has a session answer pulls that go on beside it.
func (g *guest) serves() func(*Options) {
	connect := g.connects()
	return func(o *Options) { o.Session = connect }
}

func (g *guest) connects() func(context.Context) (*os.File, error) {
	w := livewriter.New(g.store, g.overlay)
	return func(context.Context) (*os.File, error) {
		ours, theirs, err := libexec.Socketpair()
		if err == nil {
			go w.Serve(theirs, nil)
		}
		return ours, err
	}
}

// A pull beside a session brings what the guest has, and the session goes on.
func TestPullBesideSession(t *testing.T) {
	b := newBench(t)
	b.project()
	b.guest(func(g *guest) {
		beside := g.serves()
		for round := range 3 {
			if round == 0 {
				g.day()
			} else {
				g.write("new/0", fmt.Sprint("again", round))
				g.rename(fmt.Sprint("new/", round), fmt.Sprint("new/renamed", round))
				g.remove(fmt.Sprint("new/", 10+round))
			}
			want := g.portrait()
			b.pull(b.ws, beside, allow)
			if got := b.hostPortrait(); !maps.Equal(got, want) {
				t.Fatalf("round %d: the host has\n%v\nwant\n%v", round, got, want)
			}
			if got := g.portrait(); !maps.Equal(got, want) {
				t.Fatalf("round %d: the guest has\n%v\nwant\n%v", round, got, want)
			}
			if out, told := b.pull(b.ws, beside); strings.Count(out, "\n") != 2 || told != "" {
				t.Fatalf("round %d: again:\n%s%s", round, out, told)
			}
		}
	})
	b.checkAll()
	want := b.hostPortrait()
	if out, told := b.pull(b.ws); strings.Count(out, "\n") != 2 || told != "" {
		t.Fatalf("after the session:\n%s%s", out, told)
	}
	b.guest(func(g *guest) {
		if got := g.portrait(); !maps.Equal(got, want) {
			t.Fatalf("after the session, the guest has\n%v\nwant\n%v", got, want)
		}
	})
}

// What a program has open is what it was, when the guest has removed it and a pull has the host do the same.
func TestPullBesideKeepsWhatIsOpen(t *testing.T) {
	b := newBench(t)
	large := strings.Repeat("x", largeSize)
	for _, name := range []string{"untouched", "replaced", "dir/in"} {
		b.write(name, "the host's "+name)
	}
	b.write("patched", large)
	b.guest(func(g *guest) {
		open := map[string]artfs.Entry{}
		for _, name := range []string{"untouched", "replaced", "dir/in", "patched"} {
			e, err := g.find(name)
			must(t, err)
			open[name] = e
		}
		g.patch("patched", "the guest's", largeSize/2)
		for _, name := range []string{"untouched", "dir", "patched"} {
			g.remove(name)
		}
		g.replace("replaced", "the guest's")
		b.pull(b.ws, g.serves())
		wantAbsent(t, b.path("untouched"))
		wantContent(t, b.path("replaced"), "the guest's")
		for name, e := range open {
			want := "the host's " + name
			if name == "patched" {
				want = large[:largeSize/2] + "the guest's" + large[largeSize/2+len("the guest's"):]
			}
			data := make([]byte, len(want)+1)
			if n, err := g.overlay.Read(e.Ino, data, 0); err != nil || string(data[:n]) != want {
				t.Errorf("%s: read %d bytes: %v", name, n, err)
			}
		}
	})
	b.checkAll()
}

// A file of the host with several names stays one file on both sides, under whichever of them the guest writes to it, while it
// has the file open, and in the session after.
func TestPullBesideKeepsNamesTogether(t *testing.T) {
	b := newBench(t)
	b.write("a", "the host's")
	b.write("dir/in", "")
	names := []string{"a", "b", "dir/c"}
	for _, name := range names[1:] {
		must(t, os.Link(b.path("a"), b.path(name)))
	}
	want := "the host's"
	round := func(g *guest, first artfs.Ino) artfs.Ino {
		t.Helper()
		host, err := os.Stat(b.path("a"))
		must(t, err)
		for _, name := range names {
			e, err := g.find(name)
			must(t, err)
			if first == 0 {
				first = e.Ino
			}
			if got := g.read(name); e.Ino != first || e.Attr.Nlink != 3 || got != want {
				t.Errorf("the guest's %s is inode %d with %d links and %q, want inode %d and %q", name, e.Ino, e.Attr.Nlink, got, first, want)
			}
			st, err := os.Stat(b.path(name))
			must(t, err)
			if !os.SameFile(host, st) {
				t.Errorf("on the host, %s is another file than a", name)
			}
		}
		return first
	}
	write := func(g *guest, name string) {
		want += ", " + name
		g.append(name, ", "+name)
		later()
	}
	b.guest(func(g *guest) {
		beside := g.serves()
		ino := round(g, 0)
		for range 3 {
			for _, name := range []string{"b", "a", "dir/c"} {
				write(g, name)
				b.pull(b.ws, beside)
				wantContent(t, b.path("a"), want)
				round(g, ino)
				if out, told := b.pull(b.ws, beside); strings.Count(out, "\n") != 2 || told != "" {
					t.Errorf("again:\n%s%s", out, told)
				}
			}
		}
		g.forget()
		write(g, "b")
	})
	b.guest(func(g *guest) {
		ino := round(g, 0)
		write(g, "a")
		round(g, ino)
	})
	b.checkAll()
	b.pull(b.ws)
	wantContent(t, b.path("b"), want)
	b.guest(func(g *guest) { round(g, 0) })
}

// slow takes what is printed when the session has done something.
type slow func()

func (s slow) Write(p []byte) (int, error) {
	s()
	return len(p), nil
}

// Nothing is printed while the session waits: a terminal that is stopped would stop that too.
func TestPullBesidePrintsAfterwards(t *testing.T) {
	b := newBench(t)
	b.write("dir/file", "the host's")
	b.guest(func(g *guest) {
		g.rename("dir", "renamed") // rows depend on what the host has
		g.write("new", "the guest's")
		printed := slow(func() {
			done := make(chan struct{})
			go func() {
				defer close(done)
				g.write("log", "printing")
			}()
			select {
			case <-done:
			case <-time.After(3 * time.Second):
				t.Error("the session waits for what is printed")
				<-done
			}
		})
		b.pull(b.ws, g.serves(), func(o *Options) { o.Stdout, o.Stderr, o.StdoutTerminal = printed, printed, true })
	})
	b.checkAll()
}

// differences lists where two portraits differ, shortly.
func differences(got, want map[string]string) string {
	short := func(s string) string { return s[:min(len(s), 40)] }
	var list []string
	for at, is := range want {
		if got[at] != is {
			list = append(list, fmt.Sprintf("%s: %d bytes %q, want %d bytes %q", at, len(got[at]), short(got[at]), len(is), short(is)))
		}
	}
	for at := range got {
		if _, ok := want[at]; !ok {
			list = append(list, at+" is there")
		}
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}

// checkAll proves that a database is sound.
func (b bench) checkAll() {
	b.t.Helper()
	findings, err := fsck.Check(b.db)
	must(b.t, err)
	for _, f := range findings {
		b.t.Errorf("check: %v", f)
	}
}

// TestKilledBesideSession kills pulls beside a session at random moments, and runs them again: the end is the same, while the
// session runs, or after it where a pull has to wait for that.
func TestKilledBesideSession(t *testing.T) {
	kills := *kills
	if testing.Short() {
		kills = min(kills, 3)
	}
	dir, err := fastDir()
	must(t, err)
	defer os.RemoveAll(dir)
	random := rand.New(rand.NewPCG(3, 4))
	longest, killed, left := time.Duration(0), 0, 0
	for round := 0; killed < kills; round++ {
		b := bench{t, filepath.Join(dir, fmt.Sprint(round), "ws"), filepath.Join(dir, fmt.Sprint(round), "ws.db")}
		b.project()
		var want map[string]string
		b.guest(func(g *guest) {
			connect := g.connects()
			g.day()
			want = g.portrait()
			sock, err := connect(t.Context())
			must(t, err)
			if longest == 0 {
				start := time.Now()
				b.killed("pull", time.Minute, sock)
				longest = time.Since(start)
			} else if b.killed("pull", time.Duration(random.Int64N(int64(longest))), sock) {
				killed++
			}
			must(t, sock.Close())
			_, told, err := b.run(Pull, b.ws, func(o *Options) { o.Session = connect }, allow)
			if err != nil {
				if !strings.Contains(err.Error(), "cannot be finished while the session runs") {
					t.Fatalf("again: %v\n%s", err, told)
				}
				left++
				return
			}
			if got := b.hostPortrait(); !maps.Equal(got, want) {
				t.Fatalf("the host differs: %s", differences(got, want))
			}
			if got := g.portrait(); !maps.Equal(got, want) {
				t.Fatalf("the guest differs: %s", differences(got, want))
			}
		})
		b.pull(b.ws, allow)
		b.checkAll()
		if got := b.hostPortrait(); !maps.Equal(got, want) {
			t.Fatalf("after the session, the host differs: %s", differences(got, want))
		}
		b.guest(func(g *guest) {
			if got := g.portrait(); !maps.Equal(got, want) {
				t.Fatalf("after the session, the guest differs: %s", differences(got, want))
			}
		})
		if out, told := b.pull(b.ws); strings.Count(out, "\n") != 2 || told != "" {
			t.Fatalf("again:\n%s%s", out, told)
		}
		must(t, os.RemoveAll(filepath.Dir(b.ws)))
	}
	t.Logf("killed %d pulls in the middle, of which %d had to wait for the end of the session", killed, left)
}

// What was pulled beside a session is the host's from then on, in that session too, once no program has it open: the guest sees
// what the host makes of it, and what it changes itself is pending.
func TestPullBesideReleases(t *testing.T) {
	b := newBench(t)
	names := []string{"dir/new", "large", "new", "old", "open"}
	b.write("old", "the host's")
	b.write("large", strings.Repeat("x", largeSize))
	b.guest(func(g *guest) {
		beside := g.serves()
		g.forgets = true
		g.mkdir("dir")
		for _, name := range []string{"dir/new", "new", "old", "open"} {
			g.write(name, "the guest's")
		}
		g.patch("large", "the guest's", largeSize/2)
		g.forget()
		open, err := g.find("open")
		must(t, err)
		g.refs = g.refs[:0] // which the kernel keeps
		b.pull(b.ws, beside)
		for _, name := range names {
			b.replaceFile(name, "the host's again")
			want := "the host's again"
			if name == "open" {
				want = "the guest's"
			}
			if got := g.read(name); got != want {
				t.Errorf("the guest reads %.20q of %s", got, name)
			}
		}
		later()
		g.append("open", ", which goes on")
		if e, err := g.find("open"); err != nil || e.Ino != open.Ino {
			t.Errorf("open has the number %d, and had %d: %v", e.Ino, open.Ino, err)
		}
		if got := b.diff(beside); got != "M open (conflict: changed by the guest and changed on the host)\n" {
			t.Errorf("diff says\n%s", got)
		}
		b.pull(b.ws, beside, force)
		wantContent(t, b.path("open"), "the guest's, which goes on")
		g.forget()
		g.overlay.Forget(open.Ino, 1)
		b.replaceFile("open", "the host's again")
		if got := g.read("open"); got != "the host's again" {
			t.Errorf("when it is closed, the guest reads %q", got)
		}
		later()
		for _, name := range names {
			g.append(name, ", and the guest's")
		}
		g.forget()
		if got := b.diff(beside); got != "M dir/new\nM large\nM new\nM old\nM open\n" {
			t.Errorf("diff says\n%s", got)
		}
		b.pull(b.ws, beside)
		for _, name := range names {
			wantContent(t, b.path(name), "the host's again, and the guest's")
		}
		b.write("dir/other", "the host's")
		must(t, os.Remove(b.path("new")))
		if got := g.read("dir/other"); got != "the host's" {
			t.Errorf("the guest reads %q of what the host has made", got)
		}
		if e, err := g.find("new"); err == nil {
			t.Errorf("the guest has what the host has removed: %v", e)
		}
		if out, told := b.pull(b.ws, beside); strings.Count(out, "\n") != 2 || told != "" {
			t.Errorf("again:\n%s%s", out, told)
		}
	})
	b.checkAll()
	if out, told := b.pull(b.ws); strings.Count(out, "\n") != 2 || told != "" {
		t.Errorf("after the session:\n%s%s", out, told)
	}
}
