package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/riverlytech/art/internal/attack"
)

// TestSecurityPage holds the tables of docs/SECURITY.md to code, stories and attempts that
// exist: each promise has at least one that proves it.
func TestSecurityPage(t *testing.T) {
	readme(t) // skips where there is no checkout
	text, err := os.ReadFile(filepath.Join(repo, "docs", "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	attempts := map[string]bool{}
	for _, a := range attack.All() {
		attempts[a.Name] = true
	}
	code, attempt := regexp.MustCompile("`([^`]+)`"), regexp.MustCompile(`"([^"]+)"`)
	for _, path := range regexp.MustCompile("`((?:cmd|fs|internal|sqlvfs)/[^` ]*)`").FindAllStringSubmatch(string(text), -1) {
		if !exists(filepath.Join(repo, path[1])) {
			t.Errorf("docs/SECURITY.md names %s, which is not there", path[1])
		}
	}
	promises := 0
	for _, table := range strings.Split(string(text), "| promise | kept by | proved by |\n|---|---|---|\n")[1:] {
		table, _, _ = strings.Cut(table, "\n\n")
		for row := range strings.Lines(table) {
			promises++
			cells := strings.Split(row, "|")
			stories, names := code.FindAllStringSubmatch(cells[3], -1), attempt.FindAllStringSubmatch(cells[3], -1)
			if len(stories)+len(names) == 0 {
				t.Errorf("nothing proves that%s", cells[1])
			}
			for _, story := range stories {
				if files, err := filepath.Glob("testdata/*/" + story[1] + ".txtar"); err != nil || len(files) != 1 {
					t.Errorf("of the story %s there is %q, %v", story[1], files, err)
				}
			}
			for _, name := range names {
				if !attempts[name[1]] {
					t.Errorf("there is no attempt %q", name[1])
				}
			}
		}
	}
	if promises < 20 {
		t.Errorf("only %d promises found", promises)
	}
}
