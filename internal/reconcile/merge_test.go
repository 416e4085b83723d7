package reconcile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/riverlytech/art/internal/history"
	"github.com/riverlytech/art/internal/live"
	"github.com/riverlytech/art/internal/reconcile/report"
	"github.com/riverlytech/art/sqlvfs"
	"github.com/riverlytech/art/sqlvfs/fsck"
)

// fork makes a fork of the database.
func (b bench) fork() bench {
	b.t.Helper()
	f := bench{b.t, b.ws, filepath.Join(filepath.Dir(b.db), fmt.Sprintf("fork%d.db", len(b.forks())))}
	s, err := sqlvfs.Open(b.db, sqlvfs.Options{Create: true, Root: sqlvfs.Attr{Mode: 0o40755, Nlink: 2}})
	must(b.t, err)
	secret := sqlvfs.NewSecret()
	c, err := s.AddFork(f.db, secret, "")
	must(b.t, err)
	must(b.t, sqlvfs.MakeFork(b.db, f.db, secret, c))
	must(b.t, s.Close())
	return f
}

// know has the database know its workspace, as after a session: a pull then lets go of what the host has.
func (b bench) know() {
	b.t.Helper()
	d, err := os.Open(b.ws)
	must(b.t, err)
	defer d.Close()
	w, err := sqlvfs.WorkspaceAt(int(d.Fd()), b.ws, filepath.Base(b.ws))
	must(b.t, err)
	s, err := sqlvfs.Open(b.db, sqlvfs.Options{Create: true, Root: sqlvfs.Attr{Mode: 0o40755, Nlink: 2}})
	must(b.t, err)
	step(b.t, s, func(tx *sqlvfs.Tx) { tx.SetWorkspace(w) })
	must(b.t, s.Close())
}

func (b bench) forks() []string {
	list, err := filepath.Glob(filepath.Join(filepath.Dir(b.db), "fork*.db"))
	must(b.t, err)
	return list
}

func noSession(context.Context) (*os.File, error) { return nil, live.ErrNone }

func (b bench) historyOptions(out *bytes.Buffer) history.Options {
	return history.Options{Prog: "art", DB: b.db, Dir: b.ws, Session: noSession, Stdout: out}
}

// merge merges a fork.
func (b bench) merge(fork bench, change ...func(*history.MergeOptions)) (stdout, stderr string, err error) {
	b.t.Helper()
	var out, told bytes.Buffer
	err = b.mergeWith(context.Background(), fork, &out, &told, change...)
	return out.String(), told.String(), err
}

func (b bench) mergeWith(ctx context.Context, fork bench, stdout, stderr io.Writer, change ...func(*history.MergeOptions)) error {
	later()
	o := history.MergeOptions{
		Options: history.Options{Prog: "art", DB: b.db, Dir: b.ws, Session: noSession, Stdout: stdout},
		Fork:    fork.db, Other: func(string) func(context.Context) (*os.File, error) { return noSession },
		Report: report.Options{Stdout: stdout, Stderr: stderr},
	}
	for _, c := range change {
		c(&o)
	}
	return history.Merge(ctx, o)
}

func dryMerge(o *history.MergeOptions)   { o.DryRun = true }
func forceMerge(o *history.MergeOptions) { o.Force = true }
func ourMerge(o *history.MergeOptions)   { o.Ours = true }

func (b bench) portrait() (all map[string]string) {
	b.t.Helper()
	b.guest(func(g *guest) { all = g.portrait() })
	return all
}

// look is portrait with the numbers of inodes.
func (b bench) look() (all map[string]string, numbers map[string]sqlvfs.Ino) {
	b.t.Helper()
	numbers = map[string]sqlvfs.Ino{}
	b.guest(func(g *guest) {
		all = g.portrait()
		for at := range all {
			e, err := g.find(at)
			must(b.t, err)
			numbers[at] = sqlvfs.Ino(e.Ino)
		}
	})
	return all, numbers
}

