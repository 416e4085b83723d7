package agents

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTurns has agents run the hooks of docs/examples/turns.md: each turn leaves a mark, with what the turn has done in it.
func TestTurns(t *testing.T) {
	dir := installed(t)
	page, err := os.ReadFile("../../../docs/examples/turns.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ agent, kind, file string }{{"claude", "json", ".claude/settings.json"}, {"codex", "toml", ".codex/config.toml"}} {
		t.Run(c.agent, func(t *testing.T) {
			found := regexp.MustCompile("(?s)```" + c.kind + "\n(.*?)```").FindStringSubmatch(string(page))
			if found == nil {
				t.Fatalf("turns.md has no block of %s", c.kind)
			}
			a := all[slices.IndexFunc(all, func(a agent) bool { return a.name == c.agent })]
			tr := newTrial(t, a, a.layouts[0], dir)
			art, err := lookPath(os.Getenv("PATH"), "art")
			if err != nil {
				t.Fatal(err)
			}
			// Both may be in a directory that the session does not see otherwise.
			tr.env = append(tr.env, "ART_SEE="+filepath.Dir(art))
			work := tr.workspace()
			tr.art(work, "run", "-q", "--home", c.agent, "--", "sh", "-c", `mkdir -p "$(dirname ~/"$1")"; printf %s "$2" >~/"$1"`, "sh", c.file,
				strings.ReplaceAll(found[1], "art checkpoint", art+" checkpoint"))
			tr.art(work, append([]string{"run", c.agent}, tr.task()...)...)
			log := tr.art(work, "log")
			if strings.Count(log, "by the guest") != 1 || !regexp.MustCompile(`by the guest .* turn of 20`).MatchString(log) {
				t.Fatalf("the turn has left no mark:\n%s", log)
			}
			tr.art(work, "run", "-q", "--", "rm", "ran.txt")
			tr.art(work, "undo")
			if got := tr.art(work, "run", "-q", "--", "cat", "ran.txt"); got != "ran\n" {
				t.Errorf("after the undo there is %q", got)
			}
		})
	}
}
