package reconcile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	artfs "github.com/riverlytech/art/fs"
	livewriter "github.com/riverlytech/art/internal/live/writer"
	"github.com/riverlytech/art/internal/reconcile/staging"
	"github.com/riverlytech/art/libexec"
	"github.com/riverlytech/art/sqlvfs"
)

// A push that is killed beside a session has done all or nothing, and leaves nothing behind.
func TestKilledPushBesideSession(t *testing.T) {
	kills := *kills
	if testing.Short() {
		kills = min(kills, 3)
	}
	random := rand.New(rand.NewPCG(5, 6))
	longest, done := time.Duration(0), 0
	for killed := 0; killed < kills; {
		b := newBench(t)
		b.project()
		b.guest(func(g *guest) {
			connect := g.connects()
			g.day()
			b.pull(b.ws, allow, func(o *Options) { o.Session = connect })
			before := g.portrait()
			for i := range 30 {
				b.write(fmt.Sprint("new/", i), strings.Repeat("h", i*30_000))
			}
			must(t, os.Remove(b.path("new/29")))
			must(t, os.Remove(b.path("link")))
			b.write("link/in", "a directory now")
			b.write("more/new", "the host's")
			after := b.hostPortrait()
			sock, err := connect(t.Context())
			must(t, err)
			if longest == 0 {
				start := time.Now()
				b.killed("push", time.Minute, sock)
				longest = time.Since(start)
			} else if b.killed("push", time.Duration(random.Int64N(int64(longest))), sock) {
				killed++
			}
			must(t, sock.Close())
			before["more"], before["more/new"] = after["more"], after["more/new"] // which show anyway
			switch got := g.portrait(); {
			case maps.Equal(got, after):
				done++
			case !maps.Equal(got, before):
				t.Fatalf("the guest has neither what it had: %s\nnor what the host has: %s", differences(got, before), differences(got, after))
			}
			b.push(func(o *Options) { o.Session = connect })
			if got := g.portrait(); !maps.Equal(got, after) {
				t.Fatalf("the guest differs: %s", differences(got, after))
			}
		})
		b.checkAll()
		if n := b.count("SELECT count(*) FROM art_orphan"); n != 0 {
			t.Fatalf("%d orphans are left", n)
		}
	}
	t.Logf("killed %d pushes in the middle; %d were done", kills, done)
}

// stoppedPullBeside does what a pull beside a session does until n operations are carried out, and ends as if it had been killed.
// It returns how many operations there were.
func (b bench) stoppedPullBeside(n int, beside func(*Options)) int {
	b.t.Helper()
	opt := Options{Dir: b.ws, DB: b.db, Stdout: io.Discard, Stderr: io.Discard, Allow: []string{"*"}, ctx: b.t.(*testing.T).Context()}
	beside(&opt)
	s, err := openForReading(&opt, false)
	must(b.t, err)
	p := &puller{planner: *s}
	p.policy = p
	must(b.t, p.compare())
	must(b.t, p.stage())
	order := p.inOrder()
	must(b.t, p.announceNames(order))
	must(b.t, p.writeJournal(order))
	must(b.t, p.prepareSession())
	p.carryOut(order[:min(n, len(order))])
	p.staging.Close()
	p.store.Abandon()
	must(b.t, s.close(nil))
	return len(order)
}