// TestNoEditIsLostByMerges makes random edits in a database and in a fork of it, and merges, several times. What either wrote, and none has
// overwritten or removed having had it, is there afterwards: in the database, but for conflicts, of which the fork keeps its own. A merge
// is taken back by undo, and then does the same again.
func TestNoEditIsLostByMerges(t *testing.T) {
	t.Run("single names", func(t *testing.T) { checks(t, 0.08, func(rt *rapid.T) { tellMerges(t, rt, false, false) }) })
	t.Run("hard links", func(t *testing.T) { checks(t, 0.12, func(rt *rapid.T) { tellMerges(t, rt, true, false) }) })
	t.Run("after pulls", func(t *testing.T) { checks(t, 0.2, func(rt *rapid.T) { tellMerges(t, rt, false, true) }) })
}

func tellMerges(t *testing.T, rt *rapid.T, links, pulls bool) {
	dir, err := fastDir()
	must(t, err)
	defer os.RemoveAll(dir)
	b := bench{t, filepath.Join(dir, "ws"), filepath.Join(dir, "ws.db")}
	must(t, os.Mkdir(b.ws, 0o755))
	s := newStory(links)
	for range rapid.IntRange(0, 5).Draw(rt, "on the host") {
		s.edit(rt, hostEditor{b}, "host")
	}
	edit := func(of bench, who, how string, most int) {
		n := rapid.IntRange(0, most).Draw(rt, how)
		of.guest(func(g *guest) {
			for range n {
				s.edit(rt, guestEditor{g}, who)
			}
		})
	}
	edit(b, "guest", "before", 6)
	if rapid.Bool().Draw(rt, "in a fork") {
		b = b.fork()
		edit(b, "guest", "in the first fork", 3)
	}
	if pulls {
		b.know()
	}
	fork := b.fork()
	s.log.WriteString("fork\n")
	for range 3 {
		edit(b, "guest", "in the parent", 5)
		edit(fork, "host", "in the fork", 5)
		for range rapid.IntRange(0, 3).Draw(rt, "pulls") {
			if pulls {
				s.pullOne(rt, b, fork)
				edit(b, "guest", "in the parent, after a pull", 2)
				edit(fork, "host", "in the fork, after a pull", 2)
			}
		}
		s.mergeAndCompare(rt, b, fork, pulls)
	}
	for _, db := range []string{b.db, fork.db} {
		if found, err := fsck.Check(db); err != nil || len(found) > 0 {
			rt.Fatalf("%s is damaged: %v %v\n%s", db, found, err, &s.log)
		}
	}
}

// pullOne pulls from the parent or from the fork, all or a part. What it has pulled stays in both.
func (s *story) pullOne(rt *rapid.T, b, fork bench) {
	of, who, other := b, "parent", fork
	if rapid.Bool().Draw(rt, "from the fork") {
		of, who, other = fork, "fork", b
	}
	var only []string
	if rapid.Bool().Draw(rt, "a part") {
		only = []string{rapid.SampledFrom(places).Draw(rt, "of")}
	}
	was, theirs := of.portrait(), other.portrait()
	_, told, err := of.run(Pull, of.ws, func(o *Options) { o.Paths = only })
	fmt.Fprintf(&s.log, "pull from the %s: %v %v\n%s", who, only, err, told)
	for _, db := range []string{of.db, other.db} {
		if found, err := fsck.Check(db); err != nil || len(found) > 0 {
			rt.Fatalf("%s is damaged: %v %v\n%s", db, found, err, &s.log)
		}
	}
	// What the host alone has, such as a mode, it takes over.
	is := of.portrait()
	if !maps.Equal(words(was), words(is)) && err == nil {
		rt.Fatalf("the %s was\n%v\nand is\n%v\n%s", who, was, is, &s.log)
	}
	// What the other has not changed itself goes with what the host has: it may be in the one that has pulled alone then.
	now, host, still := words(other.portrait()), words(of.hostPortrait()), words(is)
	for w, at := range words(theirs) {
		if now[w] == "" && host[w] == "" && still[w] == "" && !s.given[w] {
			rt.Fatalf("by a pull from the %s, %q at %s is lost in the other\n%s", who, w, at, &s.log)
		}
	}
}

