package sync

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/riverlytech/art/internal/sync/staging"
)

// stoppedPull does what a pull does until n operations are carried out, and ends as if it had been killed. It
// returns how many operations there were.
func (b bench) stoppedPull(n int) int {
	b.t.Helper()
	opt := Options{Dir: b.ws, DB: b.db, Stdout: io.Discard, Stderr: io.Discard, Allow: []string{"*"}, ctx: b.t.(*testing.T).Context()}
	s, err := openForReading(&opt, false)
	must(b.t, err)
	p := &puller{planner: *s.planner}
	p.settle = p
	must(b.t, p.compare())
	must(b.t, p.stage())
	order := p.inOrder()
	must(b.t, p.writeJournal(order))
	if n > 0 {
		p.carryOut(order[:min(n, len(order))])
	}
	p.staging.Close()
	must(b.t, s.close(nil))
	return len(order)
}

// TestKilledAfterEachOperation has another pull, or a push, finish what a pull has begun.
func TestKilledAfterEachOperation(t *testing.T) {
	dir, err := fastDir()
	must(t, err)
	defer os.RemoveAll(dir)
	dense := 8
	if testing.Short() {
		dense = 1
	}
	for _, pushed := range []bool{false, true} {
		all := 1
		for n := 0; n <= all; n += 1 + n/dense {
			for _, next := range []string{"pull", "push"} {
				at := filepath.Join(dir, fmt.Sprint(pushed, n, next))
				b := bench{t, filepath.Join(at, "ws"), filepath.Join(at, "ws.db")}
				b.project()
				if pushed {
					b.push()
				}
				b.day()
				var want map[string]string
				b.guest(func(g *guest) { want = g.portrait() })
				all = b.stoppedPull(n)
				if next == "push" {
					b.push()
				}
				out, told := b.pull(b.ws, allow)
				if got := b.hostPortrait(); !maps.Equal(got, want) {
					t.Fatalf("pushed %v, %d of %d, %s: the host has\n%v\nwant\n%v\n%s%s", pushed, n, all, next, got, want, out, told)
				}
				b.guest(func(g *guest) {
					if got := g.portrait(); !maps.Equal(got, want) {
						t.Fatalf("pushed %v, %d of %d, %s: the guest has\n%v\nwant\n%v", pushed, n, all, next, got, want)
					}
				})
				if out, told := b.pull(b.ws); strings.Count(out, "\n") != 2 || told != "" {
					t.Fatalf("pushed %v, %d of %d, %s: again:\n%s%s", pushed, n, all, next, out, told)
				}
				if left, _ := filepath.Glob(b.path(staging.Prefix + "*")); left != nil || b.count("SELECT count(*) FROM art_journal") != 0 {
					t.Fatalf("left behind: %v, or a journal", left)
				}
				must(t, os.RemoveAll(at))
			}
		}
	}
}

// What somebody did to the workspace after a pull was killed is theirs, and what the guest had stays.
func TestJournalLeavesTheHostsAlone(t *testing.T) {
	b := newBench(t)
	b.write("a", "content of a")
	b.write("b", "content of b")
	b.guest(func(g *guest) {
		g.rename("a", "x")
		g.rename("b", "a")
		g.rename("x", "b")
	})
	b.stoppedPull(1)
	done, other := "a", "b"
	if b.hostPortrait()["a"] == "file content of a" {
		done, other = "b", "a"
	}
	must(t, os.Remove(b.path(other)))
	b.write(other, "of the host")
	_, told, err := b.run(Pull, b.ws)
	if err == nil || !strings.Contains(told, "ws/"+other) {
		t.Errorf("%v: %s", err, told)
	}
	wantContent(t, b.path(other), "of the host")
	b.guest(func(g *guest) {
		if g.read(done) != "content of "+other || g.read(other) != "content of "+done {
			t.Errorf("the guest has %v", g.portrait())
		}
	})
}

// A journal that is damaged, or whose staging directory is gone, is left out.
func TestDamagedJournal(t *testing.T) {
	for what, change := range map[string]string{
		"no JSON":         "UPDATE art_journal SET entry = x'00'",
		"a path outside":  `UPDATE art_journal SET entry = replace(CAST(entry AS TEXT), '"Path":"', '"Path":"Li4v') WHERE seq > 0`,
		"a tree too far":  `UPDATE art_journal SET entry = replace(CAST(entry AS TEXT), '"Tree":-1', '"Tree":99999') WHERE seq > 0`,
		"another staging": `UPDATE art_journal SET entry = replace(CAST(entry AS TEXT), '.art-pull-', '../.art-pull-') WHERE seq = 0`,
		"entries gone":    "DELETE FROM art_journal WHERE seq > 0",
	} {
		t.Run(what, func(t *testing.T) {
			b := newBench(t)
			b.project()
			b.day()
			before := b.hostPortrait()
			var want map[string]string
			b.guest(func(g *guest) { want = g.portrait() })
			b.stoppedPull(0)
			b.sql(change)
			b.pull(b.ws, dryRun, allow)
			if got := b.hostPortrait(); !maps.Equal(got, before) {
				for name := range before {
					delete(got, name)
				}
				for name := range got {
					if !strings.HasPrefix(name, staging.Prefix) {
						t.Errorf("a dry run made %s", name)
					}
				}
			}
			b.pull(b.ws, allow)
			if got := b.hostPortrait(); !maps.Equal(got, want) {
				t.Errorf("the host has %v, want %v", got, want)
			}
		})
	}
}
