package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	livewriter "github.com/riverlytech/art/internal/live/writer"
	"github.com/riverlytech/art/libexec"
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
			go w.Serve(os.NewFile(uintptr(3+i), "client"))
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
	failed, conflicts := 0, 0
	for round := range kills {
		b := newBench(t)
		b.forBusySession()
		cmd, beside := b.busySession()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			if st, err := os.Stat(b.db + "-wal"); err == nil && st.Size() > 0 || time.Now().After(deadline) {
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
		// What had come to the host when the writer died, and the guest has changed since it was decided on, is a conflict. What
		// the guest has is the newer then.
		if _, told, err := b.run(Pull, b.ws, allow); errors.Is(err, ErrConflicts) {
			conflicts++
			b.pull(b.ws, allow, force)
		} else if err != nil {
			t.Fatalf("pull: %v\n%s", err, told)
		}
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
	t.Logf("killed %d writers, %d of them in the middle; %d left conflicts", kills, failed, conflicts)
}