// What the guest goes on to change of what a pull has brought to the host, before it was killed, is no conflict with that.
func TestGoesOnAfterAPullWasKilled(t *testing.T) {
	all := 1
	for n := 0; n <= all; n++ {
		b := newBench(t)
		b.project()
		b.write("kept/by", "the host")
		var want map[string]string
		b.guest(func(g *guest) {
			beside := g.serves()
			g.write("d0/f0", "changed")
			g.write("d0/f5", "changed too")
			g.remove("d1")
			g.remove("d2/f2")
			g.patch("big", "y", 200_000)
			g.rename("d3/f3", "moved")
			g.write("d4/f4", "swapped")
			g.exchange("d4/f4", "d4/f9")
			g.write("d4/f9", "swapped too")
			g.mkdir("new")
			g.write("new/file", "new")
			g.mkdir("new/sub")
			g.symlink("new", "link")
			g.chmod("d0/f10", 0o755)
			before := g.portrait()
			all = b.stoppedPullBeside(n, beside)
			g.write("d0/f0", "changed again")
			g.replace("d0/f5", "another file")
			g.mkdir("d1")
			g.write("d1/f1", "made again")
			g.write("d2/f2", "made again")
			g.write("new/file", "not so new")
			g.remove("new/sub")
			g.remove("link")
			g.symlink("big", "link")
			want = g.portrait()
			maps.DeleteFunc(want, func(name, _ string) bool { return strings.HasPrefix(name, staging.Prefix) })
			want["big"], want["moved"], want["d4/f4"] = before["big"], before["moved"], before["d4/f4"] // which the guest cannot read before another pull
			want["d3/f8"] = "file the host's"
		})
		b.write("d3/f8", "the host's")
		out, told := b.pull(b.ws, allow)
		if got := b.hostPortrait(); !maps.Equal(got, want) || told != "" {
			t.Fatalf("%d of %d: the host has %s\n%s%s", n, all, differ(got, want), out, told)
		}
		b.guest(func(g *guest) {
			if got := g.portrait(); !maps.Equal(got, want) {
				t.Fatalf("%d of %d: the guest has %s", n, all, differ(got, want))
			}
		})
		if out, told := b.pull(b.ws); strings.Count(out, "\n") != 2 || told != "" {
			t.Fatalf("%d of %d: again:\n%s%s", n, all, out, told)
		}
		b.checkAll()
	}
}

// What the guest has cut off since does not show again in what a pull has put in the place of its file.
func TestCutOffAfterAPullWasKilled(t *testing.T) {
	const size, left = 1 << 20, 512 << 10
	b := newBench(t)
	b.write("file", strings.Repeat("x", size))
	b.guest(func(g *guest) {
		g.patch("file", "y", 0)
		b.stoppedPullBeside(1, g.serves())
		e, err := g.find("file")
		must(t, err)
		for _, is := range []int64{left, size} {
			_, err := g.overlay.Setattr(agent, e.Ino, artfs.SetAttr{Size: &is})
			must(t, err)
		}
	})
	b.pull(b.ws)
	want := "y" + strings.Repeat("x", left-1) + strings.Repeat("\x00", size-left)
	wantContent(t, b.path("file"), want)
	b.guest(func(g *guest) {
		if g.read("file") != want {
			t.Error("the guest has something else")
		}
	})
}

// The names of a file stay together, and are no conflict, wherever a pull of what the guest has written under one of them was killed.
func TestNamesAfterAPullWasKilled(t *testing.T) {
	names := []string{"a", "b", "dir/c"}
	for _, pulled := range []bool{true, false} {
		if testing.Short() && !pulled {
			break
		}
		for _, name := range names {
			all := 1
			for n := 0; n <= all; n++ {
				b := newBench(t)
				b.write("a", "1")
				b.write("dir/in", "")
				for _, other := range names[1:] {
					must(t, os.Link(b.path("a"), b.path(other)))
				}
				want := "12"
				b.guest(func(g *guest) {
					beside := g.serves()
					if pulled {
						g.append("b", "0")
						want = "102"
						b.pull(b.ws, beside)
						later()
					}
					g.append(name, "2")
					all = b.stoppedPullBeside(n, beside)
				})
				if n%2 == 1 {
					b.push()
				}
				b.pull(b.ws)
				for _, name := range names {
					wantContent(t, b.path(name), want)
				}
				if st := b.stat("b"); st.Nlink != 3 {
					t.Errorf("%s, %v: %d of %d: b has %d links", name, pulled, n, all, st.Nlink)
				}
				if out, told := b.pull(b.ws); strings.Count(out, "\n") != 2 || told != "" {
					t.Errorf("%s, %v: %d of %d: again:\n%s%s", name, pulled, n, all, out, told)
				}
				b.checkAll()
			}
		}
	}
}

