package posix

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// deviation is a way in which the overlay is known to differ. DEVIATIONS.md explains each.
type deviation struct {
	name       string
	setup, do  string // the shortest story that meets it
	isInstance func(d difference) bool
}

var deviations = []deviation{
	{"access-time", "sym x y; dir y 0755", "root ls x/", func(d difference) bool {
		want, got, ok := d.changes()
		if !ok || len(want) != 1 || !strings.HasPrefix(want[0], "a=") || !strings.HasPrefix(got[0], "a=") {
			return false
		}
		return linkOrDirectory.MatchString(d.got) || strings.Contains(d.story.do, " read ")
	}},
	{"device", "chr x 0666", "root open f x RDONLY", func(d difference) bool {
		device := regexp.MustCompile(`\b(blk|chr)\b`).MatchString(d.story.setup + d.story.do)
		return device && d.called("open") && d.got == "EACCES"
	}},
	{"owner-unchanged", "reg x 2644 owner owner", "other chown x -1 -1", func(d difference) bool {
		return d.called("chown", "lchown") && slices.Equal(d.call[3:], []string{"-1", "-1"}) && d.want == "EPERM" && d.got == "ok"
	}},
	{"set-group-id", "reg x 2666 owner owner", "other truncate x 3", func(d difference) bool {
		want, got, ok := d.changes()
		return ok && len(want) == 1 && d.story.area != "create" && setGroupID.MatchString(got[0]) && setGroupID.ReplaceAllString(got[0], "${1}0$2") == want[0]
	}},
}

var (
	linkOrDirectory = regexp.MustCompile(`" (04|12)\d{4} `)
	setGroupID      = regexp.MustCompile(`^(10)2(\d[0246]\d)$`) // the mode of a file
)

// called tells whether it is the result of one of these calls that differs.
func (d difference) called(names ...string) bool {
	return len(d.call) > 1 && slices.Contains(names, d.call[1])
}

// changes are the words that differ, if both sides have as many.
func (d difference) changes() (want, got []string, ok bool) {
	w, g := strings.Fields(d.want), strings.Fields(d.got)
	if len(w) != len(g) {
		return nil, nil, false
	}
	for i := range w {
		if w[i] != g[i] {
			want, got = append(want, w[i]), append(got, g[i])
		}
	}
	return want, got, len(want) > 0
}

// known names the deviation that a difference is, or is empty.
func known(d difference) string {
	for _, dev := range deviations {
		if dev.isInstance(d) {
			return dev.name
		}
	}
	return ""
}

//go:embed DEVIATIONS.md
var table string

func TestEachDeviationIsExplained(t *testing.T) {
	var explained, tested []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(.*?)` \\|").FindAllStringSubmatch(table, -1) {
		explained = append(explained, row[1])
	}
	for _, d := range deviations {
		tested = append(tested, d.name)
	}
	if !slices.Equal(explained, tested) {
		t.Errorf("DEVIATIONS.md explains %q, the test knows %q", explained, tested)
	}
}
