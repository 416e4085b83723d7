package e2e

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/riverlytech/art/internal/attack"
)

// TestSecurityPage holds the tables of docs/SECURITY.md to code, stories and attempts that
// exist: each promise has at least one that proves it.
func TestSecurityPage(t *testing.T) {
	text := document(t, "docs/SECURITY.md")
	attempts := map[string]bool{}
	for _, a := range attack.All() {
		attempts[a.Name] = true
	}
	attempt := regexp.MustCompile(`"([^"]+)"`)
	rows := table(text, "| promise | kept by | proved by |")
	for _, cells := range rows {
		stories, made := names(cells[2]), attempt.FindAllStringSubmatch(cells[2], -1)
		if len(stories)+len(made) == 0 {
			t.Errorf("nothing proves that%s", cells[0])
		}
		for _, story := range stories {
			if files, err := filepath.Glob("testdata/*/" + story + ".txtar"); err != nil || len(files) != 1 {
				t.Errorf("of the story %s there is %q, %v", story, files, err)
			}
		}
		for _, name := range made {
			if !attempts[name[1]] {
				t.Errorf("there is no attempt %q", name[1])
			}
		}
	}
	if len(rows) < 20 {
		t.Errorf("only %d promises found", len(rows))
	}
}
