package reconcile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/history"
	"github.com/riverlytech/art/sqlvfs"
	"github.com/riverlytech/art/sqlvfs/fsck"
)

// atPoint says where the test binary is killed that merges.
const atPoint = "ART_SYNC_TEST_POINT"

// suicidal ends the process when its error was asked for some times.
type suicidal struct {
	context.Context
	left int
}

func (s *suicidal) Err() error {
	if s.left--; s.left < 0 {
		die()
	}
	return nil
}

func die() {
	unix.Kill(os.Getpid(), unix.SIGKILL)
	time.Sleep(time.Minute)
}

// A merge that ends before it is committed, in whatever way, leaves the next one what it needs: the checkpoint up to which the fork was
// merged stays.
func TestMergeGoesOnAfterOneThatEnded(t *testing.T) {
	for _, how := range []string{"error 0", "error 2", "error 4", "open", "0", "1", "5", "told"} {
		t.Run(how, func(t *testing.T) {
			b := newBench(t)
			b.guest(func(g *guest) { g.mkdir("d"); g.write("d/a", "1"); g.write("b", "1") })
			fork := b.fork()
			fork.guest(func(g *guest) { g.write("d/a", "2") })
			if _, _, err := b.merge(fork); err != nil {
				t.Fatal(err)
			}
			b.guest(func(g *guest) { g.write("mine", "1") })
			fork.guest(func(g *guest) { g.write("d/a", "3"); g.write("new", "1") })
			was := b.portrait()
			for range 3 { // each time what is not needed any more may go
				if n, ok := strings.CutPrefix(how, "error "); ok {
					left, err := strconv.Atoi(n)
					must(t, err)
					if err := b.mergeWith(&patient{context.Background(), left}, fork, io.Discard, io.Discard); err == nil {
						t.Fatal("it has not ended")
					}
				} else {
					t.Setenv(asFork, fork.db)
					t.Setenv(atPoint, how)
					if !b.killed("merge", time.Minute) {
						t.Fatal("it was not killed")
					}
				}
				var out bytes.Buffer
				fork.guest(func(g *guest) { g.append("new", "1") })
				must(t, history.Checkpoint(context.Background(), "", fork.historyOptions(&out)))
				fork.guest(func(g *guest) { g.append("new", "1") })
				must(t, history.Checkpoint(context.Background(), "", fork.historyOptions(&out)))
				must(t, history.Thin(sqlvfs.Keep{Checkpoints: 1}, true, fork.historyOptions(&out)))
				if strings.Contains(out.String(), "fork") {
					t.Errorf("what was merged is called a fork: %s", out.String())
				}
			}
			if is := b.portrait(); how != "told" && !maps.Equal(is, was) {
				t.Errorf("it is %v", is)
			}
			if _, told, err := b.merge(fork); err != nil {
				t.Fatalf("%v\n%s", err, told)
			}
			is := b.portrait()
			if want := map[string]string{"d": "dir", "d/a": "file 3", "b": "file 1", "mine": "file 1", "new": "file 1111111"}; !maps.Equal(is, want) {
				t.Errorf("it is %v", is)
			}
			for _, db := range []string{b.db, fork.db} {
				if found, err := fsck.Check(db); err != nil || len(found) > 0 {
					t.Errorf("%s is damaged: %v %v", db, found, err)
				}
			}
		})
	}
}

// What was merged before the last merge is known as well: an undo of that one leads back to it.
func TestMergeUndoneAfterThinning(t *testing.T) {
	b := newBench(t)
	b.guest(func(g *guest) { g.write("a", "1") })
	fork := b.fork()
	var out bytes.Buffer
	for i := range 2 {
		fork.guest(func(g *guest) { g.write("a", fmt.Sprint(i+2)) })
		if _, _, err := b.merge(fork); err != nil {
			t.Fatal(err)
		}
	}
	must(t, history.Undo(context.Background(), b.historyOptions(&out)))
	fork.guest(func(g *guest) { g.write("a", "4") })
	must(t, history.Thin(sqlvfs.Keep{Checkpoints: 1}, false, fork.historyOptions(&out)))
	if _, _, err := b.merge(fork); err != nil {
		t.Fatal(err)
	}
	if is := b.portrait(); is["a"] != "file 4" {
		t.Errorf("it is %v", is)
	}
}

