package sync

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// editor is one side, as random edits see it. What cannot be done is not done.
type editor interface {
	has() map[string]string // as portrait
	write(rel, content string)
	mkdir(rel string)
	symlink(target, rel string)
	rename(from, to string)
	remove(rel string)
	chmod(rel string, mode uint32)
}

// hostEditor is the host's side.
type hostEditor struct{ bench }

func (h hostEditor) has() map[string]string     { return h.hostPortrait() }
func (h hostEditor) mkdir(rel string)           { must(h.t, os.Mkdir(h.path(rel), 0o755)) }
func (h hostEditor) symlink(target, rel string) { must(h.t, os.Symlink(target, h.path(rel))) }
func (h hostEditor) rename(from, to string)     { must(h.t, unix.Rename(h.path(from), h.path(to))) }
func (h hostEditor) remove(rel string)          { must(h.t, os.RemoveAll(h.path(rel))) }
func (h hostEditor) chmod(rel string, mode uint32) {
	must(h.t, os.Chmod(h.path(rel), os.FileMode(mode)))
}

// guestEditor is the guest's side.
type guestEditor struct{ *guest }

func (g guestEditor) has() map[string]string { return g.portrait() }

var places = []string{"a", "b", "c", "d", "e", "d/a", "d/b", "d/s", "e/a", "d/s/x", "d/s/y", "e/s", "e/s/x"}

// story is what has happened so far.
type story struct {
	count int             // of contents; each that is ever written is another one
	seen  map[string]bool // what a side wrote and the other has had before it, by content
}

// edit makes one random change of a side.
func (s *story) edit(t *rapid.T, side editor, who, other string) {
	all := side.has()
	for c := range contents(all, other) {
		s.seen[c] = true
	}
	isDir := func(rel string) bool { return rel == "." || all[rel] == "dir" }
	at := rapid.SampledFrom(places).Draw(t, who+" at")
	_, there := all[at]
	if !isDir(path.Dir(at)) {
		return
	}
	s.count++
	switch op := rapid.IntRange(0, 9).Draw(t, who+" does"); {
	case op < 3 && !isDir(at):
		if there && strings.HasPrefix(all[at], "-> ") {
			side.remove(at)
		}
		side.write(at, fmt.Sprintf("%s %d", who, s.count))
	case op < 4 && !there:
		side.mkdir(at)
	case op < 5 && !there:
		side.symlink(fmt.Sprintf("%s-%d", who, s.count), at)
	case op < 6 && there && strings.Contains(all[at], "file "):
		side.chmod(at, 0o755)
	case op < 8 && there:
		to := rapid.SampledFrom(places).Draw(t, who+" to")
		_, taken := all[to]
		if at != to && !taken && isDir(path.Dir(to)) && !strings.HasPrefix(to, at+"/") {
			side.rename(at, to)
		}
	case there:
		side.remove(at)
	}
}

// contents are the edits that are somewhere in a tree: whatever names its maker.
func contents(all map[string]string, who string) map[string]string {
	found := map[string]string{}
	for at, c := range all {
		if c = strings.TrimPrefix(strings.TrimPrefix(c, "executable "), "file "); strings.HasPrefix(strings.TrimPrefix(c, "-> "), who) {
			found[c] = at
		}
	}
	return found
}

// conflicts are the paths that a run named.
func conflicts(told string) []string {
	var list []string
	for line := range strings.Lines(told) {
		if rest, ok := strings.CutPrefix(line, "CONFLICT "); ok {
			at, _, _ := strings.Cut(rest, ": ")
			list = append(list, strings.TrimPrefix(strings.TrimPrefix(at, "/"), "ws/"))
		}
	}
	return list
}

// fastDir is a temporary directory where making things durable takes no time.
func fastDir() (string, error) {
	if st, err := os.Stat("/dev/shm"); err == nil && st.IsDir() {
		if dir, err := os.MkdirTemp("/dev/shm", "art-sync-test-"); err == nil {
			return dir, nil
		}
	}
	return os.MkdirTemp("", "art-sync-test-")
}

// TestNoEditIsLost makes random edits on both sides, then pushes and pulls in any order, several
// times. What a side wrote, and the other has never had before it, is still there afterwards; without
// conflicts, both sides are equal.
func TestNoEditIsLost(t *testing.T) {
	// Each check is a story of three rounds: a quarter as many as elsewhere are enough by default.
	checks := flag.Lookup("rapid.checks").Value.String()
	defer flag.Set("rapid.checks", checks)
	n, err := strconv.Atoi(checks)
	must(t, err)
	flag.Set("rapid.checks", strconv.Itoa(max(n/4, 1)))
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := fastDir()
		must(t, err)
		defer os.RemoveAll(dir)
		b := bench{t, filepath.Join(dir, "ws"), filepath.Join(dir, "ws.db")}
		must(t, os.Mkdir(b.ws, 0o755))
		s := &story{seen: map[string]bool{}}
		for range 6 {
			s.edit(rt, hostEditor{b}, "host", "guest")
		}
		if rapid.Bool().Draw(rt, "push first") {
			b.push()
		}
		for range 3 {
			guestDoes := rapid.IntRange(0, 6).Draw(rt, "guest edits")
			b.guest(func(g *guest) {
				for range guestDoes {
					s.edit(rt, guestEditor{g}, "guest", "host")
				}
			})
			for range rapid.IntRange(0, 6).Draw(rt, "host edits") {
				s.edit(rt, hostEditor{b}, "host", "guest")
			}
			s.syncAndCompare(rt, b)
		}
	})
}

// syncAndCompare pushes and pulls, and compares.
func (s *story) syncAndCompare(rt *rapid.T, b bench) {
	hostWas := b.hostPortrait()
	var guestWas map[string]string
	b.guest(func(g *guest) { guestWas = g.portrait() })
	var named []string
	order := []string{"push", "pull"}
	if rapid.Bool().Draw(rt, "pull first") {
		slices.Reverse(order)
	}
	var log strings.Builder
	for _, what := range append(order, order[0]) {
		do := Push
		if what == "pull" {
			do = Pull
		}
		out, told, err := b.run(do, b.ws)
		fmt.Fprintf(&log, "%s: %v\n%s%s", what, err, out, told)
		if err != nil && !errors.Is(err, ErrConflicts) {
			rt.Fatalf("%s", &log)
		}
		named = append(named, conflicts(told)...)
	}
	host := b.hostPortrait()
	var inside map[string]string
	b.guest(func(g *guest) { inside = g.portrait() })
	say := func(format string, args ...any) {
		rt.Fatalf(format+"\nhost was  %v\nguest was %v\nhost is   %v\nguest is  %v\n%s", append(args, hostWas, guestWas, host, inside, &log)...)
	}
	for c, at := range contents(hostWas, "host") {
		if !s.seen[c] && contents(host, "host")[c] == "" {
			say("the host's %q at %s is lost", c, at)
		}
	}
	for c, at := range contents(guestWas, "guest") {
		if !s.seen[c] && contents(inside, "guest")[c] == "" {
			say("the guest's %q at %s is lost", c, at)
		}
	}
	if len(named) == 0 && !maps.Equal(host, inside) {
		say("the sides differ")
	}
}
