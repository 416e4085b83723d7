package reconcile

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/riverlytech/art/sqlvfs/fsck"
)

// editor is one side, as random edits see it. What cannot be done is not done.
type editor interface {
	has() map[string]string // as portrait
	write(rel, content string)
	append(rel, content string)
	truncate(rel string)
	mkdir(rel string)
	symlink(target, rel string)
	link(from, to string)
	rename(from, to string)
	exchange(a, b string)
	remove(rel string)
	chmod(rel string, mode uint32)
}

// hostEditor is the host's side.
type hostEditor struct{ bench }

func (h hostEditor) has() map[string]string     { return h.hostPortrait() }
func (h hostEditor) truncate(rel string)        { must(h.t, os.Truncate(h.path(rel), 0)) }
func (h hostEditor) mkdir(rel string)           { must(h.t, os.Mkdir(h.path(rel), 0o755)) }
func (h hostEditor) symlink(target, rel string) { must(h.t, os.Symlink(target, h.path(rel))) }
func (h hostEditor) link(from, to string)       { must(h.t, os.Link(h.path(from), h.path(to))) }
func (h hostEditor) rename(from, to string)     { must(h.t, unix.Rename(h.path(from), h.path(to))) }
func (h hostEditor) exchange(a, b string) {
	must(h.t, unix.Renameat2(unix.AT_FDCWD, h.path(a), unix.AT_FDCWD, h.path(b), unix.RENAME_EXCHANGE))
}
func (h hostEditor) remove(rel string) { must(h.t, os.RemoveAll(h.path(rel))) }
func (h hostEditor) chmod(rel string, mode uint32) {
	must(h.t, os.Chmod(h.path(rel), os.FileMode(mode)))
}

func (h hostEditor) append(rel, content string) {
	f, err := os.OpenFile(h.path(rel), os.O_WRONLY|os.O_APPEND, 0)
	must(h.t, err)
	_, err = f.WriteString(content)
	must(h.t, err)
	must(h.t, f.Close())
}

// guestEditor is the guest's side.
type guestEditor struct{ *guest }

func (g guestEditor) has() map[string]string { return g.portrait() }

var (
	places = []string{"a", "b", "c", "d", "e", "d/a", "d/b", "d/s", "e/a", "d/s/x", "d/s/y", "e/s", "e/s/x"}
	few    = []string{"a", "b", "c", "d", "d/a", "d/b"} // so that what has several names is met again
)

// story is what has happened so far.
type story struct {
	links bool            // files get several names, and names are moved over others
	count int             // of words; each that is ever written is another one
	given map[string]bool // words that a side has overwritten or removed, having had them before it
	log   strings.Builder
}

func newStory(links bool) *story { return &story{links: links, given: map[string]bool{}} }

// edit makes one random change of a side.
func (s *story) edit(t *rapid.T, side editor, who string) {
	all := side.has()
	if did := s.change(t, side, who, all); did != "" {
		fmt.Fprintf(&s.log, "%s: %s\n", who, did)
	}
	now := words(side.has())
	for w := range words(all) {
		if now[w] == "" {
			s.given[w] = true
		}
	}
}

func (s *story) change(t *rapid.T, side editor, who string, all map[string]string) string {
	isDir := func(rel string) bool { return rel == "." || all[rel] == "dir" }
	places := places
	if s.links {
		places = few
	}
	at, to, swaps := rapid.SampledFrom(places).Draw(t, who+" at"), "", false
	is, there := all[at]
	if !isDir(path.Dir(at)) {
		return ""
	}
	isFile, free := strings.Contains(is, "file ") || strings.Contains(is, "executable "), false
	op := rapid.IntRange(0, 17).Draw(t, who+" does")
	if op >= 9 && op < 17 && there {
		to = rapid.SampledFrom(places).Draw(t, who+" to")
		_, taken := all[to]
		swaps = taken && op >= 15 && !strings.HasPrefix(at, to+"/") && !strings.HasPrefix(to, at+"/")
		free = !taken && at != to && isDir(path.Dir(to)) && !strings.HasPrefix(to, at+"/")
	}
	s.count++
	word := fmt.Sprintf("%s-%d;", who, s.count)
	switch {
	case op < 3 && !isDir(at):
		if strings.HasPrefix(is, "-> ") {
			side.remove(at)
		}
		side.write(at, word)
		return "write " + word + " to " + at
	case op < 4 && !there:
		side.mkdir(at)
		return "mkdir " + at
	case op < 5 && !there:
		side.symlink(word, at)
		return "ln -s " + word + " " + at
	case op < 6 && isFile:
		side.append(at, word)
		return "append " + word + " to " + at
	case op < 7 && isFile:
		side.truncate(at)
		return "truncate " + at
	case op < 9 && isFile:
		side.chmod(at, 0o755)
		return "chmod " + at
	case op < 13 && s.links && isFile && free:
		side.link(at, to)
		return "ln " + at + " " + to
	case op < 15 && free || s.links && to != "" && isFile && all[to] != "" && !isDir(to):
		side.rename(at, to)
		return "mv " + at + " " + to
	case swaps:
		side.exchange(at, to)
		return "exchange " + at + " and " + to
	case there:
		side.remove(at)
		return "rm -r " + at
	}
	return ""
}

var wordPattern = regexp.MustCompile(`(host|guest)-[0-9]+;`)

