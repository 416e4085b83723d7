package reconcile

import (
	"context"
	"flag"
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
)

var kills = flag.Int("kills", 10, "how many pushes and how many pulls TestKilled kills in the middle")

// The test binary is push or pull when this variable is set, beside a session with the other one.
const (
	asCommand = "ART_SYNC_TEST_COMMAND"
	asBeside  = "ART_SYNC_TEST_BESIDE"
)

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		if err := serveSmaller(os.Args[1], os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if n := os.Getenv(asDying); n != "" {
		dieAt(n)
	}
	if what := os.Getenv(asCommand); what == "merge" {
		if err := mergeAs(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	} else if what != "" {
		do := Pull
		if what == "push" {
			do = Push
		}
		opt := Options{Dir: os.Args[1], DB: os.Args[2], Stdout: io.Discard, Stderr: os.Stderr, Allow: []string{"*"}}
		if os.Getenv(asBeside) != "" {
			opt.Session = func(context.Context) (*os.File, error) { return os.NewFile(3, "session"), nil }
		}
		if err := do(context.Background(), opt); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// killed runs a command in a process of its own and kills it after a while. It returns false if that
// was too late.
func (b bench) killed(what string, after time.Duration, session ...*os.File) bool {
	b.t.Helper()
	cmd := exec.Command(os.Args[0], b.ws, b.db)
	cmd.Env = append(os.Environ(), asCommand+"="+what)
	if len(session) > 0 {
		cmd.Env, cmd.ExtraFiles = append(cmd.Env, asBeside+"=1"), session
	}
	must(b.t, cmd.Start())
	kill := time.AfterFunc(after, func() { cmd.Process.Kill() })
	cmd.Wait()
	kill.Stop()
	return !cmd.ProcessState.Exited()
}

// project makes a workspace for a session to change.
func (b bench) project() {
	must(b.t, os.MkdirAll(b.ws, 0o755))
	for i := range 40 {
		b.write(fmt.Sprintf("d%d/f%d", i%5, i), strings.Repeat(fmt.Sprint(i), 100+i*500))
	}
	b.write("file", "becomes a directory")
	b.write("big", strings.Repeat("x", 300_000))
}

// day is what a session does to it: everything that is brought in an order of its own.
func (b bench) day() {
	b.guest((*guest).day)
}

func (g *guest) day() {
	g.rename("d0", "renamed")
	g.write("renamed/f5", "changed")
	g.remove("d1")
	g.write("d1", "a file now")
	g.rename("file", "other")
	g.mkdir("file")
	g.rename("other", "file/x")
	g.patch("big", "y", 200_000)
	g.rename("d2/f2", "d3/moved")
	g.rename("d2/f7", "d2/f2")
	g.mkdir("new")
	for i := range 30 {
		g.write(fmt.Sprintf("new/%d", i), strings.Repeat("n", i*3000))
	}
	g.symlink("new", "link")
}

// TestKilled kills pulls and pushes at random moments and runs them again: the end is the same.
func TestKilled(t *testing.T) {
	kills := *kills
	if testing.Short() {
		kills = min(kills, 3)
	}
	dir, err := fastDir()
	must(t, err)
	defer os.RemoveAll(dir)
	random := rand.New(rand.NewPCG(1, 2))
	longest := map[string]time.Duration{}
	killed := map[string]int{}
	for round := 0; min(killed["push"], killed["pull"]) < kills; round++ {
		for _, pushed := range []bool{false, true} {
			b := bench{t, filepath.Join(dir, fmt.Sprint(round, pushed), "ws"), filepath.Join(dir, fmt.Sprint(round, pushed), "ws.db")}
			b.project()
			want := b.hostPortrait()
			run := func(what string, again func(...func(*Options)) (string, string)) {
				t.Helper()
				if longest[what] == 0 { // once to the end, to know how long it takes
					start := time.Now()
					b.killed(what, time.Minute)
					longest[what] = time.Since(start)
				} else if b.killed(what, time.Duration(random.Int64N(int64(longest[what])))) {
					killed[what]++
				}
				again(allow)
			}
			if pushed {
				run("push", b.push)
				b.guest(func(g *guest) {
					if got := g.portrait(); !maps.Equal(got, want) {
						t.Fatalf("after a push that was killed, the guest has %v", got)
					}
				})
			}
			b.day()
			b.guest(func(g *guest) { want = g.portrait() })
			run("pull", func(change ...func(*Options)) (string, string) { return b.pull(b.ws, change...) })
			if got := b.hostPortrait(); !maps.Equal(got, want) {
				t.Fatalf("after a pull that was killed, the host has\n%v\nwant\n%v", got, want)
			}
			b.guest(func(g *guest) {
				if got := g.portrait(); !maps.Equal(got, want) {
					t.Fatalf("after a pull that was killed, the guest has\n%v\nwant\n%v", got, want)
				}
			})
			if out, told := b.pull(b.ws); strings.Count(out, "\n") != 2 || told != "" {
				t.Fatalf("again:\n%s%s", out, told)
			}
			must(t, os.RemoveAll(filepath.Dir(b.ws)))
		}
	}
	t.Logf("killed in the middle: %d pushes, %d pulls", killed["push"], killed["pull"])
}

// patient ends after its error was asked for some times.
type patient struct {
	context.Context
	left int
}

func (p *patient) Err() error {
	if p.left--; p.left < 0 {
		return context.Canceled
	}
	return nil
}

// A push that ends while it stores a file leaves nothing that looks as if the guest had written it.
func TestPushEndsWithinAFile(t *testing.T) {
	for _, pushed := range []bool{false, true} {
		for left := range 24 {
			b := newBench(t)
			b.write("big", strings.Repeat("1", 3<<20))
			must(t, os.Link(b.path("big"), b.path("too")))
			if pushed {
				b.push()
			} else {
				b.guest(func(g *guest) { g.chmod("big", 0o600) })
				b.pull(b.ws)
			}
			b.write("big", strings.Repeat("2", 5<<20))
			want, ended := "", false
			if out, _, err := b.run(func(ctx context.Context, o Options) error { return Push(&patient{ctx, left}, o) }, b.ws); err != nil {
				want, ended = out, true
			}
			if _, told, err := b.run(Pull, b.ws); err != nil {
				t.Errorf("pushed %v, ended after %d: pull: %v %s", pushed, left, err, told)
			}
			if _, told, err := b.run(Push, b.ws); err != nil {
				t.Errorf("pushed %v, ended after %d: push: %v %s%s", pushed, left, err, want, told)
			}
			b.guest(func(g *guest) {
				if g.read("big") != strings.Repeat("2", 5<<20) {
					t.Errorf("pushed %v, ended after %d: the guest has %d bytes", pushed, left, len(g.read("big")))
				}
			})
			if !ended {
				break
			}
		}
	}
}
