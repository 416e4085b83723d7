package reconcile

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	livewriter "github.com/riverlytech/art/internal/live/writer"
	"github.com/riverlytech/art/libexec"
	"github.com/riverlytech/art/sqlvfs"
	"github.com/riverlytech/art/sqlvfs/lock"
)

// family returns a database and two forks, of which the first has a change that is to be pulled.
func family(t *testing.T) (parent, fork, other bench) {
	parent = newBench(t)
	parent.write("a", "old")
	parent.write("b", "old")
	parent.guest(func(g *guest) { g.write("of the parent", "") })
	fork, other = parent.fork(), parent.fork()
	fork.guest(func(g *guest) {
		g.write("a", "new")
		g.write("b", "new")
	})
	return parent, fork, other
}

// pullInto pulls, with do in between: the host is changed by then, and the pull has not ended.
func (b bench) pullInto(do func(), change ...func(*Options)) (told string) {
	b.t.Helper()
	done := false
	printed := slow(func() {
		if st, err := os.ReadFile(b.path("a")); done || err != nil || string(st) != "new" {
			return
		}
		done = true
		do()
	})
	_, told = b.pull(b.ws, append(change, func(o *Options) { o.Stdout, o.StdoutTerminal = printed, true })...)
	if !done {
		b.t.Error("nothing was printed when the host had been changed")
	}
	return told
}

// While a pull changes the host, the other databases of its family get no checkpoint, which would show a part of that.
func TestPullHoldsRelatives(t *testing.T) {
	parent, fork, other := family(t)
	waited := make(chan error, 1)
	told := fork.pullInto(func() {
		for _, b := range []bench{parent, other} {
			if _, held, err := sqlvfs.Writer(b.db); !held || err != nil {
				t.Errorf("%s could be written: %v", b.db, err)
			}
		}
		waits := make(chan bool)
		go func() { // as long as the pull takes, it is not refused
			s, err := sqlvfs.Open(parent.db, sqlvfs.Options{Waiting: func(int) { close(waits) }})
			if err == nil {
				err = s.Close()
			}
			waited <- err
		}()
		<-waits
		time.Sleep(2 * lock.Grace)
	})
	if told != "" {
		t.Errorf("the pull says %s", told)
	}
	must(t, <-waited)
	for _, b := range []bench{parent, fork, other} {
		b.checkAll()
		b.guest(func(g *guest) {
			if c, err := g.store.Checkpoint(sqlvfs.ByUser, "after"); err != nil || c.Label != "after" {
				t.Errorf("after the pull: %v", err)
			}
		})
	}
}

// Two pulls from one family at once, each of which would hold what the other needs, go one after the other.
func TestPullsFromOneFamilyWait(t *testing.T) {
	parent, fork, other := family(t)
	other.guest(func(g *guest) {
		g.write("b", "mine")
		g.write("c", "new")
	})
	other.belongs(other.ws)
	type end struct {
		told string
		err  error
	}
	ended, waits := make(chan end, 1), make(chan bool)
	told := fork.pullInto(func() {
		go func() {
			_, told, err := other.run(Pull, other.ws, func(o *Options) {
				o.Stderr = &listener{o.Stderr, "waiting for another pull from " + other.db, func() { close(waits) }}
			})
			ended <- end{told, err}
		}()
		select {
		case <-waits:
		case e := <-ended:
			t.Errorf("the other did not wait: %s %v", e.told, e.err)
			ended <- e
		}
	})
	if told != "" {
		t.Errorf("the pull says %s", told)
	}
	if e := <-ended; !errors.Is(e.err, ErrConflicts) || !strings.Contains(e.told, "b: ") || strings.Contains(e.told, "in use") {
		t.Errorf("the other says %s %v", e.told, e.err)
	}
	for path, want := range map[string]string{"a": "new", "b": "new", "c": "new"} {
		if got, err := os.ReadFile(parent.path(path)); err != nil || string(got) != want {
			t.Errorf("%s holds %q %v", path, got, err)
		}
	}
	for _, b := range []bench{parent, fork, other} {
		b.checkAll()
	}
}

// Who is waiting so can be interrupted.
func TestPullThatWaitsEnds(t *testing.T) {
	_, fork, other := family(t)
	other.belongs(other.ws)
	fork.pullInto(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, told, err := other.run(func(_ context.Context, o Options) error { return Pull(ctx, o) }, other.ws)
		if !errors.Is(err, errInterrupted) || told != "" {
			t.Errorf("the other says %s %v", told, err)
		}
	})
}

// sessionOf has a session answer for a database.
func sessionOf(b bench, w *livewriter.Writer) func(*Options) {
	return func(o *Options) {
		o.SessionOf = func(db string) func(context.Context) (*os.File, error) {
			if db != b.db {
				return noSession
			}
			return func(context.Context) (*os.File, error) {
				ours, theirs, err := libexec.Socketpair()
				if err == nil {
					go w.Serve(theirs, nil)
				}
				return ours, err
			}
		}
	}
}

// So it is in a session of one of them, which goes on.
func TestPullHoldsRelativesInSession(t *testing.T) {
	parent, fork, _ := family(t)
	parent.guest(func(g *guest) {
		checkpoint := func() error {
			_, err := g.store.Checkpoint(sqlvfs.ByUser, "")
			return err
		}
		w := livewriter.New(g.store, g.overlay)
		told := fork.pullInto(func() {
			g.write("meanwhile", "")
			if err := checkpoint(); !errors.Is(err, sqlvfs.ErrPulling) {
				t.Errorf("during the pull: %v", err)
			}
		}, sessionOf(parent, w))
		if told != "" {
			t.Errorf("the pull says %s", told)
		}
		err := checkpoint()
		for range 500 { // the session hears of the end on its own
			if !errors.Is(err, sqlvfs.ErrPulling) {
				break
			}
			time.Sleep(10 * time.Millisecond)
			err = checkpoint()
		}
		if err != nil {
			t.Errorf("after the pull: %v", err)
		}
	})
	parent.checkAll()
}

// Where that session ends meanwhile, the pull goes on, and names what may show a part of it.
func TestPullHoldsRelativesUntilSessionEnds(t *testing.T) {
	for name, again := range map[string]bool{"no checkpoint since": false, "a checkpoint since": true} {
		t.Run(name, func(t *testing.T) {
			parent, fork, _ := family(t)
			s, err := sqlvfs.Open(parent.db, sqlvfs.Options{})
			must(t, err)
			w := livewriter.New(s)
			told := fork.pullInto(func() {
				w.End()
				must(t, s.Close())
				if again {
					parent.guest(func(g *guest) {
						g.write("again", "")
						_, err := g.store.Checkpoint(sqlvfs.ByUser, "")
						must(t, err)
					})
				}
			}, sessionOf(parent, w))
			if says := strings.Contains(told, "its session has ended meanwhile: its checkpoints after 1 show"); says != again {
				t.Errorf("the pull says %q", told)
			}
			wantContent(t, parent.path("b"), "new")
		})
	}
}
