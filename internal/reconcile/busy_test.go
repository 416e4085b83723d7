package reconcile

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var busyRounds = flag.Int("busy-rounds", 1000, "how many rounds of push and pull TestBusySession makes, 10 in the short form")

// busy is what a program does that never rests. In every state that there ever is:
//   - b/K has the version of a/K, or the one before;
//   - log counts up to a step;
//   - there is one directory cur-N, and in it are the files that the host has made there;
//   - the files in some are of consecutive steps;
//   - large is the host's, but for its middle, which names a step;
//   - the files in names are one file, which the guest counts in under each name in turn.
//
// Both sides write into the files in words, each its own, and never take one of the other's away.
type busy struct {
	*guest
	step atomic.Int64
	end  atomic.Bool

	mu    sync.Mutex
	words []string // GUARDED_BY(mu)
}

const (
	largeSize = 300_000
	logSteps  = 5000 // after so many the log begins anew
	wordSteps = 300  // from one word of the guest to the next
	wordFiles = 3
)

var linkNames = []string{"names/a", "names/b", "names/in/c"}

func (b *busy) run() {
	for i := int64(1); !b.end.Load(); i++ {
		pair := fmt.Sprint(i % 3)
		b.replace("a/"+pair, fmt.Sprint(i))
		b.replace("b/"+pair, fmt.Sprint(i))
		b.rename(fmt.Sprintf("cur-%d", i-1), fmt.Sprintf("cur-%d", i))
		if line := fmt.Sprintf("%d\n", i); i%logSteps == 0 {
			b.replace("log", line)
		} else {
			b.append("log", line)
		}
		b.write(fmt.Sprintf("some/%d", i), strings.Repeat("s", int(i%5)*1000))
		if i >= 10 {
			b.remove(fmt.Sprintf("some/%d", i-10))
		}
		b.patch("large", fmt.Sprintf("%020d", i), largeSize/2)
		b.append(linkNames[i%int64(len(linkNames))], fmt.Sprintf("%d\n", i))
		if i%logSteps == 0 {
			b.truncate(linkNames[0])
		}
		if i%wordSteps == 0 {
			b.say(i)
		}
		b.step.Store(i)
		b.forget()
	}
}

// say writes a word, until it is there: a push may have put another file in the place of the one that it went into.
func (b *busy) say(step int64) {
	rel, word := fmt.Sprint("words/", step/wordSteps%wordFiles), fmt.Sprintf("guest-%d", step)
	for !slices.Contains(strings.Fields(b.read(rel)), word) {
		b.append(rel, word+"\n")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.words = append(b.words, word)
}

// verify proves that the host has a state that was, not before a step.
func (b *busy) verify(at bench, since int64) {
	t := b.t
	t.Helper()
	number := func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			t.Fatalf("%q is no step", s)
		}
		return n
	}
	read := func(rel string) string {
		data, err := os.ReadFile(at.path(rel))
		must(t, err)
		return string(data)
	}
	for k := range 3 {
		va, vb := number(read(fmt.Sprint("a/", k))), number(read(fmt.Sprint("b/", k)))
		if va != vb && va != vb+3 && !(vb == 0 && va <= 3) {
			t.Fatalf("a has version %d, and b %d", va, vb)
		}
	}
	lines, last := strings.Fields(read("log")), int64(0)
	for i, line := range lines {
		if n := number(line); i > 0 && n != last+1 || i == 0 && n != 1 && n%logSteps != 0 {
			t.Fatalf("line %d of the log is %s, behind %d", i+1, line, last)
		}
		last = number(line)
	}
	if last < since {
		t.Fatalf("the log ends with %d after step %d", last, since)
	}
	dirs, err := filepath.Glob(at.path("cur-*"))
	must(t, err)
	if len(dirs) != 1 {
		t.Fatalf("there are the directories %q", dirs)
	}
	for i := range 20 {
		wantContent(t, filepath.Join(dirs[0], fmt.Sprint(i)), fmt.Sprint("host ", i))
	}
	entries, err := os.ReadDir(at.path("some"))
	must(t, err)
	steps := []int64{}
	for _, e := range entries {
		steps = append(steps, number(e.Name()))
	}
	slices.Sort(steps)
	if n := len(steps); n > 11 || n > 0 && steps[n-1]-steps[0] != int64(n-1) {
		t.Fatalf("there are files of the steps %v", steps)
	}
	one, err := os.Stat(at.path(linkNames[0]))
	must(t, err)
	for _, name := range linkNames {
		st, err := os.Stat(at.path(name))
		must(t, err)
		if !os.SameFile(one, st) {
			t.Fatalf("%s is another file than %s", name, linkNames[0])
		}
	}
	last = 0
	for i, line := range strings.Fields(read(linkNames[0])) {
		n := number(line)
		if i > 0 && n != last+1 {
			t.Fatalf("line %d of the file with several names is %d, behind %d", i+1, n, last)
		}
		last = n
	}
	large := read("large")
	if len(large) != largeSize || strings.Trim(large[:largeSize/2]+large[largeSize/2+20:], "x") != "" {
		t.Fatalf("large has %d bytes, or other than were there", len(large))
	}
	if middle := large[largeSize/2 : largeSize/2+20]; middle != strings.Repeat("x", 20) {
		number(middle)
	}
}

