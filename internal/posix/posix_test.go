package posix

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	only  = flag.String("posix.area", "", "areas to test, separated by commas (default: all)")
	share = flag.Int("posix.share", 61, "tell one story of so many over each kind of tree; 1 tells all")
)

func TestMain(m *testing.M) {
	if part, ok := os.LookupEnv(agentKey); ok {
		if err := runAgent(part); err != nil {
			fmt.Fprintln(os.Stderr, "agent:", err)
			os.Exit(1)
		}
		return
	}
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "posix:", err)
		code = 1
	}
	os.Exit(code)
}

// origin is where the objects of a story come from, on the overlay's side.
type origin struct {
	name   string
	base   bool // they are in the base
	stored bool // they are in the database, and not in memory
	touch  bool // every second one of the base has been copied up
	note   bool // they have been looked at
}

var origins = []origin{
	{name: "delta", note: true},
	{name: "stored", stored: true, note: true},
	{name: "base", base: true},
	{name: "across", base: true, touch: true, note: true},
}

// difference is where a story went another way on the overlay.
type difference struct {
	story     *story
	call      []string // nil: what was found afterwards
	want, got string
}

func (d difference) String() string {
	what := "afterwards:"
	if d.call != nil {
		what = fmt.Sprintf("%q:", d.call)
	}
	return fmt.Sprintf("%v\n  %s\n    host    %s\n    overlay %s", d.story, what, d.want, d.got)
}

// kind says in short what is different.
func (d difference) kind() string {
	want, got := strings.Fields(d.want), strings.Fields(d.got)
	var diff []string
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			diff = append(diff, got[i]+", not "+want[i])
		}
	}
	what := "afterwards"
	if d.call != nil {
		what = strings.Join(d.call[:min(2, len(d.call))], " ")
	}
	if d.call == nil && len(want) != len(got) {
		diff = []string{"other objects"}
	}
	return fmt.Sprintf("%s, %s: %s", d.story.area, what, strings.Join(diff, "; "))
}

func stories() []*story {
	var all []*story
	for _, area := range slices.Sorted(maps.Keys(areas)) {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), area) {
			continue
		}
		areas[area](func(setup, do string) { all = append(all, &story{area, setup, do}) })
	}
	for _, s := range all {
		for _, c := range append(calls(s.setup, "root"), calls(s.do, "")...) {
			if _, ok := cast[c.Who]; !ok || vocabulary[c.Args[0]] == nil {
				panic(fmt.Sprintf("%v: %q is not a call", s, c))
			}
		}
	}
	return all
}

// TestLikeALocalFileSystem tells every story on the host and on the overlay.
func TestLikeALocalFileSystem(t *testing.T) {
	all := stories()
	met := map[string]int{}
	for i, o := range origins {
		// Each kind of tree has other stories. A share that is a prime steps through the loops that
		// made them.
		var told []*story
		for _, d := range deviations {
			told = append(told, &story{"deviations", d.setup, d.do})
		}
		for j := i; j < len(all); j += *share {
			told = append(told, all[j])
		}
		t.Run(o.name, func(t *testing.T) {
			s := newStage(t, o.base)
			s.prepare(told, o)
			found := s.tell(told)
			found = append(found, s.tellAgain(told)...)
			report(t, len(told), found, met)
		})
	}
	for _, d := range deviations {
		if met[d.name] == 0 {
			t.Errorf("the deviation %s was not met: is it gone?", d.name)
		}
	}
}

// report fails the test for every difference that is not known, and shows some.
func report(t *testing.T, told int, found []difference, met map[string]int) {
	t.Helper()
	const show = 25
	unknown := map[string]int{}
	shown := 0
	for _, d := range found {
		if name := known(d); name != "" {
			met[name]++
			continue
		}
		kind := d.kind()
		if unknown[kind]++; unknown[kind] <= 3 && shown < show {
			shown++
			t.Errorf("%v", d)
		}
	}
	t.Logf("%d stories", told)
	for _, kind := range slices.Sorted(maps.Keys(unknown)) {
		t.Errorf("%5d × %s", unknown[kind], kind)
	}
}

// compare calls differ for each line by which two portraits differ, both stripped of what does not
// count.
func compare(want, got string, strip func(string) string, differ func(want, got string)) {
	if want == got {
		return
	}
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := 0; i < max(len(w), len(g)); i++ {
		var a, b string
		if i < len(w) {
			a = strip(w[i])
		}
		if i < len(g) {
			b = strip(g[i])
		}
		if a != b {
			differ(a, b)
		}
	}
}

// drop returns a function that strips matches from lines.
func drop(patterns ...string) func(string) string {
	re := regexp.MustCompile(strings.Join(patterns, "|"))
	return func(line string) string { return re.ReplaceAllString(line, "") }
}

// tick is longer than the kernel's clock for file times stands still (4 or 10 ms, CONFIG_HZ).
const tick = 20 * time.Millisecond
