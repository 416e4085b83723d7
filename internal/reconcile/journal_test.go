package reconcile

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/reconcile/staging"
	"github.com/riverlytech/art/sqlvfs"
)

// stoppedPull does what a pull does until n operations are carried out, and ends as if it had been killed. It
// returns how many operations there were.
func (b bench) stoppedPull(n int) int {
	b.t.Helper()
	opt := Options{Dir: b.ws, DB: b.db, Stdout: io.Discard, Stderr: io.Discard, Allow: []string{"*"}, ctx: b.t.(*testing.T).Context()}
	s, err := openForReading(&opt, false)
	must(b.t, err)
	p := &puller{planner: *s}
	p.policy = p
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

// reshape is what a session does to directories: what shows through from the host comes along.
func (b bench) reshape() {
	for i := range 6 {
		b.write(fmt.Sprintf("p/sub/f%d", i), fmt.Sprint("p", i))
		b.write(fmt.Sprintf("q/sub/g%d", i), fmt.Sprint("q", i))
		b.write(fmt.Sprintf("r/deep/er/h%d", i), fmt.Sprint("r", i))
	}
	b.write("p/same", "of p")
	b.write("q/same", "of q")
	must(b.t, os.Symlink("same", b.path("p/link")))
	must(b.t, os.Symlink("other", b.path("q/link")))
	must(b.t, os.Mkdir(b.path("q/empty"), 0o755))
	must(b.t, os.Link(b.path("q/same"), b.path("q/sub/again")))
	b.write("twice", "one file")
	must(b.t, os.Link(b.path("twice"), b.path("d3/twice")))
	must(b.t, os.Link(b.path("r/deep/er/h0"), b.path("out")))
	b.write("r/deep/shared", "one file")
	must(b.t, os.Link(b.path("r/deep/shared"), b.path("shared")))
}

func (g *guest) reshape() {
	g.rename("p", "x")
	g.rename("q", "p")
	g.rename("x", "q")
	g.write("q/sub/f1", "changed")
	g.remove("p/sub/g2")
	g.rename("r/deep", "s")
	g.append("twice", ", changed")
	g.append("shared", ", changed")
	g.rename("d3/f3", "x")
	g.rename("d3/f8", "d3/f3")
	g.rename("x", "d3/f8")
}

// TestKilledAfterEachOperation has another pull, or a push, find what the guest has after a pull was killed.
func TestKilledAfterEachOperation(t *testing.T) {
	dir, err := fastDir()
	must(t, err)
	defer os.RemoveAll(dir)
	dense, nexts := 8, []string{"pull", "push", "session"}
	if testing.Short() {
		dense, nexts = 1, nexts[:2]
	}
	for _, pushed := range []bool{false, true} {
		all := 1
		for n := 0; n <= all; n += 1 + n/dense {
			for _, next := range nexts {
				at := filepath.Join(dir, fmt.Sprint(pushed, n, next))
				b := bench{t, filepath.Join(at, "ws"), filepath.Join(at, "ws.db")}
				b.project()
				b.reshape()
				if pushed {
					b.push()
				}
				b.day()
				var want map[string]string
				b.guest(func(g *guest) {
					g.reshape()
					want = g.portrait()
				})
				all = b.stoppedPull(n)
				before := b.hostPortrait()
				switch next {
				case "push":
					b.push(func(o *Options) { o.Paths = []string{b.path("big")} })
				case "session":
					b.rescue()
				}
				if next != "pull" {
					b.wantUnchanged(before)
					b.guest(func(g *guest) {
						if got := g.portrait(); !maps.Equal(got, want) {
							t.Fatalf("pushed %v, %d of %d, %s: the guest has %s", pushed, n, all, next, differ(got, want))
						}
					})
				}
				out, told := b.pull(b.ws, allow)
				if got := b.hostPortrait(); !maps.Equal(got, want) {
					t.Fatalf("pushed %v, %d of %d, %s: the host has %s\n%s%s", pushed, n, all, next, differ(got, want), out, told)
				}
				b.guest(func(g *guest) {
					if got := g.portrait(); !maps.Equal(got, want) {
						t.Fatalf("pushed %v, %d of %d, %s: the guest has %s", pushed, n, all, next, differ(got, want))
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

// rescue does what every push and pull begins with.
func (b bench) rescue() {
	b.t.Helper()
	opt := Options{Dir: b.ws, DB: b.db, Stdout: io.Discard, Stderr: os.Stderr, ctx: b.t.(*testing.T).Context()}
	s, err := openForReading(&opt, false)
	must(b.t, err)
	must(b.t, s.close(nil))
}

// wantUnchanged compares what the host has with an earlier portrait, but for what a pull has staged.
func (b bench) wantUnchanged(before map[string]string) {
	b.t.Helper()
	isOfPull := func(name, _ string) bool { return strings.HasPrefix(name, staging.Prefix) }
	got := b.hostPortrait()
	maps.DeleteFunc(got, isOfPull)
	maps.DeleteFunc(before, isOfPull)
	if !maps.Equal(got, before) {
		b.t.Fatalf("the host has %s", differ(got, before))
	}
}

// differ says in what two portraits differ.
func differ(got, want map[string]string) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if want[name] != got[name] {
			fmt.Fprintf(&text, "\n%s: %.40q, want %.40q", name, got[name], want[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if _, ok := got[name]; !ok {
			fmt.Fprintf(&text, "\n%s: nothing, want %.40q", name, want[name])
		}
	}
	return text.String()
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

// A journal is the word of whoever wrote the database, and so may be what is staged, in a workspace that was
// cloned. Nothing of it comes to its place.
func TestHostileJournal(t *testing.T) {
	b := newBench(t)
	b.write(".git/HEAD", "ref: refs/heads/main\n")
	b.write("precious", "of the host")
	b.push()
	b.write(".art-pull-AAAA/1", "#!/bin/sh\n")
	b.write(".art-pull-AAAA/2", "{}")
	must(t, os.Symlink("/etc/passwd", b.path(".art-pull-AAAA/3")))
	b.write(".art/config/x", "x")
	b.write(".git/hooks/x.sample", "x")
	before := b.hostPortrait()
	now := func(rel string) sqlvfs.Fingerprint {
		var st unix.Stat_t
		if unix.Lstat(b.path(rel), &st) != nil {
			return sqlvfs.Fingerprint{}
		}
		return hostfs.Fingerprint(&st)
	}
	e := func(do verb, at, tmp string, mode uint32) []byte {
		return jsonOf(journalEntry{Do: do, Path: []byte(at), Tmp: []byte(tmp), Attr: sqlvfs.Attr{Mode: mode}, Now: now(at), Is: now(".art-pull-AAAA/" + tmp),
			There: uint32(unix.S_IFREG), Source: []byte("gone")})
	}
	for _, at := range []string{".git/hooks/post-checkout", ".art/config/sandbox.json", "out", "precious"} {
		for _, do := range []func(*testing.T){
			func(t *testing.T) { b.run(Push, b.ws) },
			func(t *testing.T) { b.run(Pull, b.ws) },
		} {
			s, err := sqlvfs.Open(b.db, sqlvfs.Options{})
			must(t, err)
			tmp, mode := "1", uint32(unix.S_IFREG|0o755)
			if at == "out" {
				tmp, mode = "3", unix.S_IFLNK|0o777
			}
			step(t, s, func(tx *sqlvfs.Tx) {
				tx.SetJournal([][]byte{[]byte(".art-pull-AAAA"), e(write, at, tmp, mode), e(remove, "precious", "", 0)})
			})
			must(t, s.Close())
			do(t)
			b.wantUnchanged(maps.Clone(before))
			b.write(".art-pull-AAAA/1", "#!/bin/sh\n")
			os.Symlink("/etc/passwd", b.path(".art-pull-AAAA/3"))
		}
	}
}

// What a pull from one database has staged is nothing for a pull from another to remove.
func TestStagedForAnotherDatabase(t *testing.T) {
	b := newBench(t)
	b.write("a", "content of a")
	b.write("b", "content of b")
	b.guest(func(g *guest) {
		g.rename("a", "x")
		g.rename("b", "a")
		g.rename("x", "b")
	})
	b.stoppedPull(1)
	o := b
	o.db = filepath.Join(t.TempDir(), "other.db")
	o.guest(func(g *guest) { g.write("new", "of another database") })
	if _, told := o.pull(o.ws); !strings.Contains(told, "left as it is: a pull from "+b.db) {
		t.Errorf("the other pull says %q", told)
	}
	b.pull(b.ws)
	wantContent(t, b.path("a"), "content of b")
	wantContent(t, b.path("b"), "content of a")
	if left, _ := filepath.Glob(b.path(staging.Prefix + "*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

// Where it cannot be known what is staged, nothing is planned: that would be as if nothing had begun.
func TestStagedCannotBeOpened(t *testing.T) {
	b := newBench(t)
	b.swap()
	b.stoppedPull(1)
	before := b.hostPortrait()
	list, err := filepath.Glob(b.path(staging.Prefix + "*"))
	must(t, err)
	d, err := os.Open(list[0])
	must(t, err)
	must(t, unix.Flock(int(d.Fd()), unix.LOCK_SH))
	for _, do := range []func(context.Context, Options) error{Push, Pull} {
		if _, told, err := b.run(do, b.ws); err == nil || !strings.Contains(err.Error(), "a pull that was killed") {
			t.Errorf("%v %s", err, told)
		}
	}
	b.wantUnchanged(before)
	must(t, d.Close())
	b.pull(b.ws)
	b.wantSwapped()
}