// forBusySession makes the workspace that it works in.
func (b bench) forBusySession() {
	b.t.Helper()
	for _, dir := range []string{"a", "b"} {
		for k := range 3 {
			b.write(fmt.Sprintf("%s/%d", dir, k), "0")
		}
	}
	for k := range wordFiles {
		b.write(fmt.Sprint("words/", k), "")
	}
	b.write("log", "")
	b.write(linkNames[0], "")
	b.write("names/in/other", "")
	for _, name := range linkNames[1:] {
		must(b.t, os.Link(b.path(linkNames[0]), b.path(name)))
	}
	b.write("some/0", "")
	for i := range 20 {
		b.write(fmt.Sprintf("cur-0/%d", i), fmt.Sprint("host ", i))
	}
	b.write("large", strings.Repeat("x", largeSize))
}

// hostSays writes a word on the host's side.
func (b bench) hostSays(round int) string {
	b.t.Helper()
	word := fmt.Sprintf("host-%d", round)
	f, err := os.OpenFile(b.path(fmt.Sprint("words/", round%wordFiles)), os.O_WRONLY|os.O_APPEND, 0)
	must(b.t, err)
	_, err = f.WriteString(word + "\n")
	must(b.t, errors.Join(err, f.Close()))
	return word
}

// collect notes the words that the host has in some files.
func (b bench) collect(all map[string]bool, pattern string, each func(string) error) {
	b.t.Helper()
	files, err := filepath.Glob(b.path(pattern))
	must(b.t, err)
	for _, f := range files {
		data, err := os.ReadFile(f)
		must(b.t, err)
		for _, word := range strings.Fields(string(data)) {
			all[word] = true
		}
		must(b.t, each(f))
	}
}

// However fast a session writes, each push is seen at once, each pull brings a state that was, and nothing is lost on either
// side.
func TestBusySession(t *testing.T) {
	rounds := *busyRounds
	if testing.Short() {
		rounds = min(rounds, 10)
	}
	b := newBench(t)
	b.forBusySession()
	b.guest(func(g *guest) {
		// What the guest has rows of.
		g.mkdir("pushed")
		for k := range 5 {
			g.write(fmt.Sprint("pushed/", k), "guest")
		}
		beside, busy := g.serves(), &busy{guest: &guest{t: t, store: g.store, base: g.base, overlay: g.overlay, forgets: true}}
		b.pull(b.ws, beside)
		done := make(chan struct{})
		go func() {
			defer close(done)
			busy.run()
		}()
		stop := func() {
			busy.end.Store(true)
			<-done
		}
		defer stop()
		var said []string
		all := map[string]bool{}
		conflicts, slowest := 0, time.Duration(0)
		for round := range rounds {
			b.write(fmt.Sprint("host/", round%10), fmt.Sprint("the host's ", round))
			pushed := fmt.Sprint("pushed/", round%5)
			switch {
			case round%7 == 6:
				must(t, os.Remove(b.path(pushed)))
			default:
				b.replaceFile(pushed, fmt.Sprint("pushed ", round))
			}
			said = append(said, b.hostSays(round))
			begun := time.Now()
			if _, told, err := b.run(Push, b.ws, beside); err != nil && !errors.Is(err, ErrConflicts) {
				t.Fatalf("push: %v\n%s", err, told)
			}
			slowest = max(slowest, time.Since(begun))
			if _, err := g.find(pushed); round%7 == 6 && err == nil {
				t.Fatalf("the guest has %s", pushed)
			} else if got, want := "", fmt.Sprint("pushed ", round); round%7 != 6 {
				if got = g.read(pushed); got != want {
					t.Fatalf("the guest reads %q of %s, want %q", got, pushed, want)
				}
			}
			since := busy.step.Load()
			if _, told, err := b.run(Pull, b.ws, beside, keepBoth); errors.Is(err, ErrConflicts) {
				conflicts++
			} else if err != nil {
				t.Fatalf("pull: %v\n%s", err, told)
			}
			busy.verify(b, since)
			b.collect(all, "words/*"+copySuffix+"*", os.Remove) // as who has merged them by hand
			wantContent(t, b.path(fmt.Sprint("host/", round%10)), fmt.Sprint("the host's ", round))
		}
		stop()
		b.pull(b.ws, beside, keepBoth)
		b.push(beside)
		want := g.portrait()
		if got := b.hostPortrait(); !maps.Equal(got, want) {
			t.Fatalf("the host differs from the guest: %s", differences(got, want))
		}
		b.collect(all, "words/*", func(string) error { return nil })
		for _, word := range append(said, busy.words...) {
			if !all[word] {
				t.Errorf("%s is lost", word)
			}
		}
		t.Logf("%d steps in %d rounds, of which %d were left with a conflict; %d words; the slowest push took %v",
			busy.step.Load(), rounds, conflicts, len(all), slowest)
	})
	b.checkAll()
	if out, told := b.pull(b.ws); strings.Count(out, "\n") != 2 || told != "" {
		t.Fatalf("after the session:\n%s%s", out, told)
	}
}

// replaceFile gives a file of the host another content in one step.
func (b bench) replaceFile(rel, content string) {
	b.t.Helper()
	b.write(rel+".new", content)
	must(b.t, os.Rename(b.path(rel+".new"), b.path(rel)))
}