// twice gives each of some directories, one in the other, a second name, which leads to the same.
const twice = "INSERT INTO fs_dentry (name, parent_ino, ino) SELECT 'x'||name, parent_ino, ino FROM fs_dentry WHERE name LIKE 'd%' AND name<>'d0'"

// Directories with several names, which only another program can have written, are looked at once.
func TestMergeOfDirectoriesWithSeveralNames(t *testing.T) {
	deep := func(g *guest) (at string) {
		at = "d0"
		g.mkdir(at)
		for i := range 40 {
			at += fmt.Sprintf("/d%d", i+1)
			g.mkdir(at)
		}
		g.write(at+"/file", "1")
		return at + "/file"
	}
	for name, do := range map[string]func(b bench, at string) bench{
		"removed in the fork": func(b bench, at string) bench {
			b.sql(twice)
			fork := b.fork()
			b.guest(func(g *guest) { g.write(at, "1") })
			fork.guest(func(g *guest) { g.write("other", "1") })
			fork.sql("INSERT INTO art_hidden SELECT 'fs_dentry', parent_ino, 'd0' FROM fs_dentry WHERE name='other'")
			return fork
		},
		"changed in the fork": func(b bench, at string) bench {
			b.sql(twice)
			fork := b.fork()
			fork.guest(func(g *guest) { g.write(at, "2") })
			return fork
		},
		"of the fork alone": func(b bench, at string) bench {
			fork := b.fork()
			fork.guest(func(g *guest) {
				g.write(at, "2")
				g.rename("d0", "e0")
				g.mkdir("d0")
				g.rename("e0", "d0/e0")
				deepIn(g, "d0/f")
			})
			fork.sql(twice)
			return fork
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			var at string
			b.guest(func(g *guest) { at = deep(g) })
			fork := do(b, at)
			done := make(chan error, 1)
			go func() {
				_, _, err := b.merge(fork)
				done <- err
			}()
			select {
			case err := <-done:
				t.Log(err)
			case <-time.After(20 * time.Second):
				t.Fatal("it takes too long")
			}
		})
	}
}

func deepIn(g *guest, at string) {
	g.mkdir(at)
	for i := range 40 {
		at += fmt.Sprintf("/d%d", i+1)
		g.mkdir(at)
	}
}

// Of a path that no program can name, as a chain of renames makes it, only that is left.
func TestMergeOfLongPaths(t *testing.T) {
	b := newBench(t)
	name := strings.Repeat("n", 250)
	b.guest(func(g *guest) { g.write("a", "1"); g.mkdir("moved"); g.write("moved/x", "1"); g.write("alone", "1") })
	fork := b.fork()
	fork.guest(func(g *guest) {
		g.write("a", "2")
		at := name
		g.mkdir(at)
		for range 15 {
			at += "/" + name
			g.mkdir(at)
		}
		g.write(at+"/file", "1")
		g.mkdir("top")
		g.write("top/own", "1")
		g.rename("moved", at+"/moved")
		g.rename("alone", at+"/alone")
		g.mkdir("long")
		g.rename(name, "long/"+name)
		g.rename("long", "top/"+name)
	})
	out, told, err := b.merge(fork)
	if !errors.Is(err, ErrConflicts) {
		t.Fatalf("%v\n%.200s%.200s", err, out, told)
	}
	named := conflicts(told)
	slices.SortFunc(named, func(a, b string) int { return len(a) - len(b) })
	if len(named) != 3 || named[0] != "alone" || named[1] != "moved" || len(named[2]) < unix.PathMax || !strings.Contains(told, "no program can name it") {
		t.Errorf("in conflict: %.200q", named)
	}
	is := b.portrait()
	if is["a"] != "file 2" || is["top/own"] != "file 1" || is["moved/x"] != "file 1" || is["alone"] != "file 1" {
		t.Errorf("it is %.300v", is)
	}
	if _, told, err := b.merge(fork); !errors.Is(err, ErrConflicts) || len(conflicts(told)) == 0 {
		t.Errorf("again: %v %.300s", err, told)
	}
	if found, err := fsck.Check(b.db); err != nil || len(found) > 0 {
		t.Errorf("it is damaged: %v %v", found, err)
	}
}