// words are what was written that is somewhere in a tree, and where; of several paths, the last one.
func words(all map[string]string) map[string]string {
	found := map[string]string{}
	for _, at := range slices.Sorted(maps.Keys(all)) {
		for _, w := range wordPattern.FindAllString(all[at], -1) {
			found[w] = at
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

// checks has rapid make a number of checks for each one that -rapid.checks asks for (100, if it is not
// given), and prints the seed. With -short that is always the same one, so that what fails is what was changed; other
// runs look further.
func checks(t *testing.T, of float64, check func(*rapid.T)) {
	set := func(name string, value any) {
		was := flag.Lookup(name).Value.String()
		must(t, flag.Set(name, fmt.Sprint(value)))
		t.Cleanup(func() { flag.Set(name, was) })
	}
	n, err := strconv.Atoi(flag.Lookup("rapid.checks").Value.String())
	must(t, err)
	set("rapid.checks", max(int(float64(n)*of), 1))
	if flag.Lookup("rapid.seed").Value.String() == "0" {
		seed := time.Now().UnixNano()
		if testing.Short() {
			seed = 1
		}
		set("rapid.seed", seed)
	}
	t.Logf("-rapid.seed=%s -rapid.checks=%s", flag.Lookup("rapid.seed").Value, flag.Lookup("rapid.checks").Value)
	rapid.Check(t, check)
}

// TestNoEditIsLost makes random edits on both sides, then pushes and pulls in any order, several
// times. What a side wrote, and the other did not overwrite or remove having had it, is still there
// afterwards; without conflicts, both sides are equal; a dry run tells what the run does.
func TestNoEditIsLost(t *testing.T) {
	// Each check is a story of three rounds: a quarter as many as elsewhere are enough by default.
	t.Run("single names", func(t *testing.T) { checks(t, 0.25, func(rt *rapid.T) { tell(t, rt, false) }) })
	// Here they are as many as are asked for.
	t.Run("hard links", func(t *testing.T) { checks(t, 1, func(rt *rapid.T) { tell(t, rt, true) }) })
}

// tell makes one story up.
func tell(t *testing.T, rt *rapid.T, links bool) {
	dir, err := fastDir()
	must(t, err)
	defer os.RemoveAll(dir)
	b := bench{t, filepath.Join(dir, "ws"), filepath.Join(dir, "ws.db")}
	must(t, os.Mkdir(b.ws, 0o755))
	s := newStory(links)
	for range 6 {
		s.edit(rt, hostEditor{b}, "host")
	}
	if rapid.Bool().Draw(rt, "push first") {
		b.push()
		s.log.WriteString("push\n")
	}
	for range 3 {
		guestDoes := rapid.IntRange(0, 6).Draw(rt, "guest edits")
		b.guest(func(g *guest) {
			for range guestDoes {
				s.edit(rt, guestEditor{g}, "guest")
			}
		})
		for range rapid.IntRange(0, 6).Draw(rt, "host edits") {
			s.edit(rt, hostEditor{b}, "host")
		}
		s.syncAndCompare(rt, b)
	}
	if found, err := fsck.Check(b.db); err != nil || len(found) > 0 {
		rt.Fatalf("the database is damaged: %v %v\n%s", found, err, &s.log)
	}
}

var inodeNumbers = regexp.MustCompile(`(, |\()(ino [0-9]+|new)\)`)

// both runs push or pull, having tried it, and returns what was told.
func (s *story) both(rt *rapid.T, b bench, what string) string {
	do := Push
	if what == "pull" {
		do = Pull
	}
	told := func(change ...func(*Options)) (string, string, error) {
		out, errs, err := b.run(do, b.ws, change...)
		if err != nil && !errors.Is(err, ErrConflicts) {
			rt.Fatalf("%s: %v\n%s%s%s", what, err, &s.log, out, errs)
		}
		return inodeNumbers.ReplaceAllString(out, ")"), errs, err
	}
	dryOut, dryErrs, dryErr := told(dryRun)
	out, errs, err := told()
	fmt.Fprintf(&s.log, "%s: %v\n%s%s", what, err, out, errs)
	if dryOut != out || dryErrs != errs || fmt.Sprint(dryErr) != fmt.Sprint(err) {
		rt.Fatalf("a dry run says otherwise: %v\n%s%s\n%s", dryErr, dryOut, dryErrs, &s.log)
	}
	return errs
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
	for _, what := range append(order, order[0]) {
		named = append(named, conflicts(s.both(rt, b, what))...)
	}
	host := b.hostPortrait()
	var inside map[string]string
	b.guest(func(g *guest) { inside = g.portrait() })
	say := func(format string, args ...any) {
		rt.Fatalf(format+"\nhost was  %v\nguest was %v\nhost is   %v\nguest is  %v\n%s", append(args, hostWas, guestWas, host, inside, &s.log)...)
	}
	now, there := words(host), words(inside)
	for _, was := range []map[string]string{hostWas, guestWas} {
		for w, at := range words(was) {
			if !s.given[w] && now[w] == "" && there[w] == "" {
				say("%q at %s is lost", w, at)
			}
		}
	}
	if len(named) == 0 && !maps.Equal(host, inside) {
		say("the sides differ")
	}
	s.giveTorn(b, host)
}

// giveTorn notes words that two files of the host have, because pull has torn their names apart: each side may
// remove one of them.
func (s *story) giveTorn(b bench, host map[string]string) {
	in := map[string]uint64{}
	for at, c := range host {
		for w := range words(map[string]string{at: c}) {
			ino := b.stat(at).Ino
			if other := in[w]; other != 0 && other != ino {
				s.given[w] = true
			}
			in[w] = ino
		}
	}
}