func (s *story) mergeAndCompare(rt *rapid.T, b, fork bench, pulled bool) {
	was, numbersWere := b.look()
	theirs := fork.portrait()
	var is map[string]string
	say := func(format string, args ...any) {
		rt.Fatalf(format+"\nfork    %v\nwas     %v\nis      %v\n%s", append(args, theirs, was, is, &s.log)...)
	}
	run := func(change ...func(*history.MergeOptions)) (string, string) {
		out, told, err := b.merge(fork, change...)
		if err != nil && !errors.Is(err, ErrConflicts) {
			say("merge: %v", err)
		}
		return out, told
	}
	dry, dryTold := run(dryMerge)
	out, told := run()
	fmt.Fprintf(&s.log, "merge: %s%s", out, told)
	if dry != out || dryTold != told {
		say("a dry run says otherwise: %s%s", dry, dryTold)
	}
	var numbers map[string]sqlvfs.Ino
	is, numbers = b.look()
	named := conflicts(told)
	now, there := words(is), words(theirs)
	for w, at := range words(was) {
		if !s.given[w] && now[w] == "" && (there[w] == "" || len(named) == 0) { // the fork may have moved it to where both have something
			say("%q at %s is lost", w, at)
		}
	}
	for w, at := range there {
		if !s.given[w] && now[w] == "" && len(named) == 0 {
			say("%q at %s has not come", w, at)
		}
	}
	if after := fork.portrait(); !maps.Equal(after, theirs) {
		say("the fork has changed: %v", after)
	}
	for at, n := range numbers {
		if m := numbersWere[at]; !pulled && m != 0 && m != n && was[at] == is[at] && len(words(map[string]string{at: is[at]})) > 0 && !strings.HasPrefix(is[at], "-> ") {
			say("%s had the number %d, and has %d", at, m, n)
		}
	}
	if !maps.Equal(was, is) {
		var buf bytes.Buffer
		must(b.t, history.Undo(context.Background(), b.historyOptions(&buf)))
		if back := b.portrait(); !maps.Equal(back, was) {
			say("undone, it is %v", back)
		}
		if again, againTold := run(dryMerge); again != out || againTold != told {
			say("undone, a merge says %s%s", again, againTold)
		}
		must(b.t, history.Redo(context.Background(), b.historyOptions(&buf)))
	}
	again, againTold := run(dryMerge)
	if still := len(conflicts(againTold)); again != "" || still > len(named) || still == 0 && len(named) > 0 {
		say("a second merge says %s%s", again, againTold)
	}
}

// TestMergeIsTheFork makes random edits in a fork alone, and merges: the parent then is what the fork is, with the same names of each file.
func TestMergeIsTheFork(t *testing.T) {
	checks(t, 0.2, func(rt *rapid.T) {
		dir, err := fastDir()
		must(t, err)
		defer os.RemoveAll(dir)
		b := bench{t, filepath.Join(dir, "ws"), filepath.Join(dir, "ws.db")}
		must(t, os.Mkdir(b.ws, 0o755))
		s := newStory(true)
		for range rapid.IntRange(0, 6).Draw(rt, "on the host") {
			s.edit(rt, hostEditor{b}, "host")
		}
		edit := func(of bench, how string, most int) {
			n := rapid.IntRange(0, most).Draw(rt, how)
			of.guest(func(g *guest) {
				for range n {
					s.edit(rt, guestEditor{g}, "guest")
				}
			})
		}
		edit(b, "before", 4)
		fork := b.fork()
		s.log.WriteString("fork\n")
		for range 2 {
			edit(fork, "in the fork", 6)
			out, told, err := b.merge(fork)
			if err != nil {
				rt.Fatalf("merge: %v\n%s%s%s", err, &s.log, out, told)
			}
			s.log.WriteString("merge\n" + out)
			want, is := fork.linked(), b.linked()
			if !maps.Equal(want, is) {
				rt.Fatalf("the fork is\n%v\nand the parent\n%v\n%s", want, is, &s.log)
			}
			if found, err := fsck.Check(b.db); err != nil || len(found) > 0 {
				rt.Fatalf("it is damaged: %v %v\n%s", found, err, &s.log)
			}
		}
	})
}

// linked is portrait, with the least name and the number of names of each file.
func (b bench) linked() map[string]string {
	b.t.Helper()
	all, numbers := b.look()
	least := map[sqlvfs.Ino]string{}
	for _, at := range slices.Sorted(maps.Keys(all)) {
		if least[numbers[at]] == "" {
			least[numbers[at]] = at
		}
	}
	b.guest(func(g *guest) {
		for at, is := range all {
			if a := g.attr(at); !a.IsDir() {
				all[at] = fmt.Sprintf("%s (%s, %d)", is, least[numbers[at]], a.Nlink)
			}
		}
	})
	return all
}