// asBusySession has the test binary be a session that never rests, over a workspace and with a database, which answers on
// descriptors from 3 on.
const asBusySession = "ART_SYNC_TEST_SESSION"

const conversations = 2

func TestBusySessionProcess(t *testing.T) {
	ws := os.Getenv(asBusySession)
	if ws == "" {
		t.Skip("it is part of TestKilledWriter")
	}
	b := bench{t, ws, ws + ".db"}
	b.guest(func(g *guest) {
		g.mkdir("pushed")
		for k := range 5 {
			g.write(fmt.Sprint("pushed/", k), "guest")
		}
		w := livewriter.New(g.store, g.overlay)
		for i := range conversations {
			go w.Serve(os.NewFile(uintptr(3+i), "client"), nil)
		}
		(&busy{guest: &guest{t: t, store: g.store, base: g.base, overlay: g.overlay, forgets: true}}).run()
	})
}

// busySession begins such a session. Each call of the options connects to it.
func (b bench) busySession() (*exec.Cmd, func(*Options)) {
	b.t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestBusySessionProcess$")
	cmd.Env = append(os.Environ(), asBusySession+"="+b.ws)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	var left []*os.File
	for range conversations {
		ours, theirs, err := libexec.Socketpair()
		must(b.t, err)
		defer theirs.Close()
		left, cmd.ExtraFiles = append(left, ours), append(cmd.ExtraFiles, theirs)
	}
	must(b.t, cmd.Start())
	return cmd, func(o *Options) {
		o.Session = func(context.Context) (*os.File, error) {
			if len(left) == 0 {
				return nil, errors.New("the session has ended")
			}
			sock := left[0]
			left = left[1:]
			return sock, nil
		}
	}
}

// TestKilledWriter kills the session's writer in the middle of a push or a pull: the database is sound, and another one
// brings a state that was, and loses nothing.
func TestKilledWriter(t *testing.T) {
	kills := *kills
	if testing.Short() {
		kills = min(kills, 4)
	}
	random := rand.New(rand.NewPCG(7, 8))
	failed := 0
	for round := range kills {
		b := newBench(t)
		b.forBusySession()
		cmd, beside := b.busySession()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			s, err := sqlvfs.Open(b.db, sqlvfs.Options{ReadOnly: true}) // fails until its first commit
			if err == nil {
				must(t, s.Close())
			}
			if err == nil || time.Now().After(deadline) {
				break
			}
		}
		do, pushes := Pull, round%2 == 1
		if pushes {
			b.pull(b.ws, beside, allow)
			for k := range 5 {
				b.replaceFile(fmt.Sprint("pushed/", k), strings.Repeat("host", 100_000))
			}
			do = Push
		}
		kill := time.AfterFunc(time.Duration(random.Int64N(int64(100*time.Millisecond))), func() { cmd.Process.Kill() })
		if _, _, err := b.run(do, b.ws, beside, allow); err != nil {
			failed++
		}
		kill.Stop()
		cmd.Process.Kill()
		cmd.Wait()
		b.checkAll()
		if pushes {
			b.guest(func(g *guest) {
				first := g.read("pushed/0")
				for k := range 5 {
					if got := g.read(fmt.Sprint("pushed/", k)); got != first {
						t.Fatalf("pushed/0 has %d bytes, and pushed/%d %d", len(first), k, len(got))
					}
				}
			})
			b.push()
		}
		b.pull(b.ws, allow)
		(&busy{guest: &guest{t: t}}).verify(b, 0)
		if pushes {
			wantContent(t, b.path("pushed/4"), strings.Repeat("host", 100_000))
		}
		want := b.hostPortrait()
		b.guest(func(g *guest) {
			if got := g.portrait(); !maps.Equal(got, want) {
				t.Fatalf("the guest differs: %s", differences(got, want))
			}
		})
		b.checkAll()
		if out, told := b.pull(b.ws); strings.Count(out, "\n") != 2 || told != "" {
			t.Fatalf("again:\n%s%s", out, told)
		}
		must(t, os.RemoveAll(filepath.Dir(b.ws)))
	}
	t.Logf("killed %d writers, %d of them in the middle", kills, failed)
}
